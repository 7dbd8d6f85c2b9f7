"""Worlds for B's claims on assumptions, phases and the limit (§2, §4, App. B to D): spoiled flows,
and changed constants."""

import dataclasses

import numpy as np
from relu_spoils import (
    FLOWS,
    LOOSE,
    SILENT,
    constants,
    correlated,
    epsilon_times,
    grown,
    handed,
    leaky,
    least_norm_flow,
    least_norm_times,
    patched,
    power_of,
    scaled,
    slowest_times,
    spoiled,
    turned_off,
    unsigned_law,
    with_problem,
    without,
)
from worlds import World

import biasflow as bf
from biasflow.flows import saddle_limit
from biasflow.theory.relu import course, minimal, reference_networks as networks, remarks
from biasflow.theory.relu.relu_examples import orthonormal_problem
from biasflow.theory.relu.relu_setting import Setting

NOTICED = {
    "θ times 1.001": "lem6 timeline u-plus limit kkt thm1",
    "θ times 1 + 1e-7": "timeline u-plus limit kkt thm1",
    "idle neurons of 1e-2": "lem2 lem3 lem4 fact1 lem12 limit kkt thm1",
    "idle neurons of 1e-4": "lem2 lem3 lem4 limit kkt thm1",
    "clusters turned by 1e-2": "lem6 lem2 lem3 fact1 limit kkt thm1",
    "clusters turned by 1e-4": "lem6 lem2 limit kkt thm1",
    "equal shares": "lem6 fact1 lem12 limit",
    "frozen at the saddle": "lem6 timeline lem4 u-plus lem12 limit lem5 kkt thm1",
    "a times 1 + 1e-6": "lem1 limit kkt thm1",
    "leaky, slope 0.05": "lem6 timeline lem2 lem3 lem4 u-plus fact1 limit lem5 kkt thm1",
    "leaky, slope 0.001": "lem6 timeline lem2 lem4 u-plus fact1 limit kkt thm1",
    "1.3 times slower": "lem6 timeline u-plus",
    "1.01 times slower": "lem6 timeline u-plus",
    "start λ^0.9": "timeline lem2 u-plus fact1",
    "first label times 1.01": "lem6 timeline lem3 u-plus limit kkt thm1",
    "first label times 1.5": "lem6 timeline lem2 lem3 lem4 u-plus fact1 limit kkt thm1",
    "correlated inputs": "lem6 timeline lem2 lem3 lem4 u-plus fact1 limit kkt thm1",
}
"""Spoiled flows, and the claims that are false of them."""


TRUE = {
    "θ times 1.001": ("lem3 lem4 lem12", LOOSE),
    "clusters turned by 1e-2": ("lem4", LOOSE),
    "equal shares": (
        "thm1 kkt lem5",
        "any shares of a cluster have least norm, and satisfy its KKT conditions and PL inequality",
    ),
    "a times 1 + 1e-10": ("lem1 limit thm1", "below the error that the flow states"),
    "1.3 times slower": ("thm1 limit kkt", "the limit does not depend on the clock"),
    "start λ^0.9": ("thm1 limit kkt", "the limit does not depend on λ"),
    "first label times 1.5": (
        "lem1 lem5",
        "they hold for any labels: balance, and the PL inequality at balanced states",
    ),
    "idle neurons of 1e-2": (
        "lem6 timeline u-plus",
        SILENT + ": neurons that are off, outside the clusters",
    ),
}


def offset_moved(patch):
    found = course.Course.__dict__["offsets"].func
    patch.setattr(course.Course, "offsets", property(lambda self: found(self) + 1e-3))


def second_rate(patch):
    """The growth of the first cluster by the rate of the second."""
    found = course.Course.middle
    patch.setattr(course.Course, "middle", lambda self, i: found(self, 1))


def shares_swapped(problem):
    s = Setting(problem)
    found = saddle_limit(s.problem.data, s.unit)
    J = s.first.neurons
    a, W = found.value.a.copy(), found.value.W.copy()
    a[J], W[J] = a[J[::-1]], W[J[::-1]]
    return dataclasses.replace(found, value=bf.models.TwoLayerParams(a, W))


def one_for_each(problem):
    """An interpolator with a neuron of its own for each label, which is not of least norm."""
    found, (m, d) = saddle_limit(problem.data, Setting(problem).unit), problem.start.W.shape
    a, W = np.zeros(m), np.zeros((m, d))
    for k, (x, y) in enumerate(zip(problem.data.X, problem.data.y, strict=True)):
        a[k], W[k] = np.sign(y) * np.sqrt(np.abs(y)), np.sqrt(np.abs(y)) * x
    return dataclasses.replace(found, value=bf.models.TwoLayerParams(a, W))


def half_circle(X):
    units, excess = networks.directions(X)
    return units[units[:, 0] > 0], excess


def linear_mass(X, y, units):
    """Neurons without an activation."""
    return float(np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0])), 0.0


def solver(change):
    """The solver for least norms, spoiled: change(limit, X, y)."""
    found = minimal.min_norm_interpolator
    return constants(
        lambda patch: patch.setattr(
            minimal, "min_norm_interpolator", lambda X, y, **k: change(found(X, y, **k), X, y)
        )
    )


def suboptimal(limit, X, y):
    """A balanced interpolator of many times the least norm, with the multipliers of the
    minimiser."""
    problem = bf.Problem(
        bf.TwoLayer(2, X.shape[1]),
        bf.Dataset(X, y),
        bf.SquareLoss(),
        bf.TwoLayer(2, X.shape[1]).init(1.0),
    )
    a, W = networks.kernel_interpolator(problem)
    lengths = np.linalg.norm(W, axis=1)
    size = np.sqrt(np.abs(a) * lengths)
    value = bf.models.TwoLayerParams(np.sign(a) * size, W / lengths[:, None] * size[:, None])
    return dataclasses.replace(
        limit, value=value, objective=float(np.sum(value.a**2) + np.sum(value.W**2))
    )


def enlarged(limit, X, y):
    a, W = limit.value
    return dataclasses.replace(
        limit, value=bf.models.TwoLayerParams(1.7 * a, 1.7 * W), objective=1.7**2 * limit.objective
    )


def half_dual(limit, X, y):
    stats = {
        **limit.stats,
        "multipliers": 0.5 * np.asarray(limit.stats["multipliers"]) + 0.01 * np.abs(y),
    }
    return dataclasses.replace(limit, stats=stats)


def data_of(X=None, y=None, a=None):
    def make():
        p = orthonormal_problem(0)
        data = bf.Dataset(
            p.data.X if X is None else X(p.data.X), p.data.y if y is None else np.array(y)
        )
        params = p.start if a is None else bf.models.TwoLayerParams(a(p.start.a), p.start.W)
        return dataclasses.replace(p, data=data, start=params)

    return with_problem(make)


def uneven_gradient(patch):
    found = bf.TwoLayer.gradient
    patch.setattr(bf.TwoLayer, "gradient", lambda self, *a: _uneven(found(self, *a)))


def _uneven(gradient):
    return bf.models.TwoLayerParams(1.0001 * gradient.a, gradient.W)


def shifted_gate(patch):
    """σ' that is one from −0.1 on: no derivative of the activation."""
    patch.setattr(bf.TwoLayer, "gates", lambda self, params, X: 1.0 * (params.W @ X.T > -0.1))


def step_with(gate):
    found = remarks._step
    return constants(
        lambda patch: patch.setattr(
            remarks, "_step", lambda p, params, step, g, k: found(p, params, step, gate, k)
        )
    )


def opening(problem, flow):
    """A gate that is reported to open."""
    events = tuple(event._replace(kind="on") for event in flow.events)
    return dataclasses.replace(flow, events=events)


def sliding(problem, flow):
    """Gates that do not close: neurons slide."""
    return dataclasses.replace(
        flow, events=tuple(event._replace(kind="slide in") for event in flow.events)
    )


def rising(problem, flow):
    """A flow that goes backwards."""
    at, end = flow.interpolant, float(flow.times[-1])
    return dataclasses.replace(flow, interpolant=lambda t: at(end - t))


OTHER = (
    World("B/lem1", "gradient of a times 1.0001", uneven_gradient),
    World("B/lem1", "σ' of another activation", shifted_gate),
    World("B/assumption-1", "inputs off by 2e-10", data_of(X=lambda X: X * (1 + 1e-10))),
    World(
        "B/assumption-1",
        "one product of 1e-9",
        data_of(X=lambda X: X + 1e-9 * np.outer([1.0, 0.0], X[1])),
    ),
    World("B/assumption-1", "inputs twice as long", data_of(X=lambda X: 2 * X)),
    World(
        "B/assumption-1",
        "inputs off by 2e-12",
        data_of(X=lambda X: X * (1 + 1e-12)),
        "still true",
        "that is rounding",
    ),
    World("B/assumption-2", "labels of equal squares", data_of(y=(0.7, -0.7))),
    World("B/assumption-2", "a zero label", data_of(y=(0.7, 0.0))),
    World(
        "B/assumption-2",
        "an input twice as long, with half the label",
        data_of(X=lambda X: np.diag([1.0, 2.0, 1, 1, 1, 1])[:2], y=(0.75, -0.375)),
    ),
    World(
        "B/assumption-2", "one sign only", data_of(y=(0.7, 0.5)), "still true", "as it is printed"
    ),
    World(
        "B/assumption-2",
        "labels one ulp apart",
        data_of(y=(0.7, -np.nextafter(0.7, 1))),
        "still true",
        "they differ",
    ),
    World("B/assumption-3", "no negative outputs", data_of(a=np.abs)),
    World("B/assumption-3", "no positive outputs", data_of(a=lambda a: -np.abs(a))),
    World(
        "B/assumption-3",
        "signs of the cones' neurons flipped",
        data_of(a=lambda a: -a),
        "still true",
        "others are in the cones",
    ),
    World("B/lem6", "(11) without s_j", unsigned_law),
    World("B/timeline", "ε times 10", epsilon_times(10)),
    World("B/timeline", "offset moved by 1e-3", constants(offset_moved)),
    World("B/timeline", "ε times 2", epsilon_times(2), "still true", LOOSE),
    World("B/lem2", "ε times 5", epsilon_times(5)),
    World("B/lem2", "λ^{2ε}", power_of(1.0, 2)),
    World("B/lem3", "ε times 10", epsilon_times(10)),
    World("B/lem3", "ε/5 for the norm of S_{+,1}, 2ε/5 as 4ε/5", power_of(2 / 5, 2)),
    World("B/lem3", "2ε/5 as ε/5, as printed after the lemma", power_of(2 / 5, 0.5)),
    World("B/lem3", "ε/2 times 10", power_of(1 / 2, 10)),
    World("B/lem3", "ε/2 times 2", power_of(1 / 2, 2), "still true", LOOSE),
    World("B/lem4", "ε times 10", epsilon_times(10)),
    World("B/lem4", "ε/15 times 10", power_of(1 / 15, 10)),
    World("B/lem4", "ε/29 times 100", power_of(1 / 29, 100)),
    World("B/lem4", "ε/14 times 2", power_of(1 / 14, 2), "still true", LOOSE),
    World("B/u-plus", "offset moved by 1e-3", constants(offset_moved)),
    World("B/u-plus", "midpoint of the other cluster", constants(second_rate)),
    World("B/fact1", "ε times 3", epsilon_times(3)),
    World("B/fact1", "ε/5 times 10", power_of(1 / 5, 10)),
    World("B/fact1", "θ_S grown by 1%", handed(grown(1.01))),
    World("B/lem12", "ε/31 times 2", power_of(1 / 31, 2)),
    World("B/lem12", "ε times 10", epsilon_times(10)),
    World("B/lem12", "ε/29 times 2", power_of(1 / 29, 2), "still true", LOOSE),
    World("B/thm1", "least norm times 1.0001", least_norm_times(1.0001)),
    World("B/thm1", "least norm times 0.9999", least_norm_times(0.9999)),
    World("B/thm1", "1 − κ times 1.1", slowest_times(1.1)),
    World("B/limit", "least norm times 1.0001", least_norm_times(1.0001)),
    World("B/limit", "shares in another order", handed(shares_swapped)),
    World("B/limit", "a limit grown by 1e-4", handed(grown(1 + 1e-4))),
    World("B/lem5", "a limit twice as large", handed(grown(2.0))),
    World("B/lem5", "a limit half as large", handed(grown(0.5))),
    World("B/lem5", "a limit whose neurons are off", handed(turned_off)),
    World(
        "B/lem5",
        "one neuron for each label",
        handed(one_for_each, lambda key: orthonormal_problem(3)),
        key=3,
    ),
    World("B/prop1", "least norm times 1.0001", least_norm_times(1.0001)),
    World("B/prop1", "minimiser times 1.7", solver(enlarged)),
    World("B/prop1", "another interpolator", solver(suboptimal)),
    World(
        "B/prop1",
        "correlated inputs",
        without("B/prop1", "orthogonal", with_problem(lambda: correlated(orthonormal_problem(0)))),
    ),
    World("B/eq8", "another interpolator", solver(suboptimal)),
    World("B/eq8", "minimiser times 1.7", solver(enlarged)),
    World("B/eq8", "dual bound halved", solver(half_dual)),
    World("B/eq8", "masses on half a circle only", patched(minimal, "directions", half_circle)),
    World("B/eq8", "masses of linear neurons", patched(minimal, "least_mass", linear_mass)),
    World(
        "B/eq8",
        "norm of a network ten times too large",
        patched(minimal, "variation_norm", lambda p: 10 * bf.limits.variation_norm(p)),
    ),
    World("B/kkt", "minimiser times 1.7", solver(enlarged)),
    World("B/kkt", "another interpolator", solver(suboptimal)),
    World("B/prop2", "σ'(0) = 1 always", step_with(1.0)),
    World("B/prop2", "σ'(0) = 0 always", step_with(0.0)),
    World("B/prop2", "a gate that opens", spoiled(opening, everywhere=True)),
    World("B/prop2", "a flow backwards", spoiled(rising, everywhere=True)),
    World("B/prop2", "neurons that slide", spoiled(sliding)),
    World(
        "B/remarks",
        "probability of the larger cone alone",
        patched(remarks, "likelihood", lambda up, down, m: 1 - (1 - 0.25) ** 2),
    ),
    World("B/remarks", "least norm times 1.0001", least_norm_times(1.0001)),
    World("B/remarks", "every flow ends at least norm", spoiled(least_norm_flow, everywhere=True)),
    World("B/remarks", "every flow leaky", spoiled(leaky(0.05), everywhere=True), slow=True),
    World("B/remarks", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
)


def _slow(name, change):
    return name == "lem12" or (name == "thm1" and change == "correlated inputs")


WORLDS: tuple[World, ...] = (
    *(
        World(
            f"B/{name}",
            change,
            spoiled(FLOWS[change], everywhere=name == "lem1"),
            slow=_slow(name, change),
        )
        for change, names in NOTICED.items()
        for name in names.split()
    ),
    *(
        World(
            f"B/{name}", change, spoiled(FLOWS[change]), "still true", why, slow=_slow(name, change)
        )
        for change, (names, why) in TRUE.items()
        for name in names.split()
    ),
    *OTHER,
)
