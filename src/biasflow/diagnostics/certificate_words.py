"""What keeps a network from the largest margin, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._core.arguments import Array

if TYPE_CHECKING:
    from .network_certificates import NetworkCertificate

SENTENCES = {
    "not separating": "not every sample is classified rightly; the margin is not positive",
    "global": "the margin is the largest that any width can have, within the tolerance",
    "stationary, not global": "a KKT point of the margin problem, and not the largest margin: "
    "gradient flow has no reason to leave it",
    "not stationary": "no KKT point of the margin problem: training has not converged",
    "stationary": "a KKT point of the margin problem, within the tolerance",
    "open": "the bracket does not tell whether the margin is the largest; more time narrows it",
}
MOST_NUMBERS = 6
"""Coordinates of a direction that are written out."""


def reasons_of(found: NetworkCertificate) -> tuple[str, ...]:
    """A sentence for each loss that exceeds the tolerance, the most telling first."""
    if found.kkt is None:
        return (_misclassified(found),)
    lost = found.tolerance
    reasons = []
    if found.fraction is not None and found.fraction.lower >= 1 - lost:
        return ()
    if found.balance is not None and found.balance < 1 - lost:
        reasons.append(
            f"layers are not balanced: with |a_j| = ‖w_j‖ the same function has {found.balance:.4g}"
            f" of the norm, and {1 / found.balance:.4g} times the margin"
        )
    polish = found.polish
    if polish is not None:
        gain = polish.masses / polish.balanced - 1 if polish.balanced > 0 else np.inf
        if gain > lost:
            reasons.append(
                f"masses are not optimal on its own neurons: the best ones gain {gain:.2%}"
            )
        if polish.violation > lost:
            more = polish.neuron / polish.masses - 1
            reasons.append(
                f"a neuron is missing, {_direction(polish.direction, polish.sign)}: its gain "
                f"exceeds that of every own neuron by {polish.violation:.2%}, and with it the "
                f"margin grows by {more:.2%} at once"
            )
    if not found.stationary:
        reasons.append(_not_converged(found))
    return tuple(reasons)


def _misclassified(found: NetworkCertificate) -> str:
    wrong = np.flatnonzero(found.margins <= 0)
    worst = int(np.argmin(found.margins))
    return (
        f"{max(wrong.size, 1)} of {found.margins.size} samples have a margin that is not positive, "
        f"sample {worst} the least: train on, or look at its label"
    )


def _not_converged(found: NetworkCertificate) -> str:
    assert found.kkt is not None
    if found.kkt.stationarity >= found.kkt.complementarity:
        return (
            f"not converged: the weights are no combination of the gradients of the samples on the "
            f"margin (relative residual {found.kkt.stationarity:.2g})"
        )
    return (
        "not converged: samples that are not on the margin still carry weight (relative residual "
        f"{found.kkt.complementarity:.2g})"
    )


def _direction(u: Array, sign: float) -> str:
    shown = ", ".join(f"{value:.3g}" for value in np.round(u[:MOST_NUMBERS], 9) + 0.0)
    rest = ", …" if u.size > MOST_NUMBERS else ""
    return f"of sign {'+' if sign > 0 else '−'} along ({shown}{rest})"
