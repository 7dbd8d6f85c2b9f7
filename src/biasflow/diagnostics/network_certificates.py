"""How far a trained classifier is from the largest margin of its kind, and why (C, eq. 4; Lyu and
Li 2019; Chizat & Bach 2020).

For Σ_ja_j(⟨w_j, x⟩ + b_j)₊ the normalised margin min_i y_if(x_i)/‖θ‖², biases counted, is at most
γ₁: 2|a_j|‖(w_j, b_j)‖ ≤ a_j² + ‖(w_j, b_j)‖², and Σ_j2|a_j|‖(w_j, b_j)‖ bounds f's norm in F1. γ₁
is found with a proof, so the fraction of it is. Deeper networks have no such γ: what is left is the
condition that every limit of gradient flow satisfies, and that local optima satisfy as well.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import Array, has_bias, labels, positive_float, positive_int
from .._core.facts import Fact, Facts, Shown
from .._core.progress import doing
from .._core.result_facts import bracket_of
from .._core.results import Bracket
from .._core.showing import drawing_room
from ..errors import AssumptionError, InputError
from ..limits.homogeneous import Homogeneity, MarginKkt, kkt_at, norm
from ..limits.kinked_margins import TWO, kinked_margin_kkt
from ..limits.neurons.labelled_inputs import Labelled, read_labelled, read_rows
from ..limits.tangent.inputs import read_inputs
from ..limits.tangent.tangent_kernels import MEMORY
from .exact_margins import margin_bounds, normalised_margins
from .margin_ladder import Polish, as_network, best_margin, polish_steps, unit_neurons
from .network_reading import HomogeneousRead, TwoLayerRead, read_classifier

SEARCH_SHARE = 0.8
"""Share of the time that the search for γ₁ may take."""
EPS = float(np.finfo(float).eps)
ROUNDING = 1e-12
"""Residual that is shown as zero."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NetworkCertificate(Shown):
    """A network's normalised margin, its share of the largest one, and what keeps it from that.

    Parameters
    ----------
    kind : str
        'two layers' where the network is Σ_ja_j(⟨w_j, x⟩ + b_j)₊ times a constant, 'homogeneous'
        otherwise: then nothing is said of the largest margin.
    margin : float
        min_i y_if(x_i)/‖θ‖^L, negative where a sample is misclassified.
    margins : array of shape (n,)
        y_if(x_i)/‖θ‖^L.
    norm : float
        ‖θ‖ over all weights, biases included.
    homogeneity : limits.Homogeneity
        L, and how well f(cθ) = c^L·f(θ).
    fraction : Bracket, optional
        margin/γ₁ between proven bounds; at most one.
    best : Bracket, optional
        γ₁ itself, in the units of the margin.
    balance : float, optional
        2Σ|a_j|‖w_j‖/‖θ‖², one where |a_j| = ‖w_j‖.
    polish : diagnostics.Polish, optional
        What convex steps would gain; None where they were too long.
    kkt : limits.MarginKkt, optional
        Multipliers and the two residuals; None where the margin is not positive, or rounding hides
        on which side of the kinks the samples are.
    tolerance : float
        Up to which a residual counts as zero and a fraction as one.
    notes : tuple of str
    """

    kind: str
    margin: float
    margins: Array
    norm: float
    homogeneity: Homogeneity
    fraction: Bracket | None
    best: Bracket | None
    balance: float | None
    polish: Polish | None
    kkt: MarginKkt | None
    tolerance: float
    notes: tuple[str, ...] = ()

    @property
    def residual(self) -> float:
        """The larger of ‖θ − Σ_iλ_i∇q_i(θ)‖/‖θ‖ and max_i λ_i(q_i(θ) − 1)·L/‖θ‖², θ scaled to
        margin one; NaN where there is no kkt."""
        return float("nan") if self.kkt is None else self.kkt.residual

    @property
    def stationary(self) -> bool:
        """Whether the residual counts as zero."""
        return self.residual <= self.tolerance

    @property
    def verdict(self) -> str:
        """'not separating', 'global', 'stationary, not global', 'not stationary', 'stationary'
        where nothing is said of the largest margin, or 'open' where the bracket is too wide."""
        if self.margin <= 0:
            return "not separating"
        if self.fraction is None:
            return "stationary" if self.stationary else "not stationary"
        if self.fraction.lower >= 1 - self.tolerance:
            return "global"
        if self.fraction.upper < 1 - self.tolerance:
            return "stationary, not global" if self.stationary else "not stationary"
        return "open"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the margin is not the largest one, a sentence each."""
        from .certificate_words import reasons_of

        return reasons_of(self)

    def facts(self) -> Facts:
        from .certificate_words import SENTENCES

        L = self.homogeneity.degree
        lines = [Fact("verdict", SENTENCES[self.verdict])]
        if self.fraction is not None and self.best is not None:
            low, high = self.fraction.lower, self.fraction.upper
            lines.append(Fact("fraction of γ₁", f"{_share(low)} to {_share(high)}, proven"))
            lines.append(Fact("γ₁", f"{bracket_of(self.best)}, {self.best.kind}"))
        lines.append(Fact("margin", f"{self.margin:.6g} = min y·f/‖θ‖^{L:.4g}"))
        lines.append(Fact("KKT residual", "none" if self.kkt is None else _residual(self.kkt)))
        lines += [Fact("why", reason) for reason in self.reasons]
        lines += [Fact("note", note) for note in self.notes]
        return Facts(f"NetworkCertificate: {self.verdict}", tuple(lines))

    def plot(self) -> Any:
        """A matplotlib figure: the margins of the samples, and the steps to the largest margin."""
        return drawing_room().network_picture(self)


def _share(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 0.99 or value >= 1 else f"1 − {1 - value:.2g}"


def _residual(kkt: MarginKkt) -> str:
    parts = kkt.residual, kkt.stationarity, kkt.complementarity
    told = [f"{part:.2g}" if part > ROUNDING else "0" for part in parts]
    return (
        f"{told[0]} (stationarity {told[1]}, complementarity {told[2]}); {kkt.support.size} of "
        f"{kkt.multipliers.size} samples carry it"
    )


@doing("certify")
def certify(
    network: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    params: Any = None,
    gap: float = 1e-6,
    time_s: float = 60.0,
    tolerance: float = 1e-3,
    key: int = 0,
    memory_b: float = MEMORY,
) -> NetworkCertificate:
    """How close is this classifier to the largest margin, and why not closer?

    Of f = Σ_ja_j(⟨w_j, x⟩ + b_j)₊, with biases or without, the normalised margin min_i
    y_if(x_i)/‖θ‖² is at most γ₁ (C, eq. 4), with equality for one network: the fraction is between
    proven bounds. Of any network homogeneous of degree L: min_i y_if(x_i)/‖θ‖^L, and how near to a
    KKT point of min ‖θ‖ subject to y_if(x_i) ≥ 1 it is. Gradient flow on the logistic loss tends to
    such points (Lyu and Li 2019, Ji and Telgarsky 2020), which need not be global. Which function a
    network is, is found by evaluating it, at other weights too.

    Parameters
    ----------
    network
        A module of PyTorch, equinox, Flax nnx or Keras; a JAX function network(params, X), a linen
        module or a biasflow model with `params`; weights (a, W), biases as last column of W;
        `models.Particles`, or the limit that has them.
    X : array of shape (n, …)
        Inputs as the network takes them.
    y : array of shape (n,)
        Labels ±1, both of them.
    params : optional
        Weights, as for `probe`, where the network does not carry them, or others are meant.
    gap : float
        Relative gap of γ₁ to reach.
    time_s : float
        Seconds; most of them go into the search for γ₁.
    tolerance : float
        KKT residual that counts as zero, and distance from one at which a fraction counts as one.
    key : int
        Of the search.
    memory_b : float
        Bytes for gradients of deeper networks.

    Returns
    -------
    diagnostics.NetworkCertificate

    Raises
    ------
    AssumptionError
        Of a network that is not homogeneous (output biases, normalisation layers), of labels of one
        class, and of equal inputs with opposite labels.

    Examples
    --------
    >>> X, y = np.array([[0.8, 0.6], [-0.8, 0.6], [0.0, -1.0]]), np.array([1, 1, -1])
    >>> found = bf.certify((y, X), X, y)
    >>> print(found.verdict, round(found.fraction.upper, 4), found.residual < 1e-9)
    stationary, not global 0.8889 True
    """
    gap, time_s, tolerance = (
        positive_float("gap", gap),
        positive_float("time_s", time_s),
        positive_float("tolerance", tolerance),
    )
    key = positive_int("key", key, least=0)
    deadline = time.monotonic() + time_s
    inputs = read_inputs(X)
    y = labels("y", y, len(inputs))
    if np.all(y == y[0]):
        raise AssumptionError(
            "two classes",
            f"all {y.size} labels are {y[0]:g}: a constant separates them, and no margin says "
            "anything; give samples of both classes",
        )
    read = read_classifier(network, params, inputs, positive_float("memory_b", memory_b))
    if isinstance(read, HomogeneousRead):
        return _homogeneous(read, inputs, y, tolerance)
    return _two_layers(read, np.asarray(inputs, dtype=float), y, gap, tolerance, key, deadline)


def _homogeneous(read: HomogeneousRead, X: Any, y: Array, tolerance: float) -> NetworkCertificate:
    at, L = read.at, read.homogeneity.degree
    size = norm(at.leaves)
    margins = y * at.predictions(X) / size**L
    margin = float(np.min(margins))
    note = (
        "Of a network of this kind no largest margin is known: a KKT point may be global, local, "
        "or neither."
    )
    return NetworkCertificate(
        kind="homogeneous",
        margin=margin,
        margins=margins,
        norm=size,
        homogeneity=read.homogeneity,
        fraction=None,
        best=None,
        balance=None,
        polish=None,
        kkt=kkt_at(at, X, y, read.homogeneity) if margin > 0 else None,
        tolerance=tolerance,
        notes=(*at.function.notes, note),
    )


def _rows(X: Array, y: Array, biased: bool) -> Labelled:
    """Distinct inputs of the network, with the bias coordinate where it has one."""
    if not biased:
        found = read_rows(X, y)
        return Labelled(
            found.rows, found.y, found.first, found.group, found.conflict, bool(has_bias(X))
        )
    if has_bias(X):
        raise InputError(
            "X: its last column is one for every sample, and the network has biases too: two "
            "columns for one bias; leave one of them out"
        )
    return read_labelled(X, y)


def _two_layers(
    read: TwoLayerRead,
    X: Array,
    y: Array,
    gap: float,
    tolerance: float,
    key: int,
    deadline: float,
) -> NetworkCertificate:
    data = _rows(X, y, read.biased)
    if data.conflict is not None:
        raise AssumptionError("margin", data.note)
    a, W = read.a, read.W
    if not (np.any(a) and np.any(W)):
        raise AssumptionError("margin", "every neuron is zero: the network is, and has no margin")
    low, high = margin_bounds(a, W, data.rows, data.y)
    neurons, masses = unit_neurons(a, W)
    if not len(neurons):
        raise AssumptionError("margin", "every neuron is zero: the network is, and has no margin")
    search = SEARCH_SHARE * (deadline - time.monotonic())
    best, _ = best_margin(data, neurons, gap, max(search, 1e-3), key)
    with doing("the best masses of its neurons"):
        polish = polish_steps(a, W, data, low, key, deadline)
    reached = max([best.lower, low, *([] if polish is None else [polish.neuron])])
    fraction = _fraction(low, high, reached, best.upper, best.kind)
    margins = normalised_margins(a, W, data.rows, data.y)[data.group]
    squares = float(np.sum(a**2) + np.sum(W**2))
    notes = [best.stats["note"]] if best.stats["note"] else []
    if polish is None:
        notes.append("Too many samples and neurons, or no time left, for the best masses.")
    if read.factor != 1:
        notes.append(f"The network is {read.factor:.6g} times the sum over its neurons.")
    balance = min(float(np.sum(masses)) / squares, 1.0)
    kkt = _kkt(a, W, data) if low > 0 else None
    if kkt is None and low > 0:
        notes.append(
            "Rounding hides on which side of the kinks samples are, so there is no KKT residual: "
            "subtract the means from the columns of X, or scale them."
        )
    elif kkt is not None and balance < 1 - tolerance and kkt.residual > tolerance:
        same = _kkt(*as_network(neurons, masses), data)
        if same is not None:
            notes.append(f"With balanced layers the KKT residual is {same.residual:.2g}.")
    if low <= 0 < high:
        notes.append("Rounding hides whether the least margin is positive.")
    return NetworkCertificate(
        kind="two layers",
        margin=read.factor * (low if low > 0 else min(high, 0.0)),
        margins=read.factor * margins,
        norm=float(np.sqrt(squares)),
        homogeneity=TWO,
        fraction=fraction,
        best=_times(best, reached, read.factor),
        balance=balance,
        polish=polish,
        kkt=kkt,
        tolerance=tolerance,
        notes=tuple(notes),
    )


def _kkt(a: Array, W: Array, data: Labelled) -> MarginKkt | None:
    """With multipliers for the samples as they were given."""
    found = kinked_margin_kkt(a, W, data.rows, data.y)
    return None if found is None else replace(found, multipliers=data.spread(found.multipliers))


def _fraction(low: float, high: float, least: float, most: float, kind: str) -> Bracket:
    """margin/γ₁ for low ≤ margin ≤ high and least ≤ γ₁ ≤ most, rounded outwards; at most one, which
    is the theorem."""
    wider = 4 * EPS
    lower = low / most * (1 - wider) if low > 0 else -np.inf
    if low <= 0 and least > 0:
        lower = low / least * (1 + wider)
    upper = 1.0
    if high > 0 and least > 0:
        upper = min(high / least * (1 + wider), 1.0)
    elif high <= 0:
        upper = high / most * (1 - wider)
    return Bracket(lower, upper, kind, None, 0.5 * (lower + upper))


def _times(best: Bracket, reached: float, factor: float) -> Bracket:
    wider = 0.0 if factor == 1 else 1e-9
    return Bracket(
        max(best.lower, reached) * factor * (1 - wider),
        best.upper * factor * (1 + wider),
        best.kind,
        best.value,
        best.objective * factor,
        best.stats,
    )
