"""biasflow: which of the infinitely many zero-loss solutions does gradient flow pick, how fast, and
why?

Flows integrated accurately at any initialisation scale, the limits that theory predicts with
certificates, and every theorem as an executable claim. Names load on first use; importing the
package costs next to nothing.
"""

from importlib import import_module
from typing import Any

import lazy_loader

from ._core.showing import drawn_in

__version__ = "0.2.0"

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *__all__]


drawn_in(lambda: import_module(".pictures", __name__))


def __getattr__(name: str) -> Any:
    if name in __all__:
        return _load(name)
    from ._core.former_names import find_former

    return find_former(name, __name__)
