"""The two questions of the papers, each by one verb: the interpolator of least norm, the classifier
of largest margin."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, labels, matrix, system
from .._core.problems import Dataset
from .._core.progress import doing
from .._core.results import Limit
from ..data import observed_entries
from ..errors import InputError, unknown
from ..models import augmented
from .hard_margins import kernel_max_margin, l2_max_margin
from .kernel_interpolation import kernel_interpolator
from .matrix_games import l1_max_margin
from .matrix_norms import min_frobenius_norm, min_nuclear_norm
from .neurons import f1_max_margin, f2_max_margin, min_norm_interpolator
from .neurons.labelled_inputs import BIASES, without_bias
from .norms import min_l1, min_l2
from .predicting import affine

Solver = Callable[..., Limit[Any]]
ROUNDED = 4 * float(np.finfo(float).eps)
"""What a root and a product may be off by, and more."""


@doing("least norm")
def min_norm(
    X: ArrayLike | Dataset, y: ArrayLike | None = None, *, norm: str | ArrayLike, **options: Any
) -> Limit[Any]:
    """Of all that fit the labels, the one of least norm: h(x_i) = y_i, ‖h‖ least.

    Parameters
    ----------
    X : array of shape (n, d), or Dataset
    y : array of shape (n,)
        Not where X is a data set.
    norm : {'l2', 'l1', 'frobenius', 'nuclear', 'relu'} or array of shape (n, n)
        Over what, and measured how:

        - 'l2', 'l1': β with Xβ = y, the kernel and the rich limit of diagonal networks (W, §4);
          option bias; `limits.min_l2`, `limits.min_l1`
        - 'frobenius', 'nuclear': matrices with observed entries, `shape=(rows, cols)` says of what
          shape (W, §6); `limits.min_frobenius_norm`, `limits.min_nuclear_norm`
        - 'relu': two-layer ReLU networks of any width, ‖θ‖² (B, eq. 34); options gap, time_s, key,
          bias; `limits.min_norm_interpolator`
        - a matrix K (n, n): the RKHS of a kernel, K its values at the inputs, which are then not
          looked at; `limits.kernel_interpolator`
    **options
        bias: 'none' (the default), 'column' where the last column is to be that of ones, 'append'
        to add it; it is then penalised like any weight. The others are those of the function named.

    Returns
    -------
    Limit
        What that function gives, with its certificate.

    Raises
    ------
    InconsistentError
        Where nothing fits the labels; the message names samples that contradict each other.
    InputError
        Of options that the norm does not have, among others.

    Examples
    --------
    >>> X, y = [[1.0, 2.0, 3.0]], [6.0]
    >>> for norm in ("l2", "l1"):
    ...     least = bf.min_norm(X, y, norm=norm)
    ...     print(norm, np.round(least.value, 3), round(least.objective, 3))
    l2 [0.429 0.857 1.286] 1.604
    l1 [0. 0. 2.] 2.0
    """
    inputs, targets = system(*_read("min_norm", X, y))
    if not isinstance(norm, str):
        return kernel_interpolator(_kernel(norm, len(targets)), targets, **options)
    if norm in ("nuclear", "frobenius"):
        return _of_matrices(norm, inputs, targets, **options)
    solvers: Mapping[str, Solver] = {"l1": min_l1, "l2": min_l2, "relu": min_norm_interpolator}
    if norm not in solvers:
        raise unknown("norm", norm, [*solvers, "frobenius", "nuclear"])
    return _solved(solvers, norm, inputs, targets, options)


@doing("largest margin")
def max_margin(
    X: ArrayLike | Dataset, y: ArrayLike | None = None, *, norm: str | ArrayLike, **options: Any
) -> Limit[Any]:
    """Of all classifiers of norm at most one, the one of largest margin: min_i y_ih(x_i) greatest.

    Parameters
    ----------
    X : array of shape (n, d), or Dataset
    y : array of shape (n,)
        Labels ±1; not where X is a data set.
    norm : {'l2', 'l1', 'f1', 'f2'} or array of shape (n, n)
        Over what, and measured how:

        - 'l2', 'l1': h(x) = ⟨β, x⟩ with ‖β‖₂ ≤ 1, or ‖β‖₁ ≤ 1; bias 'none' (the default), 'column'
          or 'append'; `limits.l2_max_margin`, `limits.l1_max_margin`
        - 'f1', 'f2': two-layer ReLU networks trained in both layers, or in the output layer alone
          (C, eqs. 4 and 5); X without the bias column, or bias='column'; options as for
          `limits.f1_max_margin`, `limits.f2_max_margin`
        - a matrix K (n, n): the RKHS of a kernel, K its values at the inputs;
          `limits.kernel_max_margin`
    **options
        Those of the function named.

    Returns
    -------
    Limit
        What that function gives; its objective is the margin γ, its certificate a bracket of it.
        stats['data'] has the samples, but of a kernel: `plot()` draws those in a plane, with the
        boundary.

    Raises
    ------
    InputError
        Of labels that are not ±1, among others: `2*y - 1` makes them of 0 and 1.

    Examples
    --------
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [1, 1, -1, -1]
    >>> print(round(bf.max_margin(X, y, norm="l2").objective, 4))
    0.0
    >>> best = bf.max_margin(X, y, norm="f2")
    >>> print(round(best.objective, 4), best.certificate.kind)
    0.0478 exact
    """
    inputs, targets = system(*_read("max_margin", X, y))
    targets = labels("y", targets)
    if not isinstance(norm, str):
        return kernel_max_margin(_kernel(norm, len(targets)), targets, **options)
    solvers: Mapping[str, Solver] = {
        "f1": f1_max_margin,
        "f2": f2_max_margin,
        "l1": _l1_margin,
        "l2": _l2_margin,
    }
    if norm not in solvers:
        raise unknown("norm", norm, list(solvers))
    found = _solved(solvers, norm, inputs, targets, options)
    return dataclasses.replace(found, stats={**found.stats, "data": Dataset(inputs, targets)})


def _solved(
    solvers: Mapping[str, Solver], norm: str, X: Array, y: Array, options: dict[str, Any]
) -> Limit[Any]:
    """By the solver of that name; linear functions see inputs whose last column is one, or to which
    it is added."""
    if norm not in ("l1", "l2") or "bias" not in options:
        return solvers[norm](X, y, **options)
    bias = options.pop("bias")
    inputs = without_bias(X, bias, BIASES)
    if bias != "append":
        return solvers[norm](X, y, **options)
    found = solvers[norm](augmented(inputs), y, **options)
    return dataclasses.replace(found, predictor=affine)


def _read(verb: str, X: ArrayLike | Dataset, y: ArrayLike | None) -> tuple[ArrayLike, ArrayLike]:
    if isinstance(X, Dataset):
        if y is not None:
            raise InputError(f"y: {verb} takes a Dataset alone, which has its labels")
        return X.X, X.y
    if y is None:
        raise InputError(f"y: {verb} needs labels, or a Dataset that has them")
    return X, y


def _kernel(K: ArrayLike, n: int) -> ArrayLike:
    K = matrix("norm", K)
    if K.shape != (n, n):
        raise InputError(
            f"norm: a kernel matrix of {n} inputs has the shape {(n, n)}, found {K.shape}"
        )
    return K


def _of_matrices(
    norm: str, X: Array, y: Array, *, shape: tuple[int, int] | None = None
) -> Limit[Any]:
    if shape is None:
        raise InputError(
            f"shape: norm={norm!r} is of matrices; say of what shape, as in shape=(5, 4)"
        )
    entries = observed_entries(Dataset(X, y), shape)
    solve = min_nuclear_norm if norm == "nuclear" else min_frobenius_norm
    return solve(shape, entries.rows, entries.cols, entries.values)


def _l2_margin(X: Array, y: Array, **options: Any) -> Limit[Any]:
    """Signed features are the inputs themselves; theirs is a margin over √d‖a‖ ≤ 1."""
    found = l2_max_margin(y[:, None] * X, **options)
    root = math.sqrt(X.shape[1])
    lower, upper = (
        found.certificate.primal * root * (1 - ROUNDED),
        found.certificate.dual * root * (1 + ROUNDED),
    )
    certificate = dataclasses.replace(found.certificate, primal=lower, dual=upper)
    return dataclasses.replace(
        found, value=root * found.value, objective=lower, certificate=certificate
    )


def _l1_margin(X: Array, y: Array, **options: Any) -> Limit[Any]:
    """Both signs of every input are features of weight at least zero."""
    signed = y[:, None] * X
    found = l1_max_margin(np.hstack([signed, -signed]), **options)
    plus, minus = np.split(found.value, 2)
    beta = plus - minus
    return dataclasses.replace(
        found, value=beta, stats={**found.stats, "support": np.flatnonzero(beta)}
    )
