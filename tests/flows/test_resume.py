"""Flows that go on from where they stopped are the flows that were never stopped, within their
stated errors."""

import dataclasses
from contextlib import contextmanager, nullcontext

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaves
from biasflow._numerics import interrupts
from biasflow._numerics.deadlines import Deadline
from biasflow._numerics.interrupts import stop_flag
from biasflow.flows.mirror import compiled_flow
from biasflow.flows.relu import event_runs

HALF = bf.SquareLoss("half")
rng = np.random.default_rng(0)
X, LABELS = np.c_[rng.standard_normal((5, 2)), np.ones(5)], rng.standard_normal(5)
WIDE = bf.Dataset(7e3 * rng.standard_normal((3, 8)), 1e-2 * rng.standard_normal(3))
"""In units of its own."""
ENTRIES = bf.data.from_entries((3, 3), [0, 0, 1, 2], [0, 1, 0, 2], [2.0, 1.0, 1.0, 0.5])
CLASSES = bf.Dataset(X, np.sign(X[:, 0]))
PAIRS, DEEP = bf.MatrixFactorisation((3, 3), rank=6), bf.DeepNetwork((3, 4, 3))
DIAGONAL, RELU = bf.DiagonalNetwork(2), bf.TwoLayer(6, 3)


def flow_of(model, data, loss, start, **options):
    return lambda **ends: bf.gradient_flow(model, data, loss, start, throw=False, **options, **ends)


FLOWS = {
    "weights": (
        flow_of(DIAGONAL, WIDE, HALF, DIAGONAL.init(1e-5, dim=8), method="weights"),
        [1e-5, 0.03, 0.06],
    ),
    "factored": (flow_of(PAIRS, ENTRIES, HALF, PAIRS.init(1e-2, key=0)), [0.01, 3.0, 10.0]),
    "dual": (flow_of(DIAGONAL, WIDE, HALF, DIAGONAL.init(1e-100, dim=8)), [1e-2, 1.8, 2.3]),
    "compiled": (
        flow_of(DIAGONAL, WIDE, HALF, DIAGONAL.init(1e-100, dim=8), method="compiled"),
        [1e-2, 1.8, 2.3],
    ),
    "mirror flow": (
        lambda **ends: bf.mirror_flow(bf.potentials.Entropy(), WIDE.X, WIDE.y, throw=False, **ends),
        [1e-12, 4e-8, 1e-7],
    ),
    "separable": (
        flow_of(
            DIAGONAL, CLASSES, bf.ExponentialLoss(), DIAGONAL.init(1e-3, dim=3), method="separable"
        ),
        [0.01, 5.0, 30.0],
    ),
    "smooth margin, separable": (
        flow_of(
            DIAGONAL, CLASSES, bf.SmoothMargin(), DIAGONAL.init(1e-3, dim=3), method="separable"
        ),
        [0.01, 1.0, 4.0],
    ),
    "margin": (
        flow_of(RELU, CLASSES, bf.SmoothMargin(), RELU.init(0.5, key=1), method="margin"),
        [0.01, 3.0, 12.0],
    ),
    "margin of the risk": (
        flow_of(RELU, CLASSES, bf.LogisticLoss(), RELU.init(0.5, key=1), method="margin"),
        [0.01, 10.0, 100.0],
    ),
    "events": (
        flow_of(RELU, bf.Dataset(X, LABELS), HALF, RELU.init(0.1, key=0)),
        [0.01, 5.0, 40.0],
    ),
    "events, from below floats": (
        flow_of(RELU, bf.Dataset(X, LABELS), HALF, RELU.init(1.0, key=0), log_scale=-1000.0),
        [50.0, 209.0, 230.0],
    ),
    "general": (
        flow_of(DEEP, bf.Dataset(X, LABELS), HALF, DEEP.init(0.5, key=0)),
        [0.01, 0.5, 1.0],
    ),
}
"""Of every method a flow, and times: an early one, one in the middle, and the end."""

COMPILED = ("compiled", "events", "events, from below floats")
"""Those whose steps do not look at the clock one by one."""


def states_at(flow, t):
    return np.concatenate([np.ravel(leaf) for leaf in leaves(flow.at(t))])


def same(flow, whole):
    """Whether two flows agree to their stated errors, which are of one size, wherever one looks."""
    assert flow.result is whole.result
    assert flow.times[-1] == pytest.approx(whole.times[-1], rel=1e-9)
    assert np.all(np.isfinite(flow.error))
    far = flow.error.max() + whole.error.max()
    end, looks = min(flow.times[-1], whole.times[-1]), np.empty(0)
    if flow.stats["method"] != "margin":  # which knows less between two steps
        looks = np.linspace(0, end, 7)
    for t in np.append(looks, end):
        assert np.max(np.abs(states_at(flow, t) - states_at(whole, t))) <= far
    for one, other in zip(flow.events, whole.events, strict=True):
        assert one[1:] == other[1:] and one.time == pytest.approx(other.time, rel=1e-6)
    assert flow.error.max() <= 10 * whole.error.max() and whole.error.max() <= 10 * flow.error.max()


@pytest.mark.parametrize("name", FLOWS)
def test_a_flow_that_is_cut_is_the_whole_one(name):
    call, (early, middle, end) = FLOWS[name]
    whole = call(t1=end)
    for cuts in ([early], [middle], [early, middle]):
        flow = call(t1=cuts[0])
        for t1 in (*cuts[1:], end):
            flow = flow.resume(time_s=60, t1=t1)
            assert flow.times[-1] == pytest.approx(t1) and flow.stats.keys() == whole.stats.keys()
        same(flow, whole)


class Counted(Deadline):
    """A deadline that is over after so many looks: of the run, and of both."""

    def __init__(self, first, both):
        super().__init__()
        self.looks = {"first": first, "both": both}

    def over_after(self, which):
        self.looks[which] -= 1
        return self.looks[which] < 0

    def first(self):
        return self.over_after("first")

    def both(self):
        return self.over_after("both")

    def flag(self, over):
        return nullcontext(np.array([over()], np.intp))


STOPPED = {
    "before the error run began": Counted(10, 0),
    "before the error run was done": Counted(10, 4),
    "at the start": Counted(0, 0),
    "before the error run of a whole flow was done": Counted(10**6, 4),
}


@pytest.mark.parametrize("stop", STOPPED)
@pytest.mark.parametrize("name", [name for name in FLOWS if name not in COMPILED])
def test_a_flow_that_gave_up_is_the_whole_one_once_it_is_resumed(name, stop):
    call, (_, _, end) = FLOWS[name]
    whole, looks = call(t1=end), STOPPED[stop].looks.values()
    flow = call(t1=end, time_s=Counted(*looks))
    assert flow.result in (bf.Result.TIME_LIMIT, bf.Result.UNCHECKED)
    again = flow.resume(time_s=Counted(*looks), throw=False)
    assert again.times[-1] > flow.times[-1] or flow.result is bf.Result.UNCHECKED or not any(looks)
    same(again.resume(time_s=60), whole)
    assert not flow.result.success  # it stays as it was


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_flow_goes_on_from_a_step(name, known, monkeypatch):
    """After its last step allowed, with the error known up to there or not; that of the dual flow
    always is, and it ends at its start instead."""
    call, (_, _, end) = FLOWS[name]
    whole = call(t1=end)
    with monkeypatch.context() as few:
        few.setattr(event_runs, "MAX_STEPS", 40)
        few.setattr(compiled_flow, "DUAL", dataclasses.replace(compiled_flow.DUAL, most_steps=40))
        flow = call(t1=end, time_s=None if known else Counted(10**6, 0))
        assert flow.result in (bf.Result.STEP_LIMIT, bf.Result.TIME_LIMIT) and flow.times[-1] < end
        assert np.all(np.isfinite(flow.error[1:])) == (known or name == "compiled")
        again = flow.resume(time_s=60, throw=False)
        assert again.result is bf.Result.STEP_LIMIT and again.times[-1] > flow.times[-1]
        assert np.all(np.isfinite(again.error)) or not known
    same(again.resume(time_s=60), whole)


class Interrupted(Deadline):
    """Ctrl-C after some looks, or at the end of compiled code."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def first(self):
        self.looks -= 1
        if self.looks < 0:
            stop_flag()[0] = 1
        return super().first()

    @contextmanager
    def flag(self, over):
        yield stop_flag()
        stop_flag()[0] = 1


@pytest.mark.parametrize("name", FLOWS)
def test_what_ctrl_c_leaves_goes_on(name, monkeypatch):
    """Though few of its states are saved."""
    call, (_, _, end) = FLOWS[name]
    whole = call(t1=end)
    with monkeypatch.context() as few:
        few.setattr(interrupts, "SAVED", 3)
        few.setattr(event_runs, "MAX_STEPS", 40)
        few.setattr(compiled_flow, "DUAL", dataclasses.replace(compiled_flow.DUAL, most_steps=40))
        flow = call(t1=end, time_s=Interrupted(8))
        assert not flow.result.success and 1 < flow.times.size <= 4
    same(flow.resume(time_s=60), whole)


def test_what_a_flow_that_gave_up_says_can_be_done():
    call, (_, _, end) = FLOWS["factored"]
    problem = call(t1=end).problem
    with pytest.raises(bf.errors.ConvergenceError, match="time limit") as stopped:
        bf.gradient_flow(problem, t1=end, time_s=Counted(10, 4))
    assert str(stopped.value).count("`error.partial.resume(time_s=300)` continues it") == 1
    with pytest.raises(bf.errors.ConvergenceError, match="gave up") as again:
        stopped.value.partial.resume(time_s=Counted(10, 4))
    flow = again.value.partial.resume(time_s=60)
    assert flow.result is bf.Result.REACHED_T1 and flow.times[-1] == end


def test_saved_times_are_those_asked_for_and_the_new_end():
    call, (_, middle, end) = FLOWS["factored"]
    wanted = np.linspace(0, end, 9)
    flow = call(times=wanted, time_s=Counted(10, 4))
    assert flow.times[-1] not in wanted
    np.testing.assert_array_equal(flow.resume(time_s=60).times, wanted)
    np.testing.assert_array_equal(flow.resume(time_s=60, t1=2 * end).times, [*wanted, 2 * end])
    assert call(t1=middle).resume(t1=end).times[-1] == end


def test_what_cannot_be_resumed_says_so():
    call, (early, middle, _) = FLOWS["factored"]
    with pytest.raises(bf.errors.RefusedError, match="resume: the flow ended at t = "):
        call().resume(time_s=1)
    for t1 in (None, early, middle):
        with pytest.raises(bf.errors.InputError, match="t1: the flow goes to t = 3 already"):
            call(t1=middle).resume(time_s=1, t1=t1)
    flow = call(t1=middle, time_s=Counted(10, 4))
    with pytest.raises(bf.errors.InputError, match="t1: the flow goes to t = 3 already"):
        flow.resume(time_s=1, t1=early)

    class Own(bf.flows.FlowMethod):
        name = "own"

        def refuses(self, problem):
            return None

        def integrate(self, problem, request):
            found = bf.flows.Factored().integrate(problem, request)
            return dataclasses.replace(found, stats={"method": self.name}, continuation=None)

    flow = bf.gradient_flow(flow.problem, t1=middle, method=Own())
    with pytest.raises(bf.errors.RefusedError, match="method 'own' that ended so cannot go on"):
        flow.resume(time_s=1, t1=2 * middle)


@pytest.mark.parametrize("name", ["dual", "factored", "events"])
def test_flows_sent_from_another_process_go_on(name):
    cloudpickle = pytest.importorskip("cloudpickle")
    call, (early, middle, _) = FLOWS[name]
    sent = cloudpickle.loads(cloudpickle.dumps(call(t1=early)))
    same(sent.resume(time_s=60, t1=middle), call(t1=middle))


@pytest.mark.parametrize("way, share", [(0, 0.5), (0, 1.2), (1, 1.2)])
def test_branches_met_before_and_after_the_cut_are_told_together(way, share):
    data = bf.Dataset([[1.0, 0.0], [-0.6, 0.8]], [-2.0, -1.0])
    start = bf.models.TwoLayerParams(np.array([0.3]), np.array([[0.0, 1.0]]))
    call = flow_of(bf.TwoLayer(1, 2), data, bf.SquareLoss("half-mean"), start, branch=way)
    whole = call(t1=3.0)
    (branch,) = whole.stats["branches"]
    flow = call(t1=share * branch.time).resume(time_s=60, t1=3.0)
    (told,) = flow.stats["branches"]
    assert told[1:] == branch[1:] and told.time == pytest.approx(branch.time, rel=1e-6)
    same(flow, whole)
