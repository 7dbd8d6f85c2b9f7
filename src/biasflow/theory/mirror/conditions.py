"""R's standing assumptions (§2): where a flow starts, what ∇φ reaches, where F is least. Each test
returns None or a sentence."""

from __future__ import annotations

import numpy as np

from ...errors import BiasflowError
from ...limits.half_lines import forced_zeros
from ..evidence import Evidence
from ..hypotheses import CONTINUOUS, consistent_failure
from ..verdicts import Hypothesis
from .measured import EPS, least_fit


def _inside(evidence: Evidence) -> str | None:
    try:
        eta = np.asarray(evidence.origin.eta, dtype=np.float64)
    except BiasflowError as error:
        return str(error)
    lost = np.flatnonzero(~np.isfinite(eta))
    return (
        f"β₀ has coordinate {int(lost[0])} on the boundary of the domain, where ∇φ is not finite"
        if lost.size
        else None
    )


def _still(evidence: Evidence) -> str | None:
    """∇F(β₀) against the rounding of its terms."""
    m = evidence.mirror
    start = np.asarray(evidence.origin.beta, dtype=np.float64)
    with np.errstate(all="ignore"):
        pull = np.abs(m.X.T @ (m.X @ start - m.y))
        terms = np.abs(m.X).T @ (np.abs(m.X) @ np.abs(start) + np.abs(m.y))
    still = np.all(pull <= 4 * sum(m.X.shape) * EPS * terms)
    return "the start is a minimiser of F already: nothing moves" if still else None


def _attained(evidence: Evidence) -> str | None:
    """A minimum inside the open domain is one of F on all of R^d: some β inside must have Xβ = ŷ,
    the least-squares fit."""
    m = evidence.mirror
    potential = m.potential if m.beta0 is None else m.potential.oriented(m.beta0)
    signs = potential.half_lines(m.X.shape[1])
    if not np.any(signs):
        return None
    fit = m.y if consistent_failure(m) is None else least_fit(m.X, m.y)
    try:
        zero = forced_zeros(m.X, fit, signs)
    except BiasflowError:
        return "no minimiser of F lies inside the domain: Theorem 2.3 speaks about its boundary"
    return (
        f"every minimiser has β_{int(np.flatnonzero(zero)[0])} = 0, on the boundary of the domain"
        if np.any(zero)
        else None
    )


START = Hypothesis("start", "β₀ lies in the domain D", _inside)
MOVES = Hypothesis("moves", "the start is no minimiser of F", _still)
ONTO = Hypothesis("onto", "∇φ maps D onto R^d", CONTINUOUS.test)
ATTAINED = Hypothesis("attained", "F has minimisers inside D", _attained)
