"""C, Appendix B: the variation norm, and the balanced neurons that attain it (Proposition 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from ..._core.arguments import Array
from ..._core.problems import Problem
from ...models import as_particles, augmented, sphere_measure
from ..evidence import Evidence
from ..verdicts import Check, Claim, Kind, unknown_check
from .margin_assumptions import PLAIN, ROUNDING, largest_value, off, plain_sum
from .margin_examples import network_family, relu_problem
from .margin_hypotheses import RELU, SIGNS
from .margin_setting import inputs_of

TILTS = np.pi * np.array([1, 2, 3, 4, 5, 6, 7]) / 16
"""Angles t of neurons θ = (cos t·u, sin t·s); the fourth is balanced."""
STRETCHES = np.append(np.geomspace(0.1, 10, 41), 1.0)
"""Factors c of neurons (a·c, w/c), all of one predictor."""
PROGRAM_ERROR = 1e-7
"""Of linear programs: HiGHS asks its primal and dual residuals for 1e-7."""


def _prop9(evidence: Evidence) -> tuple[Check, ...]:
    problem = evidence.network
    data, (a, W) = inputs_of(problem), problem.start
    measure, plain = as_particles(problem.start), plain_sum(problem, problem.start)
    path_norm = float(np.sum(np.abs(a) * np.linalg.norm(W, axis=1)))
    if path_norm == 0:
        return (unknown_check("‖f‖_{F1}", "every neuron is zero"),)
    alive = (a != 0) & np.any(W != 0, axis=1)
    masses = np.array([_sphere_masses(problem, c) for c in STRETCHES])[:, alive]
    stretched = (problem.model(_stretched(problem, c), problem.data.X) for c in STRETCHES[::10])
    cheapest = STRETCHES[np.argmin(masses, axis=0)]
    drawn = np.abs(a[alive]) / np.linalg.norm(W[alive], axis=1)
    spread, size = "Π₂ of networks stretched neuron by neuron", largest_value(problem)
    checks = (
        Check(
            "|f of the balanced measure − f|, relative",
            off(measure(data.X), plain, size),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        ),
        Check("its mass, over Σ|b_j|‖a_j‖", measure.norm / path_norm, "==", 2.0, ROUNDING, PLAIN),
        Check(
            "|f of stretched networks − f|, relative",
            max(off(f, plain, size) for f in stretched),
            "==",
            0.0,
            2 * ROUNDING,
            PLAIN,
        ),
        Check(
            "least mass of stretched networks, neuron by neuron, over the balanced one",
            float(np.sum(np.min(masses, axis=0))) / measure.norm,
            "==",
            1.0,
            ROUNDING,
            spread,
        ),
        Check(
            "largest |log c| of the least mass: balanced, |a| = ‖w‖",
            float(np.max(np.abs(np.log(cheapest)))),
            "==",
            0.0,
            2 * ROUNDING,
            spread,
            null=float(np.max(np.abs(np.log(drawn)))),
        ),
    )
    return (*checks, *_least_masses(data.X, plain, measure.directions, size))


def _stretched(problem: Problem, factor: float) -> Any:
    """The network of the same predictor with |a_j| = c·r_j, ‖w_j‖ = r_j/c; neurons without one stay
    as they are."""
    a, W = problem.start
    lengths = np.linalg.norm(W, axis=1)
    alive = (a != 0) & (lengths > 0)
    ratio = np.sqrt(np.where(alive, lengths, 1.0) / np.where(alive, np.abs(a), 1.0)) * np.where(
        alive, factor, 1.0
    )
    return type(problem.start)(
        np.where(alive, a * ratio, 0.0), np.where(alive[:, None], W / ratio[:, None], 0.0)
    )


def _sphere_masses(problem: Problem, factor: float) -> Array:
    measure = sphere_measure(problem.model, _stretched(problem, factor))
    return (
        np.exp(measure.log_norm) * measure.shares
        if np.isfinite(measure.log_norm)
        else np.zeros(problem.model.width)
    )


def _least_masses(X: Array, f: Array, directions: Array, reach: float) -> tuple[Check, ...]:
    """‖f‖ on the samples by linear programs, from the network's own directions: over ±(⟨u, ·⟩)₊,
    and over neurons of any tilt."""
    Z = np.maximum(augmented(X) @ np.vstack([directions, directions]).T, 0.0) * np.repeat(
        [1.0, -1.0], len(directions)
    )
    size = float(np.max(np.abs(f)))
    quantity = "least mass over neurons of any tilt, over that of ±(⟨u, ·⟩)₊"
    if size <= ROUNDING * reach:
        return (
            Check(
                f"{quantity}: both zero, as f is on the samples",
                size / reach,
                "==",
                0.0,
                ROUNDING,
                PLAIN,
            ),
        )
    target = f / size
    tilted = np.hstack([np.sin(t) * np.cos(t) * Z for t in TILTS])
    plain, both = (
        linprog(np.ones(A.shape[1]), A_eq=A, b_eq=target, method="highs") for A in (Z, tilted)
    )
    if plain.status or both.status:
        return (
            unknown_check(
                quantity,
                f"the linear program ended with {plain.message if plain.status else both.message}",
            ),
        )
    tilted_masses = np.delete(both.x.reshape(len(TILTS), -1), len(TILTS) // 2, axis=0)
    witness = "linear programs over neurons"
    return (
        Check(quantity, both.fun / plain.fun, "==", 2.0, 10 * PROGRAM_ERROR, witness),
        Check(
            "its mass off ‖a‖ = |c|, relative",
            float(np.sum(tilted_masses)) / both.fun,
            "<=",
            10 * PROGRAM_ERROR,
            PROGRAM_ERROR,
            witness,
            null=1 - 1 / len(TILTS),
        ),
    )


prop9 = Claim(
    "C/prop9",
    "‖f‖_{F1} = 2‖f‖_{F̃1}: a neuron is cheapest balanced, ‖a‖ = |c| = 1/√2, and optimal measures "
    "sit there alone.",
    "C, Proposition 9",
    (RELU, SIGNS),
    relu_problem,
    _prop9,
    kind=Kind.STATIC,
    witness="Π₂ of stretched networks; linear programs over neurons of all tilts",
    null="equal masses on all tilts; the start as drawn, which is not balanced",
    family=lambda key: network_family(key, smooth=False),
)

CLAIMS = (prop9,)
