"""The limit of models with a mirror form: a Bregman projection. `bf.limit`, for every model, is in
`flows/endpoints`."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from .._core.arguments import Array, instance
from .._core.former_names import renamed
from .._core.problems import Dataset
from .._core.results import Limit
from ..errors import InputError, RefusedError
from ..losses import SquareLoss, needs_square
from ..models import MirrorModel, Model, no_mirror_form
from .projection import bregman_projection

KNOWN = (
    "no theorem says where it goes from here. From large starts it follows "
    "bf.limits.tangent_interpolator (W, §3); from vanishing ones ReLU networks on orthogonal data "
    "go to bf.flows.saddle_limit (B, Theorem 1), and factorisations, as W (§6) conjectures, to "
    "bf.limits.min_nuclear_norm; bf.gradient_flow and bf.training.train_batch follow it"
)
"""What is said where no projection is the limit."""


@renamed(ds="data", params0="start")
def limit(
    model: Model,
    data: Dataset,
    loss: Any = None,
    *,
    start: Any = None,
    scale: ArrayLike | None = None,
    log_scale: ArrayLike | None = None,
) -> Limit[Array]:
    """The point that gradient flow from the start converges to: for models with a mirror form, a
    Bregman projection.

    Exactly one of start (any start), scale α (the model's own start at α) and log_scale (α below
    float range). The limit does not depend on the normalisation of the square loss. W, Theorems 1
    and 3; R, Theorem 2.2.
    """
    instance("model", model, Model)
    instance("data", data, Dataset)
    loss = SquareLoss() if loss is None else needs_square("limit", loss)
    given = [
        name
        for name, value in (("start", start), ("scale", scale), ("log_scale", log_scale))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            "limit: give exactly one of start, scale and log_scale, found "
            f"{', '.join(given) or 'none'}"
        )
    if not isinstance(model, MirrorModel):
        raise RefusedError(f"limit: {no_mirror_form(model)}; {KNOWN}")
    if start is None:
        return bregman_projection(
            model.potential(scale=scale, log_scale=log_scale), model.features(data.X), data.y
        )
    form = model.mirror_form(model.checked(start, data.d), loss, data.n)
    if isinstance(form, str):
        raise RefusedError(f"limit: {form}")
    _, potential = form.potential.unscaled()
    return bregman_projection(potential, model.features(data.X), data.y, form.beta0)
