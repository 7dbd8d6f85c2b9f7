"""Worlds for the claims of theory/relu.

Flows are spoiled where claims get them: the witness. Witnesses of unchanged problems are kept, so that a world costs what its
change costs.
"""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.flows.relu import growth
from biasflow.theory import evidence as evidence_module
from biasflow.theory import verifying
from biasflow.theory.relu import (
    assumptions,
    convergence,
    course,
    early_lemmas,
    ending,
    landscape,
    minimal,
    networks,
    relaxations,
    remarks,
    robustness,
)
from biasflow.theory.relu.examples import ordinary_problem, orthonormal_problem, tiny_problem
from biasflow.theory.relu.setting import Setting
from biasflow.theory.witness import witness_flow

KEPT = {}


def kept_flow(problem, t1=None, times=None, *, time_s=60.0, rtol=1e-10):
    """The witness, computed once for each problem."""
    arrays = (problem.data.X, problem.data.y, problem.params0.a, problem.params0.W, np.asarray(problem.log_scale))
    name = (t1, problem.model, problem.loss, *(array.tobytes() for array in arrays))
    if name not in KEPT:
        KEPT[name] = witness_flow(problem, t1, times, time_s=60.0)
    return KEPT[name]


def spoiled(change, everywhere=False):
    """All witnesses of the main flow changed; those of other flows a claim asks for only if `everywhere`."""

    def spoil(patch):
        patch.setattr(evidence_module, "witness_flow", lambda problem, *a, **k: change(problem, kept_flow(problem, *a, **k)))
        other = (lambda problem, *a, **k: change(problem, kept_flow(problem, *a, **k))) if everywhere else kept_flow
        for module in (assumptions, convergence, ending, relaxations, remarks, robustness):
            patch.setattr(module, "witness_flow", other)

    return spoil


def states(function):
    """A flow with function(problem, state, end) in place of every state."""

    def change(problem, flow):
        new = function(problem, flow.states, flow.final)
        loss = problem.loss(problem.model(new, problem.data.X), problem.data.y)
        at = flow.interpolant
        return dataclasses.replace(flow, states=new, loss=loss, interpolant=lambda t: function(problem, at(t), flow.final))

    return change


def scaled(factor):
    return states(lambda problem, state, end: bf.TwoLayerParams(state.a * factor, state.W * factor))


def drifted(excess):
    return states(lambda problem, state, end: bf.TwoLayerParams(state.a * (1 + excess), state.W))


def with_idle(size):
    """Neurons that end off, at a size."""

    def function(problem, state, end):
        s = Setting(problem)
        idle = np.setdiff1d(np.arange(len(end.a)), np.concatenate([c.neurons for c in s.clusters]))
        dead = [j for j in idle if np.all(end.W[j] @ s.X.T <= 1e-30)]
        a, W = state.a.copy(), state.W.copy()
        down = -np.sum(s.X, axis=0) / np.linalg.norm(np.sum(s.X, axis=0))
        for j in dead:
            W[..., j, :], a[..., j] = size * down, size * np.sign(end.a[j])
        return bf.TwoLayerParams(a, W)

    return states(function)


def turned(angle):
    """Clusters turned out of the span of the inputs."""

    def function(problem, state, end):
        X, W = problem.data.X, state.W.copy()
        out = np.linalg.svd(X)[2][len(X)]
        for cluster in Setting(problem).clusters:
            for j in cluster.neurons:
                length = np.linalg.norm(W[..., j, :], axis=-1, keepdims=True)
                w = W[..., j, :] + angle * length * out
                W[..., j, :] = w / np.linalg.norm(w, axis=-1, keepdims=True) * length
        return bf.TwoLayerParams(state.a, W)

    return states(function)


def _equal(problem, state, end):
    a, W = state.a.copy(), state.W.copy()
    for cluster in Setting(problem).clusters:
        J = cluster.neurons
        length = np.linalg.norm(W[..., J, :], axis=-1)
        share = np.sqrt(np.mean(length**2, axis=-1, keepdims=True))
        W[..., J, :] *= (share / np.maximum(length, 1e-300))[..., None]
        a[..., J] = np.sign(problem.params0.a[J]) * share
    return bf.TwoLayerParams(a, W)


def _frozen(problem, state, end):
    a, W, J = state.a.copy(), state.W.copy(), Setting(problem).second.neurons
    factor = np.minimum(1, 1e-3 / np.maximum(np.linalg.norm(W[..., J, :], axis=-1), 1e-300))
    W[..., J, :] *= factor[..., None]
    a[..., J] *= factor
    return bf.TwoLayerParams(a, W)


equal_shares, frozen = states(_equal), states(_frozen)


def of_problem(other):
    """The flow of another problem, handed out as this one's."""

    def change(problem, flow):
        run = kept_flow(other(problem))
        loss = problem.loss(problem.model(run.states, problem.data.X), problem.data.y)
        return dataclasses.replace(run, problem=problem, loss=loss)

    return change


def leaky(slope):
    def other(problem):
        return dataclasses.replace(problem, model=bf.TwoLayer(problem.model.width, problem.model.dim, "leaky_relu", slope))

    return of_problem(other)


def label_times(factor):
    return of_problem(
        lambda p: dataclasses.replace(p, data=bf.Dataset(p.data.X, p.data.y * np.append(factor, np.ones(p.data.n - 1))))
    )


def start_power(power):
    def other(problem):
        top = np.max(np.abs(problem.params0.W))
        return dataclasses.replace(problem, params0=bf.TwoLayerParams(*(leaf / top * top**power for leaf in problem.params0)))

    return of_problem(other)


def correlated(problem):
    X = problem.data.X + 0.3 * problem.data.X[::-1]
    return dataclasses.replace(problem, data=bf.Dataset(X / np.linalg.norm(X, axis=1, keepdims=True), problem.data.y))


def slowed(factor):
    def change(problem, flow):
        at = flow.interpolant
        return dataclasses.replace(flow, times=flow.times * factor, interpolant=lambda t: at(t / factor))

    return change


FLOWS = {
    "θ times 1.001": scaled(1.001),
    "θ times 1 + 1e-7": scaled(1 + 1e-7),
    "idle neurons of 1e-2": with_idle(1e-2),
    "idle neurons of 1e-4": with_idle(1e-4),
    "clusters turned by 1e-2": turned(1e-2),
    "clusters turned by 1e-4": turned(1e-4),
    "equal shares": equal_shares,
    "frozen at the saddle": frozen,
    "a times 1 + 1e-6": drifted(1e-6),
    "a times 1 + 1e-10": drifted(1e-10),
    "leaky, slope 0.05": leaky(0.05),
    "leaky, slope 0.001": leaky(0.001),
    "1.3 times slower": slowed(1.3),
    "1.01 times slower": slowed(1.01),
    "start λ^0.9": start_power(0.9),
    "first label times 1.01": label_times(1.01),
    "first label times 1.5": label_times(1.5),
    "correlated inputs": of_problem(correlated),
}

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
LOOSE = "within the printed powers of λ, whose slack the verdict reports as sharpness"
SILENT = "the claim says nothing about this"
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
    "first label times 1.5": ("lem1 lem5", "they hold for any labels: balance, and the PL inequality at balanced states"),
    "idle neurons of 1e-2": ("lem6 timeline u-plus", SILENT + ": neurons that are off, outside the clusters"),
}


def constants(change):
    """A constant changed, on kept witnesses."""

    def spoil(patch):
        spoiled(lambda problem, flow: flow)(patch)
        return change(patch)

    return spoil


EPSILON = Setting.__dict__["epsilon"].func
POWER = Setting.power


def epsilon_times(factor):
    return constants(lambda patch: patch.setattr(Setting, "epsilon", property(lambda self: factor * EPSILON(self))))


def power_of(share, factor):
    """The printed share of ε times a factor."""

    def change(patch):
        patch.setattr(Setting, "power", lambda self, other: POWER(self, other * (factor if abs(other - share) < 1e-9 else 1)))

    return constants(change)


def least_norm_times(factor):
    value = Setting.least_norm.fget
    return constants(lambda patch: patch.setattr(Setting, "least_norm", property(lambda self: factor * value(self))))


def slowest_times(factor):
    value = Setting.slowest.fget
    return constants(lambda patch: patch.setattr(Setting, "slowest", property(lambda self: factor * value(self))))


def offset_moved(patch):
    found = course.Course.__dict__["offsets"].func
    patch.setattr(course.Course, "offsets", property(lambda self: found(self) + 1e-3))


def second_rate(patch):
    """The growth of the first cluster by the rate of the second."""
    found = course.Course.middle
    patch.setattr(course.Course, "middle", lambda self, i: found(self, 1))


def handed(function, make=orthonormal_problem):
    """A limit of the user's own."""

    def change(patch):
        problem = make(0)
        return {"limit": function(problem)}

    return constants(change)


def shares_swapped(problem):
    s = Setting(problem)
    found = course._predicted(s)
    J = s.first.neurons
    a, W = found.value.a.copy(), found.value.W.copy()
    a[J], W[J] = a[J[::-1]], W[J[::-1]]
    return dataclasses.replace(found, value=bf.TwoLayerParams(a, W))


def grown(factor):
    def function(problem):
        found = course._predicted(Setting(problem))
        return dataclasses.replace(found, value=bf.TwoLayerParams(factor * found.value.a, factor * found.value.W))

    return function


def turned_off(problem):
    found = course._predicted(Setting(problem))
    return dataclasses.replace(found, value=bf.TwoLayerParams(found.value.a, -found.value.W))


def one_for_each(problem):
    """An interpolator with a neuron of its own for each label, which is not of least norm."""
    found, (m, d) = course._predicted(Setting(problem)), problem.params0.W.shape
    a, W = np.zeros(m), np.zeros((m, d))
    for k, (x, y) in enumerate(zip(problem.data.X, problem.data.y, strict=True)):
        a[k], W[k] = np.sign(y) * np.sqrt(np.abs(y)), np.sqrt(np.abs(y)) * x
    return dataclasses.replace(found, value=bf.TwoLayerParams(a, W))


def without(name, hypothesis, spoil):
    """A claim that does not ask for one of its hypotheses, where that fails."""

    def change(patch):
        kept = tuple(h for h in verifying.claim(name).hypotheses if h.id != hypothesis)
        assert len(kept) < len(verifying.claim(name).hypotheses)
        bold = dataclasses.replace(verifying.claim(name), hypotheses=kept)
        patch.setattr(verifying, "CLAIMS", tuple(bold if c.id == name else c for c in verifying.CLAIMS))
        return spoil(patch)

    return constants(change)


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
        lambda patch: patch.setattr(minimal, "min_norm_interpolator", lambda X, y, **k: change(found(X, y, **k), X, y))
    )


def suboptimal(limit, X, y):
    """A balanced interpolator of many times the least norm, with the multipliers of the minimiser."""
    problem = bf.Problem(bf.TwoLayer(2, X.shape[1]), bf.Dataset(X, y), bf.SquareLoss(), bf.TwoLayer(2, X.shape[1]).init(1.0))
    a, W = networks.kernel_interpolator(problem)
    lengths = np.linalg.norm(W, axis=1)
    size = np.sqrt(np.abs(a) * lengths)
    value = bf.TwoLayerParams(np.sign(a) * size, W / lengths[:, None] * size[:, None])
    return dataclasses.replace(limit, value=value, objective=float(np.sum(value.a**2) + np.sum(value.W**2)))


def enlarged(limit, X, y):
    a, W = limit.value
    return dataclasses.replace(limit, value=bf.TwoLayerParams(1.7 * a, 1.7 * W), objective=1.7**2 * limit.objective)


def half_dual(limit, X, y):
    stats = {**limit.stats, "multipliers": 0.5 * np.asarray(limit.stats["multipliers"]) + 0.01 * np.abs(y)}
    return dataclasses.replace(limit, stats=stats)


def patched(module, name, value):
    return constants(lambda patch: patch.setattr(module, name, value))


def with_problem(make):
    return lambda patch: {"problem": make()}


def data_of(X=None, y=None, a=None):
    def make():
        p = orthonormal_problem(0)
        data = bf.Dataset(p.data.X if X is None else X(p.data.X), p.data.y if y is None else np.array(y))
        params = p.params0 if a is None else bf.TwoLayerParams(a(p.params0.a), p.params0.W)
        return dataclasses.replace(p, data=data, params0=params)

    return with_problem(make)


def uneven_gradient(patch):
    found = bf.TwoLayer.gradient
    patch.setattr(bf.TwoLayer, "gradient", lambda self, *a: _uneven(found(self, *a)))


def _uneven(gradient):
    return bf.TwoLayerParams(1.0001 * gradient.a, gradient.W)


def shifted_gate(patch):
    """σ' that is one from −0.1 on: no derivative of the activation."""
    patch.setattr(bf.TwoLayer, "gates", lambda self, params, X: 1.0 * (params.W @ X.T > -0.1))


def unsigned_law(patch):
    """Equation (11) as printed, without s_j."""
    found = assumptions._equation_11

    def printed(evidence, p, flow):
        return found(evidence, p, dataclasses.replace(flow, interpolant=lambda t: _unsigned(flow.at(t))))

    spoiled(lambda problem, flow: flow)(patch)
    patch.setattr(assumptions, "_equation_11", printed)


def _unsigned(state):
    return bf.TwoLayerParams(np.abs(state.a), state.W)


def step_with(gate):
    found = remarks._step
    return constants(lambda patch: patch.setattr(remarks, "_step", lambda p, params, step, g, k: found(p, params, step, gate, k)))


def opening(problem, flow):
    """A gate that is reported to open."""
    events = tuple(event._replace(kind="on") for event in flow.events)
    return dataclasses.replace(flow, events=events)


def rising(problem, flow):
    """A flow that goes backwards."""
    at, end = flow.interpolant, float(flow.times[-1])
    return dataclasses.replace(flow, interpolant=lambda t: at(end - t))


def least_norm_flow(problem, flow):
    """Every flow ends at the two neurons of least norm."""
    s = Setting(problem)
    two = minimal.two_neurons(s)
    m = len(problem.params0.a)
    a, W = np.zeros(m), np.zeros((m, problem.data.d))
    a[:2], W[:2] = two.a, two.W
    T = len(flow.times)
    return dataclasses.replace(flow, states=bf.TwoLayerParams(np.tile(a, (T, 1)), np.tile(W, (T, 1, 1))))


OTHER = (
    World("B/lem1", "gradient of a times 1.0001", uneven_gradient),
    World("B/lem1", "σ' of another activation", shifted_gate),
    World("B/assumption-1", "inputs off by 2e-10", data_of(X=lambda X: X * (1 + 1e-10))),
    World("B/assumption-1", "one product of 1e-9", data_of(X=lambda X: X + 1e-9 * np.outer([1.0, 0.0], X[1]))),
    World("B/assumption-1", "inputs twice as long", data_of(X=lambda X: 2 * X)),
    World("B/assumption-1", "inputs off by 2e-12", data_of(X=lambda X: X * (1 + 1e-12)), "still true", "that is rounding"),
    World("B/assumption-2", "labels of equal squares", data_of(y=(0.7, -0.7))),
    World("B/assumption-2", "a zero label", data_of(y=(0.7, 0.0))),
    World("B/assumption-2", "one sign only", data_of(y=(0.7, 0.5))),
    World("B/assumption-2", "labels one ulp apart", data_of(y=(0.7, -np.nextafter(0.7, 1))), "still true", "they differ"),
    World("B/assumption-3", "no negative outputs", data_of(a=np.abs)),
    World("B/assumption-3", "no positive outputs", data_of(a=lambda a: -np.abs(a))),
    World(
        "B/assumption-3", "signs of the cones' neurons flipped", data_of(a=lambda a: -a), "still true", "others are in the cones"
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
    World("B/lem5", "one neuron for each label", handed(one_for_each, lambda key: orthonormal_problem(3)), key=3),
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
        "B/eq8", "norm of a network ten times too large", patched(minimal, "variation_norm", lambda p: 10 * bf.variation_norm(p))
    ),
    World("B/kkt", "minimiser times 1.7", solver(enlarged)),
    World("B/kkt", "another interpolator", solver(suboptimal)),
    World("B/prop2", "σ'(0) = 1 always", step_with(1.0)),
    World("B/prop2", "σ'(0) = 0 always", step_with(0.0)),
    World("B/prop2", "a gate that opens", spoiled(opening, everywhere=True)),
    World("B/prop2", "a flow backwards", spoiled(rising, everywhere=True)),
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


LEAST_CONSTANT = ending.least_constant
LARGEST_LOSS = landscape._largest_loss


def loose_tilt(patch, factor):
    def largest(s, q):
        landscape.CLOSE = factor
        try:
            return LARGEST_LOSS(s, q)
        finally:
            landscape.CLOSE = 1.0

    patch.setattr(landscape, "_largest_loss", largest)


def shrinking(problem, state, end):
    """All neurons a hundred decades smaller once the flow has begun."""
    factor = 1e-60
    begun = np.any(state.W != problem.params0.W, axis=(-1, -2), keepdims=True)
    return bf.TwoLayerParams(np.where(begun[..., 0], factor, 1.0) * state.a, np.where(begun, factor, 1.0) * state.W)


def plain(problem):
    return dataclasses.replace(problem, model=bf.TwoLayer(problem.model.width, problem.model.dim))


def leaky_prediction(patch, factor):
    """The prediction of another slope."""
    patch.setattr(robustness, "hypot", lambda x, y: np.hypot(x, y / factor))


def flow_world(name, change, everywhere=False, slow=False):
    return World(name, change, spoiled(FLOWS[change], everywhere), slow=slow)


def least_mass_of_all(s, params):
    """Lemma 14 as printed: neurons count whether they are active or not."""
    return np.full(s.n, np.sum(params.a**2) / s.n)


def forgetful(patch):
    """Lemma 13 without the tilt of the clusters."""
    patch.setattr(landscape, "CLOSE", 0.0)
    found = landscape._largest_loss
    patch.setattr(landscape, "_largest_loss", lambda s, q: _tilted(patch, found, s, q))


def _tilted(patch, found, s, q):
    landscape.CLOSE = 1.0
    try:
        return found(s, q)
    finally:
        landscape.CLOSE = 0.0


def whole_ball(patch):
    """A ball in which neurons of the second cluster can be turned off."""
    patch.setattr(landscape, "safe_radius", lambda s, centre: 1.2 * np.sqrt(s.n * s.second.rate))
    patch.setattr(Setting, "power", lambda self, share: 1e9 if share == 1 / 240 else POWER(self, share))


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


LANDSCAPE = (
    World("B/lem13", "tilts of the clusters forgotten in the bound", constants(forgetful)),
    World("B/lem13", "(iv) thirty times as loose, its bound not", constants(lambda patch: loose_tilt(patch, 30.0))),
    World("B/lem13", "λ^{ε'} where it is not small", patched(landscape, "_small_enough", lambda s: 0.5 * s.second.rate)),
    World(
        "B/lem13",
        "labels of correlated inputs",
        without("B/lem13", "B/assumption-1", with_problem(lambda: correlated(orthonormal_problem(0)))),
    ),
    World("B/lem14", "as printed: neurons that are off count", patched(landscape, "active_mass", least_mass_of_all)),
    World("B/lem14", "a factor 2.001", patched(landscape, "LEMMA_14", 2.001)),
    World("B/lem14", "a factor 1.999", patched(landscape, "LEMMA_14", 1.999)),
    World(
        "B/lem14",
        "correlated inputs",
        without("B/lem14", "B/assumption-1", with_problem(lambda: correlated(orthonormal_problem(0)))),
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
    World("B/rem1", "μ eight times too large", patched(ending, "least_constant", lambda *a: 8 * LEAST_CONSTANT(*a))),
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
    World("B/lem16", "without e^{bt/a}", other_bound(lambda p, t: np.log(p.start + p.c / p.a) + 0 * t)),
    World("B/lem16", "b/(10a) for b/a", other_bound(lambda p, t: np.log(p.start + p.c / p.a) + 0.1 * p.b * t / p.a)),
    World("B/width", "cones as if independent", patched(relaxations, "likelihood", independent)),
    World("B/width", "signs forgotten", patched(relaxations, "likelihood", signless)),
    World("B/width", "widths linear in n", patched(relaxations, "half_width", polynomial)),
    World("B/saddles", "falls counted once", patched(relaxations, "QUIET", 1e-30)),
    World("B/saddles", "a larger start that is a small one", patched(relaxations, "NEAR_ONE", 1e-12)),
    World("B/saddles", "every flow frozen at the saddle", spoiled(FLOWS["frozen at the saddle"], everywhere=True)),
    World("B/saddles", "every flow ends at least norm", spoiled(least_norm_flow, everywhere=True)),
    World("B/unbalanced", "1 − κ times 1.2", slowest_times(1.2)),
    World("B/unbalanced", "least norm times 1.05", least_norm_times(1.05)),
    flow_world("B/unbalanced", "frozen at the saddle"),
    flow_world("B/unbalanced", "a times 1 + 1e-6"),
    flow_world("B/unbalanced", "leaky, slope 0.05"),
    World("B/leaky", "slope 0.31 in the prediction", constants(lambda patch: leaky_prediction(patch, 1.03))),
    World(
        "B/leaky",
        "one cluster of least norm",
        patched(robustness, "leaky_least", lambda y, slope: (2 * float(np.hypot(y[0], y[1] / slope)), 0.0)),
    ),
    World("B/leaky", "every flow 1.001 times too large", spoiled(scaled(1.001), everywhere=True)),
    World("B/leaky", "the flow of a ReLU", spoiled(of_problem(plain), everywhere=True)),
)
"""Worlds of B.3, B.6, B.7 and the relaxations of §3.2."""
WORLDS: tuple[World, ...] = (
    *LANDSCAPE,
    *(
        World(
            f"B/{name}",
            change,
            spoiled(FLOWS[change], everywhere=name == "lem1"),
            slow=name == "lem12" or (name == "thm1" and change == "correlated inputs"),
        )
        for change, names in NOTICED.items()
        for name in names.split()
    ),
    *(
        World(
            f"B/{name}",
            change,
            spoiled(FLOWS[change]),
            "still true",
            why,
            slow=name == "lem12" or (name == "thm1" and change == "correlated inputs"),
        )
        for change, (names, why) in TRUE.items()
        for name in names.split()
    ),
    *OTHER,
)
# --- ordinary data: inputs of any lengths, and starts below float range ---------------------------------------------------------

FIGURE_2, GAUSSIAN = 1, 2
"""Keys of `ordinary_problem`: the two points of Figure 2, and Gaussian labels on inputs of any lengths, below float range."""


def without_lengths(name, value):
    """A formula of orthonormal inputs, on others."""
    return constants(lambda patch: patch.setattr(Setting, name, property(value)))


def printed_multipliers(s):
    up, down = (s.n * c.rate for c in sorted(s.clusters, key=lambda c: -c.sign))
    return s.y / np.where(s.y > 0, up, down)


def logistic(patch):
    """Clusters that do not turn while they grow."""
    patch.setattr(growth.Growth, "logistic", property(lambda self: True))


def along_pull(problem):
    """Neurons that end along D_±, as on inputs of one length."""
    s = Setting(problem)
    found = course._predicted(s)
    a, W = found.value.a.copy(), found.value.W.copy()
    for cluster in s.clusters:
        W[cluster.neurons] = np.abs(a[cluster.neurons])[:, None] * cluster.direction
    return dataclasses.replace(found, value=bf.TwoLayerParams(a, W))


def log_power(power):
    return of_problem(lambda p: dataclasses.replace(p, log_scale=power * p.log_scale))


def figure_2(y):
    def make():
        p = ordinary_problem(FIGURE_2)
        return dataclasses.replace(p, data=bf.Dataset(p.data.X, np.array(y)))

    return with_problem(make)


def at_gaussian(function):
    return handed(function, lambda _: ordinary_problem(GAUSSIAN))


ORDINARY = (
    World("B/assumption-2", "Figure 2: labels with ‖D_+‖ = ‖D_−‖", figure_2((-2.0, 1.0)), key=FIGURE_2),
    World(
        "B/assumption-2",
        "Figure 2: labels of equal squares",
        figure_2((-0.3, 0.3)),
        "still true",
        "inputs of other lengths pull differently",
        key=FIGURE_2,
    ),
    World(
        "B/prop1",
        "Figure 2: 2n(‖D_+‖ + ‖D_−‖)",
        without_lengths("least_norm", lambda s: 2 * s.n * (s.first.rate + s.second.rate)),
        key=FIGURE_2,
    ),
    World("B/prop1", "Gaussian labels: λ_k without lengths", without_lengths("multipliers", printed_multipliers), key=GAUSSIAN),
    World("B/kkt", "Gaussian labels: λ_k without lengths", without_lengths("multipliers", printed_multipliers), key=GAUSSIAN),
    World("B/kkt", "Gaussian labels: θ times 1.001", spoiled(scaled(1.001)), key=GAUSSIAN),
    World("B/limit", "Gaussian labels: θ* along D_±", at_gaussian(along_pull), key=GAUSSIAN),
    World("B/limit", "Gaussian labels: a limit grown by 1e-4", at_gaussian(grown(1 + 1e-4)), key=GAUSSIAN),
    World("B/limit", "Gaussian labels: θ times 1 + 1e-7", spoiled(scaled(1 + 1e-7)), key=GAUSSIAN),
    World(
        "B/limit",
        "Gaussian labels: start λ^0.99",
        spoiled(log_power(0.99)),
        "still true",
        "the limit does not depend on λ",
        key=GAUSSIAN,
    ),
    World("B/timeline", "Gaussian labels: clusters that do not turn", constants(logistic), key=GAUSSIAN),
    World("B/timeline", "Gaussian labels: start λ^0.99", spoiled(log_power(0.99)), key=GAUSSIAN),
    World("B/timeline", "Gaussian labels: 1 + 1e-5 times slower", spoiled(slowed(1 + 1e-5)), key=GAUSSIAN),
    World("B/u-plus", "Gaussian labels: clusters that do not turn", constants(logistic), key=GAUSSIAN),
    World("B/u-plus", "Gaussian labels: start λ^0.99", spoiled(log_power(0.99)), key=GAUSSIAN),
    World("B/lem2", "Gaussian labels: start λ^0.9", spoiled(log_power(0.9)), key=GAUSSIAN),
    World("B/lem2", "Gaussian labels: first label times 1.5", spoiled(label_times(1.5)), key=GAUSSIAN),
    World("B/lem6", "Gaussian labels: (11) without s_j", unsigned_law, key=GAUSSIAN),
)
WORLDS = (*WORLDS, *ORDINARY)


FEWER: dict[str, str] = {"B/assumption-3": "a start without neurons in one cone, or in the other: there are two"}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
