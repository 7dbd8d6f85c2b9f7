"""Where theory says a gradient flow goes, for every model and loss that a theorem speaks about."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, instance
from .._core.former_names import renamed
from .._core.problems import Dataset, MirrorProblem, Problem, dataset
from .._core.progress import doing
from .._core.results import Limit
from .._core.trees import leaves
from .._numerics.deadlines import Deadline
from ..errors import InputError, RefusedError
from ..limits import f1_max_margin, l1_max_margin
from ..limits.minimisers import limit_among_minimisers
from ..limits.projection import projection_onto
from ..losses import Loss, MarginLoss, SmoothMargin, SquareLoss, needs_square
from ..models import (
    DiagonalNetwork,
    FixedDirections,
    MirrorModel,
    Model,
    SignedTwoLayer,
    TwoLayer,
    no_mirror_form,
)
from . import separable
from .relu.orthogonal_limit import saddle_limit

PROJECTION = "R, Theorem 2.2"
"""Of every mirror flow; the theorems that speak of one model follow."""
BOUNDARY = "R, Theorem 2.3"
VANISHING = "B, Theorem 1: the start's scale → 0"
DIRECTION = "C, Theorem 3: the direction of networks of unbounded width, if it converges"
SEPARABLE = "Pesme, Dragomir and Flammarion 2024: the direction, of largest ℓ1 margin if one has it"
KNOWN = (
    "no theorem says where it goes from here. From large starts it follows "
    "bf.limits.tangent_interpolator (W, §3); from vanishing ones ReLU networks on orthogonal data "
    "go to bf.flows.saddle_limit (B, Theorem 1), and factorisations, as W (§6) conjectures, to "
    "bf.limits.min_nuclear_norm; bf.gradient_flow and bf.training.train_batch follow it"
)
"""What is said where no projection is the limit."""


@renamed(model="problem", ds="data", params0="start")
@doing("limit")
def limit(
    problem: Problem | MirrorProblem | Model,
    data: Dataset | None = None,
    loss: Loss | None = None,
    *,
    start: Any = None,
    scale: ArrayLike | None = None,
    log_scale: ArrayLike | None = None,
    time_s: float = 60.0,
) -> Limit[Any]:
    """Where gradient flow goes, without integrating it; `source` names the theorem that says so.

    A model with a mirror form (diagonal, u∘v and fixed-direction networks) under a square loss goes
    to the point that fits the labels and is nearest to the start in its Bregman divergence (W,
    Theorems 1 and 3; R, Theorem 2.2), a `MirrorProblem` likewise, for labels out of reach too (R,
    Theorem 2.3); value: β. A `TwoLayer` network under a square loss, inputs orthogonal, goes where
    the flow from λ·start ends as λ → 0 (B, Theorem 1); value: the network; the flow from the start
    itself ends as near to it as the start is small. A `TwoLayer` network under an exponential or
    logistic loss, inputs with a bias column, goes in direction to the classifier of largest margin
    in F1, if it is wide (C, Theorem 3); value: `Particles`. A `DiagonalNetwork` of depth two under
    these losses goes in direction to the largest ℓ1 margin (S/separable); value: β/‖β‖₁.

    Parameters
    ----------
    problem : Problem, MirrorProblem or Model
        `limit(model, data, loss, start=…)` makes the problem itself.
    data, loss, start
        What a model needs to be a problem; the limit does not depend on the normalisation of the
        square loss.
    scale, log_scale : float, optional
        For models with a mirror form: α, the model's own start at that size, or its logarithm,
        which may be below float range.
    time_s : float
        Seconds. The bracket of a largest margin is what they allow; a projection that takes longer
        raises a `ConvergenceError`.

    Returns
    -------
    Limit
        With its certificate.

    Raises
    ------
    RefusedError
        Where no theorem says where the flow goes; the sentence says what is known.
    InconsistentError, InfeasibleError
        Where the labels cannot be fitted, at all or with the signs that the start allows.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=8, d=24, sparsity=2, noise_var=0.0, key=2)
    >>> for scale in (10.0, 1e-3):
    ...     end = bf.limit(bf.DiagonalNetwork(2), data, scale=scale)
    ...     print(f"{scale:g}: l1 norm {np.abs(end.value).sum():.2f}, {end.certificate.kind}")
    10: l1 norm 1.08, exact
    0.001: l1 norm 0.91, exact
    >>> end.source
    'W, Theorem 1; R, Theorem 2.2'
    """
    if isinstance(problem, Model):
        given = dataset(data)
        if isinstance(problem, TwoLayer | SignedTwoLayer) and start is not None:
            problem = Problem(problem, given, SquareLoss() if loss is None else loss, start)
        else:
            found = _projected(problem, given, loss, time_s, start, scale, log_scale)
            return dataclasses.replace(found, source=_theorems(problem))
    elif any(given is not None for given in (data, loss, start, scale, log_scale)):
        raise InputError("limit: a problem has its data, loss and start; give it alone")
    if isinstance(problem, MirrorProblem):
        found = limit_among_minimisers(
            problem.potential, problem.X, problem.y, problem.beta0, Deadline(time_s)
        )
        return dataclasses.replace(found, source=BOUNDARY)
    instance("problem", problem, (Problem, MirrorProblem, Model))
    return _of_networks(problem, time_s)


def _theorems(model: Model) -> str:
    """Which theorems say that the flow of a model with a mirror form goes to the projection."""
    if isinstance(model, DiagonalNetwork):
        return f"W, Theorem {1 if model.depth == 2 else 3}; {PROJECTION}"
    if isinstance(model, FixedDirections):
        return f"{PROJECTION} and Theorem 3.4"
    return PROJECTION


def _of_networks(problem: Problem, time_s: float) -> Limit[Any]:
    model, data, loss = problem.model, problem.data, instance("loss", problem.loss, Loss)
    if isinstance(loss, SquareLoss):
        if isinstance(model, TwoLayer) and not model.negative_slope:
            return dataclasses.replace(saddle_limit(data, problem.start), source=VANISHING)
        found = _projected(model, data, loss, time_s, problem.start)
        return dataclasses.replace(found, source=_theorems(model))
    if (
        isinstance(loss, MarginLoss | SmoothMargin)
        and isinstance(model, TwoLayer)
        and not model.negative_slope
    ):
        if not (data.X.shape[1] > 1 and np.all(data.X[:, -1] == 1)):
            raise RefusedError(
                "limit: F1 margins are of inputs (x, 1); append a bias column (data.with_bias)"
            )
        if not any(np.any(leaf) for leaf in leaves(problem.start)):
            raise RefusedError("limit: the start is zero, from where no flow moves")
        margin = f1_max_margin(data.X, data.y, bias="column", time_s=time_s)
        if not margin.certificate.primal > 0:
            raise RefusedError(
                "limit: no network is shown to separate these classes, so that no direction is "
                "known"
            )
        return dataclasses.replace(margin, source=DIRECTION)
    if isinstance(loss, MarginLoss | SmoothMargin) and isinstance(model, DiagonalNetwork):
        return _separable(problem, time_s)
    raise RefusedError(
        f"limit: no theorem here says where a {type(model).__name__} goes under "
        f"{type(loss).__name__}; bf.gradient_flow and bf.train follow it"
    )


def _separable(problem: Problem, time_s: float) -> Limit[Any]:
    """The direction of a diagonal network on separable data; value: β/‖β‖₁."""
    model, data = problem.model, problem.data
    if model.depth > 2:
        raise RefusedError(
            f"limit: at depth {model.depth} the direction on separable data depends on the start "
            f"(S/separable-deep): a KKT point of the ℓ_(2/{model.depth}) margin, of which there "
            "are many; bf.gradient_flow follows it"
        )
    reason = separable.refusal(problem)
    if reason is not None:
        raise RefusedError(f"limit: {reason}")
    separable.needs_separation(problem)
    Z = problem.loss.checked(data.y)[:, None] * data.X
    found = l1_max_margin(np.hstack([Z, -Z]), time_s=time_s)
    a = found.value[: data.d] - found.value[data.d :]
    stats = {**found.stats, "support": np.flatnonzero(a)}
    return dataclasses.replace(
        found, value=a, stats=stats, source=SEPARABLE, predictor=model.predictions_of
    )


def _projected(
    model: Model,
    data: Dataset,
    loss: Any,
    time_s: float,
    start: Any,
    scale: ArrayLike | None = None,
    log_scale: ArrayLike | None = None,
) -> Limit[Array]:
    """The limit of a model with a mirror form, from exactly one of start, scale and log_scale."""
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
        potential = model.potential(scale=scale, log_scale=log_scale)
        found = projection_onto(
            potential, model.features(data.X), data.y, None, deadline=Deadline(time_s)
        )
        return dataclasses.replace(found, predictor=model.predictions_of)
    form = model.mirror_form(model.checked(start, data.d), loss, data.n)
    if isinstance(form, str):
        raise RefusedError(f"limit: {form}")
    _, potential = form.potential.unscaled()
    X, deadline = model.features(data.X), Deadline(time_s)
    found = projection_onto(potential, X, data.y, form.beta0, deadline=deadline)
    return dataclasses.replace(found, predictor=model.predictions_of)
