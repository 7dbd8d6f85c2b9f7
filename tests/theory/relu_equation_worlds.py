"""Worlds for B's equations: neurons one by one, and the early phase without λ."""

import dataclasses

import numpy as np
from relu_spoils import FLOWS, flow_world, patched, spoiled
from worlds import World

import biasflow as bf
from biasflow.theory.relu import early_equations, fitting

PULLS = early_equations.pulls
WITHOUT_SCALE = early_equations.without_scale


def ungated(problem, params, outputs=None):
    """D_j with all inputs, active or not."""
    outputs = problem.model(params, problem.data.X) if outputs is None else outputs
    slopes = problem.loss.gradient(outputs, problem.data.y)
    return np.tile(-slopes @ problem.data.X, (len(params.a), 1))


def other_labels(s, cluster, times):
    """(28) with a label of one percent more."""
    y = s.y * np.append(1.01, np.ones(s.n - 1))
    problem = dataclasses.replace(s.problem, data=bf.Dataset(s.X, y))
    return WITHOUT_SCALE(type(s)(problem), cluster, times)


def still(s, cluster, times):
    """Neurons that keep their directions."""
    units, logs = WITHOUT_SCALE(s, cluster, times)
    return np.broadcast_to(units[:1], units.shape), logs


LEFT_OVER = fitting.left_over


def unfitted(s, cluster, params):
    """As if nothing were fitted: u_± forgotten."""
    D, along, across = LEFT_OVER(s, cluster, params)
    return D, along + float(cluster.size(params)) / s.n, across


WORLDS = (
    World("B/eq9", "D_j with inputs that are off", patched(early_equations, "pulls", ungated)),
    World(
        "B/eq9", "D_j with the other sign", patched(early_equations, "pulls", lambda *a: -PULLS(*a))
    ),
    World(
        "B/eq9", "D_j times 1.001", patched(early_equations, "pulls", lambda *a: 1.001 * PULLS(*a))
    ),
    flow_world("B/eq9", "1.01 times slower", everywhere=True),
    World(
        "B/eq28",
        "ρ̃ − ρ − ln λ, as printed",
        patched(early_equations, "logged", lambda sizes, log: sizes + log),
    ),
    World("B/eq28", "tanh(1.1‖D_+‖t)", patched(early_equations, "TANH", 1.1)),
    World(
        "B/eq28",
        "a label of one percent more in (28)",
        patched(early_equations, "without_scale", other_labels),
    ),
    World("B/eq28", "directions that stay", patched(early_equations, "without_scale", still)),
    flow_world("B/eq28", "1.01 times slower"),
    World("B/eq19", "u_± forgotten", patched(fitting, "left_over", unfitted)),
    World("B/eq19", "growth at 2.5‖D_+‖", patched(fitting, "RATE", 2.5)),
    flow_world("B/eq19", "a times 1 + 1e-6"),
    flow_world("B/eq19", "1.3 times slower"),
    World(
        "B/eq19",
        "θ times 1.001",
        spoiled(FLOWS["θ times 1.001"]),
        "still true",
        "(19) and (26) hold for clusters of any size, and the others are within the printed powers",
    ),
    flow_world("B/eq19", "frozen at the saddle"),
)
