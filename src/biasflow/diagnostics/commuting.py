"""Is a gradient flow on weights a mirror flow on the predictor? The Lie brackets of the coordinate
gradients decide.

Let G(w) ∈ R^p be the coordinates of the predictor. If all brackets [∇G_i, ∇G_j] = ∇²G_j∇G_i −
∇²G_i∇G_j vanish, G(w(t)) follows a mirror flow for every loss (Li, Wang, Lee and Arora 2022). If
some bracket is not even in the kernel of ∂G, no mirror flow serves all losses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, matrix, positive_int, real_array
from .._core.facts import record_line
from .._core.trees import leaves
from .._numerics.double_precision import jax_in_double
from ..errors import BiasflowError, ConvergenceError, InputError, RefusedError
from ..losses import SquareLoss
from ..models import DeepNetwork, MirrorModel, Model
from ..potentials import Potential


@dataclass(frozen=True)
class BracketControls:
    """How brackets are differenced, and which of their points count."""

    step: float = 1e-4
    """Relative step of the differences. Four-point formulas lose nothing to it; rounding, twice
    divided by it, is 1e-8."""
    zero_below: float = 1e-5
    """Relative defect below which brackets count as zero; the error estimate is added."""
    error_above_which_dropped: float = 1e-3
    """Relative error of the brackets above which a point is dropped: a kink lies within the
    step."""
    tries_per_point: int = 10
    """Random points tried for each one wanted."""
    linear_below: float = 1e-2
    """Curvature, in units of gradient² over parameter, below which a model counts as linear
    there."""
    displacement: float = 0.1
    """Relative size of the random displacements at which the brackets are looked at besides the
    point given."""


CONTROLS = BracketControls()


@dataclass(frozen=True, eq=False)
class CommutingDefect:
    """How far the coordinate gradients of a model are from commuting.

    defect: the largest ‖[∇G_i, ∇G_j]‖ over pairs and points, each relative to the larger of
    ‖∇²G_j∇G_i‖, ‖∇²G_i∇G_j‖ and √(‖∇²G_i∇G_i‖·‖∇²G_j∇G_j‖); error: its numerical error; pair: where
    it is largest.
    kernel_defect: the same for ∂G·[∇G_i, ∇G_j], relative to its own scale: where it does not
    vanish, no potential exists for all losses. potential: the mirror flow's potential where it is
    known (under ½‖·‖²).
    """

    defect: float
    kernel_defect: float
    error: float
    pair: tuple[int, int]
    points: int
    potential: Potential | None

    def __repr__(self) -> str:
        return record_line(self)

    @property
    def commutes(self) -> bool:
        return self.defect <= CONTROLS.zero_below + self.error

    def __bool__(self) -> bool:
        return self.commutes

    def __str__(self) -> str:
        where = f"relative bracket {self.defect:.2g} ± {self.error:.1g} at {self.points} points"
        if self.commutes:
            known = (
                f"its potential is {self.potential!r}"
                if self.potential is not None
                else "its potential is not known here"
            )
            return f"a mirror flow: the coordinate gradients commute ({where}); {known}"
        i, j = self.pair
        if self.kernel_defect > CONTROLS.zero_below + self.error:
            return (
                f"not a mirror flow: [∇G_{i}, ∇G_{j}] ≠ 0 ({where}), and the brackets move the "
                f"predictor (relative {self.kernel_defect:.2g}), so no potential serves all losses"
            )
        return (
            f"not commuting: [∇G_{i}, ∇G_{j}] ≠ 0 ({where}), though the brackets do not move "
            "the predictor to first order"
        )


def commuting_defect(
    model: Model | Callable[..., Any],
    params: Any,
    X: ArrayLike | None = None,
    *,
    points: int = 3,
    key: int = 0,
) -> CommutingDefect:
    """Whether the gradient flow of a model is a mirror flow, by the relative Lie-bracket defect of
    its coordinate gradients.

    The brackets are taken at the parameters and at random points nearby: vanishing at one point
    alone proves nothing. Cost: p directional derivatives of the p gradients.

    Parameters
    ----------
    model : Model or callable
        A biasflow model, whose coordinates are those of its effective predictor (predictions on X
        where X is given), or any callable from parameters (and X, where given) to a vector of
        predictions: NumPy functions are differentiated by differences, JAX ones exactly.
    params
        An array or a (nested) tuple of arrays.
    X : array of shape (n, d), optional
    points : int
        How many points nearby.
    key : int
        Of these.

    Returns
    -------
    diagnostics.CommutingDefect

    Examples
    --------
    >>> data, loss = (np.eye(4), np.ones(4)), bf.SquareLoss("half")
    >>> for model in (bf.DiagonalNetwork(2), bf.MatrixFactorisation((2, 2), 4)):
    ...     start = bf.Problem(model, data, loss, scale=1.0).start
    ...     print(bf.diagnostics.commuting_defect(model, start).defect < 1e-6)
    True
    False
    """
    points, key = positive_int("points", points, least=0), positive_int("key", key, least=0)
    function = _function(model, X)
    if isinstance(model, Model) and not hasattr(params, "_fields"):
        raise InputError(
            "params: expected the model's own parameters, as model.init returns them, found "
            f"{type(params).__name__}"
        )
    flat, unflatten = flatten(params)
    derivatives = _derivatives(model, function, unflatten, flat, X)
    rng = np.random.default_rng(key)
    size = np.abs(flat) + CONTROLS.displacement * _size(flat)
    found = []
    for k in range(1 + CONTROLS.tries_per_point * points):
        one = _brackets(
            derivatives,
            flat if k == 0 else flat + CONTROLS.displacement * size * rng.uniform(-1, 1, flat.size),
        )
        found += [one] if one[2] <= CONTROLS.error_above_which_dropped else []
        if len(found) == 1 + points:
            break
    if not found:
        raise ConvergenceError(
            "commuting_defect: derivatives could not be taken: the model has kinks, or noise, "
            "wherever it was tried"
        )
    worst = max(found, key=lambda one: one[0])
    kernel, error = max(one[1] for one in found), max(one[2] for one in found)
    potential = _known_potential(model, params) if worst[0] <= CONTROLS.zero_below + error else None
    return CommutingDefect(worst[0], kernel, error, worst[3], len(found), potential)


Derivatives = Callable[[Array], tuple[Array, Array, Array]]
"""w -> the Jacobian (p, P), its derivatives along each of its rows (p, p, P), and their error (same
shape)."""


def _function(model: Any, X: ArrayLike | None) -> Callable[[Any], Any]:
    inputs = None if X is None else matrix("X", X)
    if not isinstance(model, Model):
        if not callable(model):
            raise InputError(
                "model: expected a model or a callable from parameters to predictions, found "
                f"{type(model).__name__}"
            )
        return model if inputs is None else lambda params: model(params, inputs)
    if inputs is None and isinstance(model, DeepNetwork):
        raise RefusedError(
            "commuting_defect: a deep network has no predictor smaller than its weights; give X"
        )
    return model.effective if inputs is None else lambda params: model(params, inputs)


def flatten(params: Any) -> tuple[Array, Callable[[Any], Any]]:
    """Parameters as one vector, and the way back. Tuples, lists and dictionaries of arrays may
    nest."""
    leaves: list[Array] = []

    def mapped(node: Any, leaf: Callable[[Any], Any]) -> Any:
        if isinstance(node, dict):
            return {name: mapped(child, leaf) for name, child in node.items()}
        if isinstance(node, (list, tuple)):
            children = [mapped(child, leaf) for child in node]
            return type(node)(*children) if hasattr(node, "_fields") else type(node)(children)
        return leaf(node)

    mapped(params, lambda node: leaves.append(real_array("params", node)))
    ends = np.cumsum([leaf.size for leaf in leaves])

    def unflatten(w: Any) -> Any:
        places = iter(zip(leaves, ends, strict=True))

        def part(_: Any) -> Any:
            leaf, end = next(places)
            return w[end - leaf.size : end].reshape(leaf.shape)

        return mapped(params, part)

    return np.concatenate([leaf.ravel() for leaf in leaves]) if leaves else np.zeros(0), unflatten


def _derivatives(
    model: Any, function: Callable[[Any], Any], unflatten: Any, flat: Array, X: ArrayLike | None
) -> Derivatives:
    try:
        output = function(unflatten(flat))
    except BiasflowError:
        raise
    except Exception as reason:  # it is the user's, and raises what it likes
        said = f"{type(reason).__name__}: {(str(reason) or 'without a word').splitlines()[0]}"
        raise InputError(f"model: fails on these parameters and inputs: {said}") from reason
    if type(output).__module__.split(".")[0] in ("jax", "jaxlib"):
        with jax_in_double():
            import jax

            _check_predictions(function(unflatten(jax.numpy.asarray(flat))))
        return _by_jax(function, unflatten)
    _check_predictions(output)
    if isinstance(model, Model) and X is not None:
        inputs = matrix("X", X)

        def exact(w: Array) -> Array:
            return np.hstack(
                [
                    np.reshape(leaf, (len(leaf), -1))
                    for leaf in leaves(model.jacobian(unflatten(w), inputs))
                ]
            )

        return _by_differences(exact)
    return _by_differences(lambda w: _jacobian(lambda v: np.ravel(function(unflatten(v))), w))


def _check_predictions(output: Any) -> None:
    values = np.asarray(output)
    if values.dtype != np.float64:
        raise InputError(f"model: expected float64 predictions, found {values.dtype}")
    if not np.all(np.isfinite(values)):
        raise InputError(
            f"model: expected finite predictions, found {values[~np.isfinite(values)].flat[0]}"
        )


def _by_jax(function: Callable[[Any], Any], unflatten: Any) -> Derivatives:
    def at(w: Array) -> tuple[Array, Array, Array]:
        import jax

        with jax_in_double():
            jacobian = jax.jacrev(lambda v: function(unflatten(v)).ravel())
            place = jax.numpy.asarray(w)
            rows = jacobian(place)
            moved = jax.vmap(lambda g: jax.jvp(jacobian, (place,), (g,))[1])(rows)
            J, dJ = np.asarray(rows), np.asarray(moved)
        if dJ.dtype != np.float64:
            raise InputError(f"model: computes in {dJ.dtype}; a bracket needs float64")
        return (
            J,
            dJ,
            np.full_like(
                dJ, np.finfo(float).eps * max(1.0, float(np.max(np.abs(dJ), initial=0.0)))
            ),
        )

    return at


def _by_differences(jacobian: Callable[[Array], Array]) -> Derivatives:
    def at(w: Array) -> tuple[Array, Array, Array]:
        J = jacobian(w)
        size = _size(w)
        dJ, error = np.empty((len(J), *J.shape)), np.empty((len(J), *J.shape))
        for i, g in enumerate(J):
            top = float(np.max(np.abs(g), initial=0.0))
            if top == 0:
                dJ[i], error[i] = 0.0, 0.0
                continue
            fine, coarse = (
                _along(jacobian, w, g, h * CONTROLS.step * size / top) for h in (1.0, 2.0)
            )
            dJ[i], error[i] = (
                fine,
                np.abs(fine - coarse) + 1e-15 * np.abs(J).max() * top / (CONTROLS.step * size),
            )
        return J, dJ, error

    return at


def _size(w: Array) -> float:
    """The largest parameter; one where all are zero and nothing says how large is large."""
    return float(np.max(np.abs(w), initial=0.0)) or 1.0


def _along(function: Callable[[Array], Array], w: Array, g: Array, h: float) -> Array:
    """The derivative along g by a four-point formula."""
    return (
        8 * (function(w + h * g) - function(w - h * g))
        - (function(w + 2 * h * g) - function(w - 2 * h * g))
    ) / (12 * h)


def _jacobian(values: Callable[[Array], Array], w: Array) -> Array:
    h = CONTROLS.step * _size(w)
    return np.stack([_along(values, w, e, h) for e in np.eye(w.size)], axis=1)


def _brackets(derivatives: Derivatives, w: Array) -> tuple[float, float, float, tuple[int, int]]:
    """(defect, kernel defect, error, worst pair) at a point. dJ[i, j] = ∇²G_j∇G_i; every pair is
    measured on its own scale."""
    J, dJ, error = derivatives(w)
    slopes = np.linalg.norm(J, axis=1)
    if not np.any(slopes):
        return 0.0, 0.0, 0.0, (0, 0)
    turns = np.linalg.norm(dJ, axis=2)
    own = np.maximum(np.diag(turns), CONTROLS.linear_below * slopes**2 / _size(w))
    scale = np.maximum(np.maximum(turns, turns.T), np.sqrt(np.outer(own, own)))
    scale = np.where(scale > 0, scale, 1.0)  # a coordinate that does not move has no bracket
    bracket = dJ - dJ.transpose(1, 0, 2)
    sizes = np.linalg.norm(bracket, axis=2) / scale
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(sizes)), sizes.shape))
    lengths = np.where(slopes > 0, slopes, 1.0)
    moved = np.abs(np.einsum("ijk,lk->ijl", bracket, J)) / (scale[:, :, None] * lengths)
    noise = np.linalg.norm(error + error.transpose(1, 0, 2), axis=2) / scale
    return float(sizes[i, j]), float(np.max(moved)), float(np.max(noise)), (min(i, j), max(i, j))


def _known_potential(model: Any, params: Any) -> Potential | None:
    if not isinstance(model, MirrorModel):
        return None
    try:
        form = model.mirror_form(params, SquareLoss("half"), 1)
    except RefusedError:
        return None
    return None if isinstance(form, str) else form.potential
