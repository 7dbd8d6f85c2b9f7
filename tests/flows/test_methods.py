"""What every flow method promises, ours and a user's own; and the one shape in which flows are
asked for."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf

DATA = bf.data.sparse_regression(n=3, d=6, sparsity=1, noise_var=0.01, key=0)
PLANE = bf.Dataset(np.array([[1.0, 0.2], [0.8, -0.5], [-1.0, 0.4]]), [1.0, -1.0, 0.5])
CLASSES = bf.Dataset(PLANE.X, [1.0, 1.0, -1.0])
HALF = bf.SquareLoss("half")
DIAGONAL = bf.Problem(bf.DiagonalNetwork(2), DATA, HALF, scale=0.3)
RELU = bf.Problem(bf.TwoLayer(5, 2), PLANE, bf.SquareLoss("half-mean"), scale=0.1)
SEPARABLE = bf.Problem(bf.DiagonalNetwork(2), CLASSES, bf.LogisticLoss(), scale=0.5)
CLASSIFIER = bf.Problem(bf.SignedTwoLayer(8, 2), CLASSES, bf.SmoothMargin(), scale=0.5)
MATRIX = bf.Problem(
    bf.MatrixFactorisation((2, 2), 4),
    bf.data.completion((2, 2), rank=1, observed=3, key=0),
    HALF,
    scale=0.5,
)
DEEP = bf.Problem(bf.DeepNetwork((2, 3, 1)), PLANE, HALF, scale=0.5, key=1)


@dataclasses.dataclass(frozen=True)
class Euler(bf.flows.FlowMethod):
    """Explicit Euler on the weights, by so many steps; half the steps tell the error."""

    steps: int = 2000
    name = "euler"

    def refuses(self, problem):
        return None if isinstance(problem.model, bf.DiagonalNetwork) else "Euler is for diagonals"

    def integrate(self, problem, request):
        times = np.linspace(0, request.t1, 11) if request.times is None else request.times
        fine, coarse = (
            self.run(problem, request.t1, each) for each in (self.steps, self.steps // 2)
        )
        states, others = (self.at(run, times, request.t1) for run in (fine, coarse))
        effective = problem.model.effective
        gaps = [np.abs(a - b).max(axis=1) for a, b in zip(states, others, strict=True)]
        return bf.Trajectory(
            times=times,
            states=states,
            loss=problem.loss(problem.model(states, problem.data.X), problem.data.y),
            error=2 * np.max(gaps, axis=0),
            events=(),
            stats={"method": self.name, "steps": self.steps},
            result=bf.Result.REACHED_T1,
            problem=problem,
            interpolant=lambda t: type(states)(
                *(leaf[0] for leaf in self.at(fine, np.array([t]), request.t1))
            ),
            predictor_error=2 * np.abs(effective(states) - effective(others)).max(axis=1),
        )

    @staticmethod
    def run(problem, t1, steps):
        model, data, w = problem.model, problem.data, problem.start
        kept = [w]
        for _ in range(steps):
            slope = problem.loss.gradient(model(w, data.X), data.y)
            gradient = model.gradient(w, data.X, slope)
            w = type(w)(*(x - t1 / steps * g for x, g in zip(w, gradient, strict=True)))
            kept.append(w)
        return type(w)(*(np.array(leaf) for leaf in zip(*kept, strict=True)))

    @staticmethod
    def at(run, times, t1):
        grid = np.linspace(0, t1, len(run[0]))
        return type(run)(
            *(np.column_stack([np.interp(times, grid, row) for row in leaf.T]) for leaf in run)
        )


FITTING = {
    "dual": (bf.flows.Dual(), DIAGONAL),
    "compiled": (bf.flows.Dual(compiled=True), DIAGONAL),
    "events": (bf.flows.Events(), RELU),
    "margin": (bf.flows.Margin(), CLASSIFIER),
    "separable": (bf.flows.Separable(), SEPARABLE),
    "factored": (bf.flows.Factored(), MATRIX),
    "weights": (bf.flows.Weights(), DIAGONAL),
    "general": (bf.flows.RoundedKinks(), DEEP),
    "euler": (Euler(), DIAGONAL),
}


def leaves(state):
    return (
        [leaf for part in state for leaf in leaves(part)] if isinstance(state, tuple) else [state]
    )


def test_every_method_is_here():
    assert {method.name for method in bf.flows.METHODS} == set(FITTING) - {"euler"}


@pytest.mark.parametrize("name", FITTING)
def test_what_a_method_promises(name):
    method, problem = FITTING[name]
    assert method.refuses(problem) is None and method.name == name
    times = np.array([0.0, 0.1, 0.35, 1.0])
    flow = bf.gradient_flow(problem, times=times, method=method)
    assert flow.stats["method"] == name and flow.result is bf.Result.REACHED_T1
    assert flow.problem is problem and np.array_equal(flow.times, times)
    slack = 1e-12 * abs(flow.loss[0])
    assert np.all(np.diff(flow.loss) <= slack)
    assert flow.error.shape == flow.predictor_error.shape == times.shape
    assert np.all(np.isfinite(flow.error)) and np.max(flow.error) < 1e-2
    for k, t in enumerate(times):
        for saved, dense in zip(leaves(flow.states), leaves(flow.at(float(t))), strict=True):
            np.testing.assert_allclose(dense, saved[k], rtol=1e-9, atol=1e-12)
    for first, start in zip(leaves(flow.states), leaves(problem.start), strict=True):
        np.testing.assert_allclose(first[0], start, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", FITTING)
def test_refusals_are_sentences_that_name_the_method(name):
    method = FITTING[name][0]
    other = RELU if name != "events" else DIAGONAL
    reason = method.refuses(other)
    assert isinstance(reason, str) and len(reason.split()) > 3
    with pytest.raises(bf.errors.RefusedError, match=f"method '{name}': "):
        bf.gradient_flow(other, t1=1.0, method=method)


def test_a_flow_that_never_moves_is_saved_once():
    dead = bf.Problem(bf.DeepNetwork((2, 3, 1)), PLANE, HALF, scale=0.5, key=0)
    flow = bf.gradient_flow(dead, times=[0.0, 0.5, 1.0])
    assert flow.result is bf.Result.STATIONARY and np.array_equal(flow.times, [0.0])


def test_a_method_by_name_and_by_object_is_the_same():
    for name in ("dual", "weights"):
        method, problem = FITTING[name]
        flows = [bf.gradient_flow(problem, t1=0.5, method=each) for each in (name, method)]
        assert np.array_equal(flows[0].final.plus, flows[1].final.plus)


def test_options_of_a_method():
    norms = [
        bf.gradient_flow(CLASSIFIER, method=bf.flows.Margin(log_norm=3.0), rtol=1e-3),
        bf.gradient_flow(CLASSIFIER, log_norm=3.0, rtol=1e-3),
    ]
    assert all(flow.result is bf.Result.REACHED_NORM for flow in norms)
    assert np.array_equal(norms[0].states.W, norms[1].states.W)
    # in units of the problem's own the norm to end at is another number
    small = bf.Dataset(2.0**-3 * CLASSES.X, CLASSES.y)
    weak = bf.Problem(CLASSIFIER.model, small, CLASSIFIER.loss, scale=4.0)
    cap = 3.0 + 6 * np.log(2)
    flow = bf.gradient_flow(weak, method=bf.flows.Margin(log_norm=cap), rtol=1e-3)
    assert flow.log_norm[-1] == pytest.approx(cap, abs=1e-9)
    np.testing.assert_array_equal(flow.states.W, 8 * norms[0].states.W)
    with pytest.raises(bf.errors.RefusedError, match="branch: a choice for method 'events'"):
        bf.gradient_flow(DIAGONAL, branch=1)
    with pytest.raises(bf.errors.RefusedError, match="log_norm: a cap for methods 'margin'"):
        bf.gradient_flow(DIAGONAL, log_norm=3.0)
    with pytest.raises(bf.errors.InputError, match="branch"):
        bf.gradient_flow(RELU, t1=0.1, method=bf.flows.Events(branch=-1))


def test_methods_of_ones_own_need_the_interface():
    with pytest.raises(bf.errors.InputError, match="method: expected str or FlowMethod"):
        bf.gradient_flow(DIAGONAL, method=3)
    with pytest.raises(TypeError, match="abstract"):
        bf.flows.FlowMethod()


def test_ones_own_method_is_near_the_others():
    own, exact = (bf.gradient_flow(DIAGONAL, t1=1.0, method=each) for each in (Euler(), "dual"))
    gap = np.abs(own.final.plus - exact.final.plus).max()
    assert 0 < gap <= own.error[-1] + exact.error[-1]


def test_problems_and_their_parts_are_one_call():
    for problem in (DIAGONAL, RELU):
        parts = problem.model, problem.data, problem.loss, problem.start
        one, two = (bf.gradient_flow(*given, t1=0.5) for given in ((problem,), parts))
        assert all(np.array_equal(a, b) for a, b in zip(one.states, two.states, strict=True))
    with pytest.raises(bf.errors.InputError, match="give it alone"):
        bf.gradient_flow(DIAGONAL, DATA)
    mirror = bf.MirrorProblem(bf.potentials.Hypentropy(0.1), DATA.X, DATA.y)
    one = bf.mirror_flow(mirror, t1=1.0)
    two = bf.mirror_flow(mirror.potential, DATA.X, DATA.y, t1=1.0)
    assert np.array_equal(one.states, two.states) and np.array_equal(one.dual, one.stats["nu"])
    with pytest.raises(bf.errors.InputError, match="give it alone"):
        bf.mirror_flow(mirror, DATA.X)


@pytest.mark.parametrize(
    "call, old, new",
    [
        (lambda: bf.gradient_flow(*given(), params0=DIAGONAL.start, t1=0.1), "params0", "start"),
        (
            lambda: bf.gradient_flow(
                DIAGONAL.model, ds=DATA, loss=HALF, start=DIAGONAL.start, t1=0.1
            ),
            "ds",
            "data",
        ),
        (lambda: bf.limit(*given(), params0=DIAGONAL.start), "params0", "start"),
        (
            lambda: bf.mirror_flow(potential=bf.potentials.Euclidean(), X=DATA.X, y=DATA.y, t1=0.1),
            "potential",
            "problem",
        ),
    ],
)
def test_words_of_before_name_the_new(call, old, new):
    with pytest.warns(DeprecationWarning, match=rf"\({old}=…\) is now \w+\({new}=…\)") as caught:
        assert call() is not None
    assert caught[0].filename == __file__


def given():
    return DIAGONAL.model, DATA, HALF


def test_two_words_for_one_thing_are_one_too_many():
    with pytest.raises(TypeError, match="params0 is the old name of start"):
        bf.limit(*given(), start=DIAGONAL.start, params0=DIAGONAL.start)


@pytest.mark.parametrize(
    "model",
    [
        bf.DiagonalNetwork(3),
        bf.ProductNetwork(),
        bf.FixedDirections(np.eye(6)[:4]),
        bf.TwoLayer(3, 6),
        bf.SignedTwoLayer(3, 6),
        bf.DeepNetwork((6, 2, 1)),
        bf.MatrixFactorisation((2, 3), 6),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_draws_its_start(model):
    drawn = bf.Problem(model, DATA, HALF, scale=0.2, key=3)
    by_hand = bf.Problem(model, DATA, HALF, model.init(0.2, dim=6, key=3))
    by_log = bf.Problem(model, DATA, HALF, log_scale=np.log(0.2), key=3)
    for a, b, c in zip(*(leaves(p.start) for p in (drawn, by_hand, by_log)), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-14)
    assert drawn.in_floats
    with pytest.warns(DeprecationWarning, match="is now Problem.start"):
        assert drawn.params0 is drawn.start


def test_starts_that_say_too_much_or_too_little():
    with pytest.raises(bf.errors.InputError, match="start: give parameters, or one of scale"):
        bf.Problem(*given())
    with pytest.raises(bf.errors.InputError, match="scale: for a start that the model draws"):
        bf.Problem(*given(), DIAGONAL.start, scale=0.1)
    with pytest.raises(bf.errors.InputError, match="one of scale and log_scale"):
        bf.Problem(*given(), scale=0.1, log_scale=-2.0)
    moved = dataclasses.replace(DIAGONAL, start=DIAGONAL.model.init(0.7, dim=6))
    with pytest.warns(DeprecationWarning, match=r"Problem\(params0=…\) is now Problem\(start=…\)"):
        formerly = dataclasses.replace(DIAGONAL, params0=moved.start)
    assert np.all(moved.start.plus == 0.7) and np.all(formerly.start.plus == 0.7)


def test_the_start_below_floats_and_its_first_state():
    below = bf.Problem(RELU.model, PLANE, RELU.loss, log_scale=-2000.0, key=1)
    assert not below.in_floats and np.any(below.start.W) and not np.any(below.first_state.W)
    assert RELU.first_state is RELU.start


def test_what_varies_in_time_is_a_field_and_an_entry_of_stats():
    flow = bf.gradient_flow(CLASSIFIER, t1=1.0, rtol=1e-3)
    for field, key in (("margin", "margin"), ("sample_weights", "weights"), ("log_norm",) * 2):
        assert getattr(flow, field) is flow.stats[key] and len(flow.stats[key]) == len(flow.times)
    assert flow.dual is None and "nu" not in flow.stats
    changed = dataclasses.replace(flow, margin=2 * flow.margin)
    assert changed.stats["margin"] is changed.margin
    built = dataclasses.replace(in_the_weights(), stats={"weights": np.ones(3)})
    assert np.array_equal(built.sample_weights, np.ones(3))


def in_the_weights():
    return bf.gradient_flow(DIAGONAL, t1=0.1, method="weights")


def test_origins_of_mirror_problems():
    potential, start = bf.potentials.Hypentropy(0.1), np.full(6, 0.2)
    at_zero = bf.MirrorProblem(potential, DATA.X, DATA.y).origin
    assert not np.any(at_zero.beta) and not np.any(at_zero.eta)
    np.testing.assert_array_equal(
        bf.MirrorProblem(potential, DATA.X, DATA.y, start).origin.beta, start
    )


STARTS_OF = {
    "events": (bf.TwoLayer(6, 3), bf.SquareLoss("half-mean"), None),
    "dual": (bf.DiagonalNetwork(2), bf.SquareLoss("sum"), None),
}


@pytest.mark.parametrize("name", STARTS_OF)
def test_several_starts_are_as_many_flows(name):
    """In their order, and each the same as alone, to the last bit."""
    model, loss, t1 = STARTS_OF[name]
    data = bf.Dataset(*(np.random.default_rng(0).standard_normal(shape) for shape in ((2, 3), 2)))
    init = {"dim": 3} if name == "dual" else {}
    starts = [model.init(0.1 * (k + 1), **init) for k in range(4)]
    flows = bf.gradient_flow(model, data, loss, t1=t1, rtol=1e-6, starts=iter(starts))
    assert isinstance(flows, tuple) and len(flows) == len(starts)
    for flow, start in zip(flows, starts, strict=True):
        alone = bf.gradient_flow(model, data, loss, start, t1=t1, rtol=1e-6)
        assert flow.stats["method"] == name and np.array_equal(flow.times, alone.times)
        pairs = zip(flow.final, alone.final, strict=True)
        assert all(np.array_equal(leaf, other) for leaf, other in pairs)


def test_no_starts_and_no_sequence_of_them():
    model, data = bf.TwoLayer(6, 2), bf.Dataset(np.eye(2), np.ones(2))
    problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), scale=0.1)
    with pytest.raises(bf.errors.InputError, match="starts: expected at least one"):
        bf.gradient_flow(problem, starts=[])
    with pytest.raises(bf.errors.InputError, match="starts: expected at least one"):
        bf.gradient_flow(model, data, problem.loss, starts=[])
    with pytest.raises(bf.errors.InputError, match="starts"):
        bf.gradient_flow(problem, starts=3)
