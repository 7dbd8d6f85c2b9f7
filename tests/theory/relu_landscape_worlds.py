"""Worlds for B.3, B.6 and B.7, and for the relaxations of §3.2."""

import dataclasses

import numpy as np
from relu_spoils import (
    FLOWS,
    LOOSE,
    POWER,
    constants,
    correlated,
    epsilon_times,
    flow_world,
    grown,
    handed,
    least_norm_flow,
    least_norm_times,
    of_problem,
    patched,
    power_of,
    scaled,
    slowest_times,
    spoiled,
    states,
    turned_off,
    with_problem,
    without,
)
from worlds import World

import biasflow as bf
from biasflow.theory.relu import early_lemmas, ending, landscape, relaxations, robustness
from biasflow.theory.relu.relu_examples import orthonormal_problem, tiny_problem
from biasflow.theory.relu.relu_setting import Setting

LEAST_CONSTANT = ending.least_constant


LARGEST_LOSS = landscape._largest_loss


def loose_tilt(patch, factor):
    def largest(s, q):
        landscape.COSINE_DEFECT = factor
        try:
            return LARGEST_LOSS(s, q)
        finally:
            landscape.COSINE_DEFECT = 1.0

    patch.setattr(landscape, "_largest_loss", largest)


def shrinking(problem, state, end):
    """All neurons a hundred decades smaller once the flow has begun."""
    factor = 1e-60
    begun = np.any(state.W != problem.start.W, axis=(-1, -2), keepdims=True)
    return bf.models.TwoLayerParams(
        np.where(begun[..., 0], factor, 1.0) * state.a, np.where(begun, factor, 1.0) * state.W
    )


def plain(problem):
    return dataclasses.replace(problem, model=bf.TwoLayer(problem.model.width, problem.model.dim))


def leaky_prediction(patch, factor):
    """The prediction of another slope."""
    patch.setattr(robustness, "hypot", lambda x, y: np.hypot(x, y / factor))


def least_mass_of_all(s, params):
    """Lemma 14 as printed: neurons count whether they are active or not."""
    return np.full(s.n, np.sum(params.a**2) / s.n)


def forgetful(patch):
    """Lemma 13 without the tilt of the clusters."""
    patch.setattr(landscape, "COSINE_DEFECT", 0.0)
    found = landscape._largest_loss
    patch.setattr(landscape, "_largest_loss", lambda s, q: _tilted(patch, found, s, q))


def _tilted(patch, found, s, q):
    landscape.COSINE_DEFECT = 1.0
    try:
        return found(s, q)
    finally:
        landscape.COSINE_DEFECT = 0.0


def whole_ball(patch):
    """A ball in which neurons of the second cluster can be turned off."""
    patch.setattr(landscape, "safe_radius", lambda s, centre: 1.2 * np.sqrt(s.n * s.second.rate))
    patch.setattr(
        Setting, "power", lambda self, share: 1e9 if share == 1 / 240 else POWER(self, share)
    )


def independent(up, down, m):
    """As if a neuron could be in both cones."""
    return (1 - (1 - 0.5 ** (up + 1)) ** m) * (1 - (1 - 0.5 ** (down + 1)) ** m)


def signless(up, down, m):
    p, q = 0.5**up, 0.5**down
    return 1 - (1 - p) ** m - (1 - q) ** m + max(1 - p - q, 0) ** m


def polynomial(up, down):
    return 4 * (up + down)


def other_bound(function):
    return patched(early_lemmas, "lemma_bound", function)


SQUARED_NORM = relaxations.squared_norm


def level_norm(params):
    """Norms of networks that stay well above the least, whatever λ."""
    return 1.05 * SQUARED_NORM(params)


WORLDS = (
    World("B/lem13", "tilts of the clusters forgotten in the bound", constants(forgetful)),
    World(
        "B/lem13",
        "(iv) thirty times as loose, its bound not",
        constants(lambda patch: loose_tilt(patch, 30.0)),
    ),
    World(
        "B/lem13",
        "λ^{ε'} where it is not small",
        patched(landscape, "_small_enough", lambda s: 0.5 * s.second.rate),
    ),
    World(
        "B/lem13",
        "labels of correlated inputs",
        without(
            "B/lem13", "B/assumption-1", with_problem(lambda: correlated(orthonormal_problem(0)))
        ),
    ),
    World(
        "B/lem14",
        "as printed: neurons that are off count",
        patched(landscape, "active_mass", least_mass_of_all),
    ),
    World("B/lem14", "a factor 2.001", patched(landscape, "LEMMA_14", 2.001)),
    World("B/lem14", "a factor 1.999", patched(landscape, "LEMMA_14", 1.999)),
    World(
        "B/lem14",
        "correlated inputs",
        without(
            "B/lem14", "B/assumption-1", with_problem(lambda: correlated(orthonormal_problem(0)))
        ),
    ),
    World("B/lem15", "a ball in which clusters can be turned off", constants(whole_ball)),
    World("B/lem15", "a limit half as large", handed(grown(0.5))),
    World("B/lem15", "a limit whose neurons are off", handed(turned_off)),
    flow_world("B/lem15", "frozen at the saddle"),
    World("B/thm2", "ε/240 times 20", power_of(1 / 240, 20)),
    World("B/thm2", "ε/60 times 20", power_of(1 / 60, 20)),
    World("B/thm2", "a limit half as large", handed(grown(0.5), tiny_problem)),
    flow_world("B/thm2", "frozen at the saddle"),
    flow_world("B/thm2", "θ times 1.001"),
    World("B/thm2", "ε/240 times 2", power_of(1 / 240, 2), "still true", LOOSE),
    World("B/rem1", "as printed: L ≤ μr²", patched(ending, "FACTOR", 1.0)),
    World("B/rem1", "a length of √(L/μ)/2", patched(ending, "LENGTH", 0.5)),
    World(
        "B/rem1",
        "μ eight times too large",
        patched(ending, "least_constant", lambda *a: 8 * LEAST_CONSTANT(*a)),
    ),
    flow_world("B/rem1", "frozen at the saddle"),
    World("B/lem7", "ε times 5", epsilon_times(5)),
    World("B/lem7", "λ^{3ε}", power_of(1.0, 3)),
    World("B/lem7", "norms below cλ^{1−ε}/10", patched(early_lemmas, "GROWTH", 0.1)),
    flow_world("B/lem7", "idle neurons of 1e-2"),
    flow_world("B/lem7", "clusters turned by 1e-2"),
    flow_world("B/lem7", "leaky, slope 0.05"),
    World(
        "B/lem9",
        "no shrinking at all: λ^{1−ε}",
        constants(lambda patch: patch.setattr(Setting, "power", lambda s, p: POWER(s, -p))),
    ),
    World("B/lem9", "norms above c̲λ^{1+ε}·1e12", patched(early_lemmas, "COLLAPSE", 1e12)),
    World("B/lem9", "neurons that shrink with time", spoiled(states(shrinking))),
    World("B/lem16", "as printed", other_bound(early_lemmas.printed_bound)),
    World("B/lem16", "c for c/a", other_bound(lambda p, t: np.log(p.start + p.c) + p.b * t / p.a)),
    World(
        "B/lem16", "without e^{bt/a}", other_bound(lambda p, t: np.log(p.start + p.c / p.a) + 0 * t)
    ),
    World(
        "B/lem16",
        "b/(10a) for b/a",
        other_bound(lambda p, t: np.log(p.start + p.c / p.a) + 0.1 * p.b * t / p.a),
    ),
    World("B/width", "cones as if independent", patched(relaxations, "likelihood", independent)),
    World("B/width", "signs forgotten", patched(relaxations, "likelihood", signless)),
    World("B/width", "widths linear in n", patched(relaxations, "half_width", polynomial)),
    World("B/saddles", "falls counted once", patched(relaxations, "SADDLE_SHARE", 1e-30)),
    World(
        "B/saddles", "larger starts that are small ones", patched(relaxations, "NEAR_ONE", 1e-12)
    ),
    World(
        "B/saddles",
        "larger starts in the regime of kernels",
        patched(relaxations, "NEAR_ONE", 20.0),
    ),
    World(
        "B/saddles",
        "an excess that does not fall with λ",
        patched(relaxations, "squared_norm", level_norm),
    ),
    World(
        "B/saddles",
        "every flow frozen at the saddle",
        spoiled(FLOWS["frozen at the saddle"], everywhere=True),
    ),
    World("B/saddles", "every flow ends at least norm", spoiled(least_norm_flow, everywhere=True)),
    World("B/unbalanced", "1 − κ times 1.2", slowest_times(1.2)),
    World("B/unbalanced", "least norm times 1.05", least_norm_times(1.05)),
    flow_world("B/unbalanced", "frozen at the saddle"),
    flow_world("B/unbalanced", "a times 1 + 1e-6"),
    flow_world("B/unbalanced", "leaky, slope 0.05"),
    World(
        "B/leaky",
        "slope 0.31 in the prediction",
        constants(lambda patch: leaky_prediction(patch, 1.03)),
    ),
    World(
        "B/leaky",
        "one cluster of least norm",
        patched(
            robustness,
            "leaky_least",
            lambda y, slope: (2 * float(np.hypot(y[0], y[1] / slope)), 0.0),
        ),
    ),
    World("B/leaky", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
    World("B/leaky", "the flow of a ReLU", spoiled(of_problem(plain), everywhere=True)),
)
"""Worlds of B.3, B.6, B.7 and the relaxations of §3.2."""
