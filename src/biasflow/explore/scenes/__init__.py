"""The scenes of the explorer, in the order in which the page offers them."""

from __future__ import annotations

from ..scene import Scene
from .boundary_scene import BOUNDARY
from .claims_scene import CLAIMS
from .completion_scene import COMPLETION
from .line_scene import LINE
from .plane_scene import PLANE
from .sparse_scene import SPARSE

SCENES: dict[str, Scene] = {
    scene.name: scene for scene in (LINE, PLANE, SPARSE, BOUNDARY, COMPLETION, CLAIMS)
}
"""By name: that of their view in page/scenes, too."""

__all__ = ["SCENES"]
