"""Where theory says a gradient flow goes, without integrating it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance
from .._core.problems import Dataset
from .._core.results import Limit
from ..errors import InputError, RefusedError
from ..losses import SquareLoss, needs_square
from ..models import Model
from ..potentials import Potential, ScaledPotential
from .projection import bregman_projection


def limit(
    model: Model,
    ds: Dataset,
    loss: Any = None,
    *,
    params0: Any = None,
    scale: ArrayLike | None = None,
    log_scale: ArrayLike | None = None,
) -> Limit[Array]:
    """The point that gradient flow from the start converges to: for models with a mirror form, a
    Bregman projection.

    Exactly one of params0 (any start), scale α (the model's own start at α) and log_scale (α below
    float range). The limit does not depend on the normalisation of the square loss. W, Theorems 1
    and 3; R, Theorem 2.2.
    """
    instance("model", model, Model)
    instance("ds", ds, Dataset)
    loss = SquareLoss() if loss is None else needs_square("limit", loss)
    given = [
        name
        for name, value in (("params0", params0), ("scale", scale), ("log_scale", log_scale))
        if value is not None
    ]
    if len(given) != 1:
        raise InputError(
            "limit: give exactly one of params0, scale and log_scale, found "
            f"{', '.join(given) or 'none'}"
        )
    if params0 is None:
        return bregman_projection(
            model.potential(scale=scale, log_scale=log_scale), model.features(ds.X), ds.y
        )
    form = model.mirror_form(model.checked(params0, ds.d), loss, ds.n)
    if isinstance(form, str):
        raise RefusedError(f"limit: {form}")
    return bregman_projection(
        _without_clock(form.potential), model.features(ds.X), ds.y, form.beta0
    )


def _without_clock(potential: Potential) -> Potential:
    """The potential without its time factor, where that is one number."""
    if isinstance(potential, ScaledPotential) and np.ptp(potential.factor) == 0:
        return potential.potential
    return potential
