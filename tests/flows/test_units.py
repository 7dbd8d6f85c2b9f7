"""Flows follow their scaling laws to the last bit, from 1e-300 to 1e300, or refuse; and no success
is one that is none."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map, leaves
from biasflow.flows.endings import in_range, judged
from biasflow.flows.units import Units

HALF = bf.SquareLoss("half")
RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((4, 6)), RNG.standard_normal(4)
CLASSES = np.sign(Y)


def _models():
    """A start for each model, with the method that follows it and the degree of its predictor in
    the weights."""
    directions = RNG.standard_normal((9, 6))
    fixed = bf.FixedDirections(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    deep, linear = bf.DeepNetwork((6, 3)), bf.DeepNetwork((6, 2, 2), activation="linear")
    signed, relu, matrices = (
        bf.SignedTwoLayer(4, 6),
        bf.TwoLayer(5, 6),
        bf.MatrixFactorisation((2, 3), 6),
    )
    return {
        "diagonal": (bf.DiagonalNetwork(2), bf.DiagonalNetwork(2).init(0.1, dim=6), "dual", 2, {}),
        "diagonal 3": (
            bf.DiagonalNetwork(3),
            bf.DiagonalNetwork(3).init(0.3, dim=6),
            "dual",
            3,
            {},
        ),
        "weights": (
            bf.DiagonalNetwork(2),
            bf.DiagonalNetwork(2).init(0.3, dim=6),
            "weights",
            2,
            {"t1": 2.0},
        ),
        "product": (bf.ProductNetwork(), bf.ProductNetwork().init(0.1, dim=6), "dual", 2, {}),
        "fixed": (fixed, fixed.init(0.4), "dual", 2, {}),
        "relu": (relu, relu.init(0.1), "events", 2, {"times": [0.0, 0.5, 1.0, 3.0]}),
        "signed": (signed, signed.init(0.3), "weights", 2, {"t1": 0.5}),
        "matrices": (matrices, matrices.init(0.1), "factored", 2, {}),
        "deep": (deep, deep.init(1.0), "general", 1, {"t1": 0.5, "rtol": 1e-5}),
        "linear": (linear, linear.init(1.0), "weights", 1, {"t1": 0.5}),
    }


MODELS = _models()


def _follow(name, x, y, k, inputs, labels):
    """The flow with weights 2^k, inputs 2^inputs and labels 2^labels, times scaled along; None
    where it is refused in words."""
    model, start, method, _, ends = MODELS[name]
    time = 2 * k - 2 * labels
    with np.errstate(all="ignore"):
        scaled = {
            key: np.ldexp(value, time) if key != "rtol" else value for key, value in ends.items()
        }
        data = np.ldexp(x, inputs), np.ldexp(y, labels)
        begin = leaf_map(lambda leaf: np.ldexp(leaf, k), start)
    pairs = zip(
        (*data, *leaves(begin)), (x, y, *leaves(start)), (inputs, labels, k, k), strict=False
    )
    if not all(np.array_equal(np.ldexp(a, -power), b) for a, b, power in pairs):
        return None  # the numbers themselves do not fit in floats
    try:
        return bf.gradient_flow(model, bf.Dataset(*data), HALF, begin, method=method, **scaled)
    except bf.errors.InputError as refusal:
        assert (
            "float range" in str(refusal)
            or "overflow" in str(refusal)
            or "fit in floats" in str(refusal)
            or "t1" in str(refusal)
        )
        return None


def _assert_same(flow, base, states, labels, time, predictor):
    assert flow.result is base.result
    assert np.array_equal(flow.times, np.ldexp(base.times, time))
    for one, other in zip(leaves(flow.states), leaves(base.states), strict=True):
        assert np.array_equal(one, np.ldexp(other, states))
    with np.errstate(under="ignore"):
        assert np.array_equal(flow.loss, np.ldexp(base.loss, 2 * labels))
        assert np.array_equal(flow.error, np.ldexp(base.error, states))
        assert np.array_equal(flow.predictor_error, np.ldexp(base.predictor_error, predictor))
    middle = base.times[-1] / 3
    for one, other in zip(
        leaves(flow.at(np.ldexp(middle, time))), leaves(base.at(middle)), strict=True
    ):
        assert np.array_equal(one, np.ldexp(other, states))


@pytest.mark.parametrize("name", MODELS)
def test_laws_hold_to_the_last_bit(name):
    """Weights 2^k, inputs 2^j, labels 2^{Dk+pj}: the same flow in the time 2^{2k−2(Dk+pj)}."""
    model, _, _, degree, _ = MODELS[name]
    base = _follow(name, X, Y, 0, 0, 0)
    D, p = model.homogeneity, model.degree
    for k, j in ((1, 0), (0, -3), (-5, 4)):
        flow = _follow(name, X, Y, k, j, D * k + p * j)
        assert flow is not None
        _assert_same(flow, base, k, D * k + p * j, 2 * k - 2 * (D * k + p * j), degree * k)


@pytest.mark.parametrize("name", ["diagonal", "diagonal 3", "relu", "matrices"])
def test_laws_hold_over_the_whole_range_of_floats(name):
    """Sizes from 1e-300 to 1e300: the law, or a refusal in words; in the half of the range where
    losses have squares, the law."""
    model, _, _, degree, _ = MODELS[name]
    base, D, held = _follow(name, X, Y, 0, 0, 0), model.homogeneity, 0
    for j in (-997, -300, 0, 300, 990):
        for size in (-997, -498, 0, 400, 997):
            k = (size - j) // D
            labels = D * k + j
            flow = _follow(name, X, Y, k, j, labels)
            if flow is not None:
                _assert_same(flow, base, k, labels, 2 * k - 2 * labels, degree * k)
                held += 1
    assert held >= 8


@pytest.mark.parametrize("loss", [bf.SmoothMargin(), bf.LogisticLoss()])
@pytest.mark.parametrize(("model", "p"), [(bf.TwoLayer(5, 6), 1), (bf.SignedTwoLayer(4, 6), 2)])
def test_margin_flows_in_units_of_their_inputs(model, p, loss):
    """Inputs 2^j, weights 2^{−pj/2}: the same predictions, in the time 2^{−pj}."""
    start = model.init(0.5)
    base = bf.gradient_flow(model, bf.Dataset(X, CLASSES), loss, start, t1=2.0)
    for j in (-900, -2, 6, 400):
        k = -p * j // 2
        if abs(2 * k) > 1000:
            continue
        flow = bf.gradient_flow(
            model,
            bf.Dataset(np.ldexp(X, j), CLASSES),
            loss,
            leaf_map(lambda w, k=k: np.ldexp(w, k), start),
            t1=np.ldexp(2.0, 2 * k),
        )
        _assert_same(flow, base, k, 0, 2 * k, 2 * k)
        assert np.array_equal(flow.stats["margin"], np.ldexp(base.stats["margin"], -2 * k))
        assert flow.stats["log_norm"] == pytest.approx(
            base.stats["log_norm"] + 2 * k * np.log(2), rel=1e-12
        )


@pytest.mark.parametrize("potential", ["hypentropy", "euclidean", "entropy"])
@pytest.mark.parametrize(("b", "j"), [(0, 4), (7, 0), (-600, 100), (200, -300), (-400, -80)])
def test_mirror_flows_follow_their_law(potential, b, j):
    """β 2^b and inputs 2^j: the time is that of the metric, 2^s, over 2^{2(b+j)}."""
    start = np.full(6, 0.3)
    make = {
        "hypentropy": lambda e: (bf.potentials.Hypentropy(np.ldexp(0.1, e)), None, e),
        "euclidean": lambda e: (bf.potentials.Euclidean(), None, 2 * e),
        "entropy": lambda e: (bf.potentials.Entropy(), np.ldexp(start, e), e),
    }[potential]
    y = X @ np.linspace(0.1, 1.0, 6)
    plain, scaled = make(0), make(b)
    base = bf.mirror_flow(plain[0], X, y, plain[1])
    flow = bf.mirror_flow(scaled[0], np.ldexp(X, j), np.ldexp(y, b + j), scaled[1])
    time = scaled[2] - 2 * (b + j)
    _assert_same(flow, base, b, b + j, time, b)
    assert np.array_equal(flow.stats["nu"], np.ldexp(base.stats["nu"], scaled[2] - (b + j)))


@pytest.mark.parametrize(("j", "e"), [(-3, 5), (-400, -300), (200, 100), (0, -996), (-996, 0)])
def test_saddle_paths_follow_their_law(j, e):
    base, path = bf.saddle_path(X, Y), bf.saddle_path(np.ldexp(X, j), np.ldexp(Y, e))
    assert np.array_equal(path.states, np.ldexp(base.states, e - j)) and np.array_equal(
        path.times, np.ldexp(base.times, -e - j)
    )
    assert [event[1:] for event in path.events] == [event[1:] for event in base.events]
    assert np.array_equal(
        [event[0] for event in path.events], np.ldexp([event[0] for event in base.events], -e - j)
    )


def test_a_saddle_path_beyond_floats_is_refused_not_aborted():
    """At 1e-160 SciPy's nnls was called without a column, which ends the interpreter: hence in a
    process of its own."""
    script = (
        "import numpy as np, biasflow as bf\n"
        "rng = np.random.default_rng(3)\n"
        "X, y = rng.standard_normal((4, 7)), rng.standard_normal(4)\n"
        "try:\n    bf.saddle_path(1e-160 * X, 1e-160 * y)\nexcept bf.errors.InputError as e:\n    "
        "print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "beyond float range" in done.stdout


def test_large_labels_are_fitted():
    """β was clipped at 1e12 absolute: the loss grew from 5e25 to 9e54, and that was a success."""
    model = bf.DiagonalNetwork(2)
    flow = bf.gradient_flow(model, bf.Dataset([[1.0, 2.0]], [1e13]), HALF, model.init(0.1, dim=2))
    assert flow.result is bf.Result.CONVERGED and flow.loss[-1] <= 1e-20 * flow.loss[0]
    exact = bf.limit(model, bf.Dataset([[1.0, 2.0]], [1e13]), scale=0.1).value
    assert model.effective(flow.final) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("c", [1e15, 1e30, 1e150, 1e-150, 1e-300])
def test_mirror_flows_at_any_label_size(c):
    base, flow = (
        bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, Y),
        bf.mirror_flow(bf.potentials.Hypentropy(0.1 * c), X, c * Y),
    )
    assert flow.result is bf.Result.CONVERGED
    assert flow.final / c == pytest.approx(base.final, rel=1e-8)


@pytest.mark.parametrize("c", [1e160, 1e300])
@pytest.mark.parametrize("name", ["diagonal", "relu", "matrices"])
def test_losses_that_overflow_are_refused(name, c):
    model, start, method, _, ends = MODELS[name]
    with pytest.raises(bf.errors.ScaleError, match="a loss that overflows"):
        bf.gradient_flow(model, bf.Dataset(X, c * Y), HALF, start, method=method, **ends)
    with pytest.raises(bf.errors.ScaleError, match="a loss that overflows"):
        bf.mirror_flow(bf.potentials.Hypentropy(0.1 * c), X, c * Y)
    with pytest.raises(bf.errors.ScaleError, match="a loss that overflows"):
        bf.saddle_path(X, c * Y)


def test_weights_that_overflow_are_refused():
    model = bf.DiagonalNetwork(2)
    with pytest.raises(
        bf.errors.ScaleError, match=r"weights up to 1e\+200 make a loss that overflows"
    ):
        bf.gradient_flow(model, bf.Dataset(X, Y), HALF, model.init(1e200, dim=6))


def test_tiny_labels_are_not_converged_at_the_start():
    """The squares of labels of 1e-170 are zero in floats, and the flow was called converged at t =
    0."""
    model = bf.TwoLayer(5, 6)
    flow = bf.gradient_flow(model, bf.Dataset(X, 1e-170 * Y), HALF, model.init(1e-86))
    assert flow.result is bf.Result.CONVERGED and flow.times[-1] > 0
    assert model(flow.final, X) == pytest.approx(1e-170 * Y, rel=1e-9)


def test_starts_below_floats_keep_their_logarithm():
    """Labels of 1e100 put weights of 1e-290 below float range in the flow's own units: their
    logarithm takes over."""
    model, y = bf.TwoLayer(3, 6), 1e100 * Y
    flow = bf.gradient_flow(model, bf.Dataset(X, y), HALF, model.init(1e-290), times=[0.0, 1e-98])
    log_norms = np.log(np.abs(flow.problem.start.a)) + np.log(2) / 2  # balanced: ‖w_j‖ = |a_j|
    assert flow.polar(0.0)[1] == pytest.approx(log_norms, rel=1e-12)
    model = bf.DiagonalNetwork(2)
    with pytest.raises(bf.errors.ScaleError, match="do not fit in floats beside inputs"):
        bf.gradient_flow(model, bf.Dataset(X, y), HALF, model.init(1e-290, dim=6))


def test_final_times_beyond_the_flows_units_are_refused():
    model = bf.DiagonalNetwork(2)
    with pytest.raises(
        bf.errors.InputError,
        match=r"t1: 1e\+300 is beyond float range in the flow's own unit of time",
    ):
        bf.gradient_flow(model, bf.Dataset(X, 1e50 * Y), HALF, model.init(0.1, dim=6), t1=1e300)


@pytest.mark.parametrize("spoil", ["states", "loss", "error", "growth"])
def test_no_success_that_is_none(spoil):
    model = bf.DiagonalNetwork(2)
    flow = bf.gradient_flow(model, bf.Dataset(X, Y), HALF, model.init(0.1, dim=6))
    assert in_range(judged(flow)) is flow
    broken = {
        "states": {
            "states": leaf_map(lambda leaf: np.where(leaf == leaf[-1], np.nan, leaf), flow.states)
        },
        "loss": {"loss": np.append(flow.loss[:-1], np.inf)},
        "error": {"error": np.append(flow.error[:-1], np.nan)},
        "growth": {
            "states": leaf_map(lambda leaf: 3 * leaf, flow.states),
            "loss": np.append(flow.loss[:-1], 100.0),
        },
    }[spoil]
    result = in_range(judged(dataclasses.replace(flow, **broken))).result
    assert (
        result is (bf.Result.UNCHECKED if spoil == "error" else bf.Result.DIVERGED)
        and not result.success
    )


def test_a_start_that_fits_may_tremble_at_rounding():
    """The loss there is rounding, and grows by more rounding: no divergence."""
    model, beta = bf.DiagonalNetwork(2), np.linspace(0.1, 1.0, 6)
    start = type(model.init(1.0, dim=6))(np.sqrt(beta + 0.01), np.full(6, 0.1))
    flow = bf.gradient_flow(
        model, bf.Dataset(X, X @ model.effective(start) * (1 + 1e-15)), HALF, start, t1=1.0
    )
    assert flow.result.success


def test_units_of_a_problem_without_laws_are_one():
    model = bf.DeepNetwork((6, 3), bias=True)
    flow = bf.gradient_flow(model, bf.Dataset(X, Y), HALF, model.init(1.0), t1=0.1, rtol=1e-4)
    assert flow.result is bf.Result.REACHED_T1
    from biasflow.flows.units import own_units

    assert own_units(flow.problem) == Units()
