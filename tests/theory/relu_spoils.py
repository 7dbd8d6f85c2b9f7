"""Changes that worlds for the claims of theory/relu are made of.

Flows are spoiled where claims get them: the witness. Witnesses of unchanged problems are kept, so
that a world costs what its change costs.
"""

import dataclasses

import numpy as np
from worlds import World

import biasflow as bf
from biasflow.flows import saddle_limit
from biasflow.theory import evidence as evidence_module, verification as verifying
from biasflow.theory.relu import (
    early_equations,
    ending,
    flow_convergence as convergence,
    lazy,
    minimal,
    nearly,
    relaxations,
    relu_assumptions as assumptions,
    remarks,
    robustness,
    scale,
)
from biasflow.theory.relu.relu_examples import orthonormal_problem
from biasflow.theory.relu.relu_setting import Setting
from biasflow.theory.witness import witness_flow

KEPT = {}


def kept_flow(problem, t1=None, times=None, *, time_s=60.0, rtol=1e-10):
    """The witness, computed once for each problem."""
    arrays = (
        problem.data.X,
        problem.data.y,
        problem.start.a,
        problem.start.W,
        np.asarray(problem.log_scale),
    )
    name = (t1, problem.model, problem.loss, *(array.tobytes() for array in arrays))
    if name not in KEPT:
        KEPT[name] = witness_flow(problem, t1, times, time_s=60.0)
    return KEPT[name]


def spoiled(change, everywhere=False):
    """All witnesses of the main flow changed; those of other flows a claim asks for only if
    `everywhere`."""

    def spoil(patch):
        patch.setattr(
            evidence_module,
            "witness_flow",
            lambda problem, *a, **k: change(problem, kept_flow(problem, *a, **k)),
        )
        other = (
            (lambda problem, *a, **k: change(problem, kept_flow(problem, *a, **k)))
            if everywhere
            else kept_flow
        )
        for module in (
            assumptions,
            convergence,
            early_equations,
            ending,
            lazy,
            nearly,
            relaxations,
            remarks,
            robustness,
            scale,
        ):
            patch.setattr(module, "witness_flow", other)

    return spoil


def states(function):
    """A flow with function(problem, state, end) in place of every state."""

    def change(problem, flow):
        new = function(problem, flow.states, flow.final)
        loss = problem.loss(problem.model(new, problem.data.X), problem.data.y)
        at = flow.interpolant
        return dataclasses.replace(
            flow, states=new, loss=loss, interpolant=lambda t: function(problem, at(t), flow.final)
        )

    return change


def scaled(factor):
    return states(
        lambda problem, state, end: bf.models.TwoLayerParams(state.a * factor, state.W * factor)
    )


def drifted(excess):
    return states(
        lambda problem, state, end: bf.models.TwoLayerParams(state.a * (1 + excess), state.W)
    )


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
        return bf.models.TwoLayerParams(a, W)

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
        return bf.models.TwoLayerParams(state.a, W)

    return states(function)


def _equal(problem, state, end):
    a, W = state.a.copy(), state.W.copy()
    for cluster in Setting(problem).clusters:
        J = cluster.neurons
        length = np.linalg.norm(W[..., J, :], axis=-1)
        share = np.sqrt(np.mean(length**2, axis=-1, keepdims=True))
        W[..., J, :] *= (share / np.maximum(length, 1e-300))[..., None]
        a[..., J] = np.sign(problem.start.a[J]) * share
    return bf.models.TwoLayerParams(a, W)


def _frozen(problem, state, end):
    a, W, J = state.a.copy(), state.W.copy(), Setting(problem).second.neurons
    factor = np.minimum(1, 1e-3 / np.maximum(np.linalg.norm(W[..., J, :], axis=-1), 1e-300))
    W[..., J, :] *= factor[..., None]
    a[..., J] *= factor
    return bf.models.TwoLayerParams(a, W)


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
        return dataclasses.replace(
            problem, model=bf.TwoLayer(problem.model.width, problem.model.dim, "leaky_relu", slope)
        )

    return of_problem(other)


def label_times(factor):
    return of_problem(
        lambda p: dataclasses.replace(
            p, data=bf.Dataset(p.data.X, p.data.y * np.append(factor, np.ones(p.data.n - 1)))
        )
    )


def start_power(power):
    def other(problem):
        top = np.max(np.abs(problem.start.W))
        return dataclasses.replace(
            problem,
            start=bf.models.TwoLayerParams(*(leaf / top * top**power for leaf in problem.start)),
        )

    return of_problem(other)


def correlated(problem):
    X = problem.data.X + 0.3 * problem.data.X[::-1]
    return dataclasses.replace(
        problem, data=bf.Dataset(X / np.linalg.norm(X, axis=1, keepdims=True), problem.data.y)
    )


def slowed(factor):
    def change(problem, flow):
        at = flow.interpolant
        return dataclasses.replace(
            flow, times=flow.times * factor, interpolant=lambda t: at(t / factor)
        )

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


LOOSE = "within the printed powers of λ, whose slack the verdict reports as sharpness"


SILENT = "the claim says nothing about this"


def constants(change):
    """A constant changed, on kept witnesses."""

    def spoil(patch):
        spoiled(lambda problem, flow: flow)(patch)
        return change(patch)

    return spoil


EPSILON = Setting.__dict__["epsilon"].func


POWER = Setting.power


def epsilon_times(factor):
    return constants(
        lambda patch: patch.setattr(
            Setting, "epsilon", property(lambda self: factor * EPSILON(self))
        )
    )


def power_of(share, factor):
    """The printed share of ε times a factor."""

    def change(patch):
        patch.setattr(
            Setting,
            "power",
            lambda self, other: POWER(self, other * (factor if abs(other - share) < 1e-9 else 1)),
        )

    return constants(change)


def least_norm_times(factor):
    value = Setting.least_norm.fget
    return constants(
        lambda patch: patch.setattr(
            Setting, "least_norm", property(lambda self: factor * value(self))
        )
    )


def slowest_times(factor):
    value = Setting.slowest.fget
    return constants(
        lambda patch: patch.setattr(Setting, "slowest", property(lambda self: factor * value(self)))
    )


def handed(function, make=orthonormal_problem):
    """A limit of the user's own."""

    def change(patch):
        problem = make(0)
        return {"limit": function(problem)}

    return constants(change)


def grown(factor):
    def function(problem):
        found = saddle_limit(problem.data, Setting(problem).unit)
        return dataclasses.replace(
            found, value=bf.models.TwoLayerParams(factor * found.value.a, factor * found.value.W)
        )

    return function


def turned_off(problem):
    found = saddle_limit(problem.data, Setting(problem).unit)
    return dataclasses.replace(found, value=bf.models.TwoLayerParams(found.value.a, -found.value.W))


def without(name, hypothesis, spoil):
    """A claim that does not ask for one of its hypotheses, where that fails."""

    def change(patch):
        kept = tuple(h for h in verifying.claim(name).hypotheses if h.id != hypothesis)
        assert len(kept) < len(verifying.claim(name).hypotheses)
        bold = dataclasses.replace(verifying.claim(name), hypotheses=kept)
        patch.setattr(
            verifying, "CLAIMS", tuple(bold if c.id == name else c for c in verifying.CLAIMS)
        )
        return spoil(patch)

    return constants(change)


def patched(module, name, value):
    return constants(lambda patch: patch.setattr(module, name, value))


def with_problem(make):
    return lambda patch: {"problem": make()}


def unsigned_law(patch):
    """Equation (11) as printed, without s_j."""
    found = assumptions._equation_11

    def printed(evidence, p, flow):
        return found(
            evidence, p, dataclasses.replace(flow, interpolant=lambda t: _unsigned(flow.at(t)))
        )

    spoiled(lambda problem, flow: flow)(patch)
    patch.setattr(assumptions, "_equation_11", printed)


def _unsigned(state):
    return bf.models.TwoLayerParams(np.abs(state.a), state.W)


def least_norm_flow(problem, flow):
    """Every flow ends at the two neurons of least norm."""
    s = Setting(problem)
    two = minimal.two_neurons(s)
    m = len(problem.start.a)
    a, W = np.zeros(m), np.zeros((m, problem.data.d))
    a[:2], W[:2] = two.a, two.W
    T = len(flow.times)
    return dataclasses.replace(
        flow, states=bf.models.TwoLayerParams(np.tile(a, (T, 1)), np.tile(W, (T, 1, 1)))
    )


def flow_world(name, change, everywhere=False, slow=False):
    return World(name, change, spoiled(FLOWS[change], everywhere), slow=slow)
