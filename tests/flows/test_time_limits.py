"""Flows that would take minutes, or for ever, end in the time they are given, and say what there is
and what to loosen."""

import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics import deadlines
from biasflow._numerics.compilation import announced
from biasflow._numerics.deadlines import Deadline

HALF, SMOOTH, EXPONENTIAL, LOGISTIC = (
    bf.SquareLoss("half"),
    bf.SmoothMargin(),
    bf.ExponentialLoss(),
    bf.LogisticLoss(),
)
LIMIT, LATE = 1.0, 2.0
"""Seconds given, and by how many more a flow may miss them."""
rng = np.random.default_rng(0)
X = np.c_[rng.standard_normal((6, 3)), np.ones(6)]
CLASSES, LABELS = np.sign(rng.standard_normal(6)), rng.standard_normal(6)
COLUMNS, ROWS = np.logspace(-12, 12, 4), np.logspace(-12, 12, 6)[:, None]
RELU, SQUARED, DEEP, WIDE = (
    bf.TwoLayer(8, 4),
    bf.SignedTwoLayer(8, 4),
    bf.DeepNetwork((4, 8, 8)),
    bf.TwoLayer(30, 2),
)
DIAGONAL, CUBIC = bf.DiagonalNetwork(2), bf.DiagonalNetwork(3)
DIRECTIONS = rng.standard_normal((9, 4))
FIXED = bf.FixedDirections(DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True))
MATRICES = bf.MatrixFactorisation((12, 12), 24)
NOISE = bf.Dataset(rng.standard_normal((20, 2)), rng.standard_normal(20))


def flow(model, x, y, loss, start, **ends):
    return lambda time_s: bf.gradient_flow(
        model, bf.Dataset(x, y), loss, start, time_s=time_s, **ends
    )


SLOW = {
    "smooth margin to t = 1e300": flow(RELU, X, CLASSES, SMOOTH, RELU.init(0.5), t1=1e300),
    "smooth margin, columns of mixed units": flow(
        RELU, X * COLUMNS, CLASSES, SMOOTH, RELU.init(0.5), t1=10.0
    ),
    "smooth margin, rows of mixed units": flow(
        RELU, X * ROWS, CLASSES, SMOOTH, RELU.init(0.5), t1=10.0
    ),
    "exponential loss at 1e-13": flow(
        RELU, X, CLASSES, EXPONENTIAL, RELU.init(0.5), t1=10.0, rtol=1e-13
    ),
    "exponential loss, inputs of 1e160": flow(
        RELU, 1e160 * X, CLASSES, EXPONENTIAL, RELU.init(0.5), t1=1.0
    ),
    "exponential loss, inputs of 1e300": flow(
        RELU, 1e300 * X, CLASSES, EXPONENTIAL, RELU.init(0.5), t1=1.0
    ),
    "exponential loss, rows of mixed units": flow(
        RELU, X * ROWS, CLASSES, EXPONENTIAL, RELU.init(0.5), t1=1.0
    ),
    "logistic loss, inputs of 1e300": flow(
        SQUARED, 1e300 * X, CLASSES, LOGISTIC, SQUARED.init(0.5), t1=1.0
    ),
    "logistic loss, an input and its mirror image": flow(
        SQUARED, np.r_[X[:5], -X[:1]], CLASSES, LOGISTIC, SQUARED.init(0.5), t1=10.0
    ),
    "fixed directions, columns of mixed units": flow(
        FIXED, X * COLUMNS, LABELS, HALF, FIXED.init(0.3)
    ),
    "mirror flow, columns of mixed units": lambda time_s: bf.mirror_flow(
        bf.potentials.Hypentropy(0.1), (X * COLUMNS)[:3], LABELS[:3], time_s=time_s
    ),
    "depth 3, columns of mixed units": flow(
        CUBIC, (X * COLUMNS)[:3], LABELS[:3], HALF, CUBIC.init(0.3, dim=4)
    ),
    "weights, labels of 1e150": flow(
        DIAGONAL, X[:3], 1e150 * LABELS[:3], HALF, DIAGONAL.init(0.3, dim=4), method="weights"
    ),
    "shifted inputs": flow(
        RELU, X + 1e6 * np.array([1, 1, 1, 0]), CLASSES, SMOOTH, RELU.init(0.5), log_norm=20.0
    ),
    "equal inputs of both classes": flow(
        RELU,
        X[[0, 0, 2, 3, 4, 5]],
        np.r_[1, -1, CLASSES[2:]],
        SMOOTH,
        RELU.init(0.5),
        log_norm=20.0,
    ),
    "a deep network from 1e10": flow(DEEP, X, LABELS, HALF, DEEP.init(1e10)),
    "labels of noise": lambda time_s: bf.gradient_flow(
        WIDE, NOISE, HALF, WIDE.init(0.1), time_s=time_s
    ),
    "a ReLU network to t = 1e300": flow(RELU, X, LABELS, HALF, RELU.init(0.5), t1=1e300),
    "a diagonal network to t = 1e300": flow(
        DIAGONAL, X[:3], LABELS[:3], HALF, DIAGONAL.init(0.3, dim=4), t1=1e300
    ),
    "matrices from a small start": flow(
        MATRICES,
        rng.standard_normal((60, 144)),
        rng.standard_normal(60),
        HALF,
        MATRICES.init(1e-6),
        rtol=1e-13,
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """Kernels are compiled, or loaded, before times are taken."""
    flow(RELU, X, CLASSES, SMOOTH, RELU.init(0.5), t1=0.1)(None)
    flow(RELU, X, LABELS, HALF, RELU.init(0.5), t1=0.1)(None)


@pytest.mark.parametrize("case", SLOW)
def test_time_limits_are_kept(case):
    begun = time.monotonic()
    try:
        found = SLOW[case](LIMIT)
        assert found.result.success
    except bf.errors.ConvergenceError as gave_up:
        words, partial = str(gave_up), gave_up.partial
        assert (
            partial.result in (bf.Result.TIME_LIMIT, bf.Result.UNCHECKED)
            and not partial.result.success
        )
        assert "`.partial`" in words and "stiffest rate" in words and "time_s" in words
        assert partial.times.size == partial.loss.size == partial.error.size and np.all(
            np.isfinite(partial.loss)
        )
    except bf.errors.InputError as refused:
        assert "float range" in str(refused) or "overflows" in str(refused)
    assert time.monotonic() - begun <= LIMIT + LATE


def test_the_compiled_dual_flow_keeps_its_time_too():
    ds = bf.data.sparse_regression(n=100, d=4000, sparsity=5, noise_var=0.01, key=0)
    call = lambda time_s: bf.mirror_flow(  # noqa: E731
        bf.potentials.Hypentropy(1e-6),
        ds.X,
        ds.y,
        rtol=1e-13,
        method="compiled",
        time_s=time_s,
        throw=False,
    )
    begun = time.monotonic()
    first = call(1e-3)
    assert first.result is bf.Result.TIME_LIMIT
    begun = time.monotonic()
    assert call(0.2).result is bf.Result.TIME_LIMIT and time.monotonic() - begun <= 0.2 + LATE


@pytest.mark.parametrize("model", [RELU, SQUARED])
@pytest.mark.parametrize("loss", [EXPONENTIAL, LOGISTIC])
def test_the_clock_of_the_risk_lands_on_early_times(model, loss):
    """At t1 = 1e-300 a step was shortened by one rounding at a time."""
    found = flow(model, X, CLASSES, loss, model.init(0.5), t1=1e-300)(None)
    assert found.times[-1] == pytest.approx(1e-300, rel=1e-12) and found.stats["steps"] == 1
    assert pytest.approx(found.problem.start.W, rel=1e-12) == found.final.W


def test_compilation_is_not_counted():
    deadline = Deadline(0.1)
    deadline.pause()
    deadline.pause()
    time.sleep(0.3)
    deadline.resume()
    assert not deadline.both()
    deadline.resume()
    assert not deadline.both()
    time.sleep(0.1)
    assert deadline.both()


def test_loading_kernels_is_not_counted(monkeypatch):
    """Numba's lock is held where a kernel is loaded from disk, which no event but that of the lock
    tells."""
    from numba.core.compiler_lock import global_compiler_lock

    now = [0.0]
    monkeypatch.setattr(deadlines, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def load():
        with global_compiler_lock, global_compiler_lock:
            now[0] += 7.0

    def both():
        load()
        # another thread's kernels are not ours: our clock goes on
        other = threading.Thread(target=load)
        other.start()
        other.join()

    clock = Deadline(10.0)
    announced("test", load, deadline=clock)
    assert clock._elapsed() == 0.0
    announced("test", both, deadline=clock)
    assert clock._elapsed() == 7.0


FIRST_CALL = """
import time, types
import numpy as np
import biasflow as bf
from biasflow._numerics import deadlines
# whatever else the machine does
deadlines.time = types.SimpleNamespace(monotonic=time.process_time)
rng = np.random.default_rng(0)
data, model = bf.Dataset(rng.standard_normal((20, 2)), rng.standard_normal(20)), bf.TwoLayer(30, 2)
loss, start = bf.SquareLoss("half"), model.init(0.1)
flow = bf.gradient_flow(model, data, loss, start, time_s=1.0, throw=False)
print(flow.stats["steps"])
"""


def test_the_first_call_of_a_process_has_all_its_time():
    """It spent a quarter of a second on loading kernels, and was over before the first step."""
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) > 100


def test_a_time_limit_is_a_positive_number():
    for limit in (0.0, -1.0, np.nan, "soon"):
        with pytest.raises(bf.errors.InputError, match="time_s"):
            flow(RELU, X, LABELS, HALF, RELU.init(0.5), t1=1.0)(limit)


def test_the_error_is_unknown_where_the_second_run_did_not_get():
    partial = bf.gradient_flow(WIDE, NOISE, HALF, WIDE.init(0.1), time_s=0.5, throw=False)
    assert partial.result is bf.Result.TIME_LIMIT and partial.times[-1] > 0
    assert np.isfinite(partial.error[1]) and np.all(np.diff(partial.times) > 0)


def test_a_compilation_that_began_before_a_clock_does_not_stop_it():
    """Compilers tell every thread: the end of another's, whose begin this clock has not seen,
    counted as a pause for ever."""
    clock = Deadline(1e-3)
    clock.resume()
    time.sleep(0.01)
    assert clock.both()


def test_a_dual_flow_with_many_saved_times_keeps_its_time():
    """The error along it took seven seconds for ten thousand times, whatever time was given."""
    wide = np.random.default_rng(0).standard_normal((8, 40))
    began = time.monotonic()
    found = bf.gradient_flow(
        DIAGONAL,
        bf.Dataset(wide, wide[:, 0]),
        HALF,
        DIAGONAL.init(0.1, dim=40),
        times=np.linspace(0, 20, 40_001),
        time_s=LIMIT / 4,
        throw=False,
    )
    assert time.monotonic() - began < LIMIT + LATE
    assert (
        not found.result.success
        and len(found.error) == len(found.times)
        and np.isnan(found.error[-1])
    )


def test_verdicts_and_bounds_on_timestamps_keep_their_time():
    """Inputs of about 1e9 with differences of one: the library's own flow went on for ever."""
    stamps, model = np.random.default_rng(0).standard_normal((4, 6)) + 1e9, bf.DiagonalNetwork(2)
    began = time.monotonic()
    problem = bf.Problem(
        model, bf.Dataset(stamps, LABELS[:4]), bf.SquareLoss("sum"), model.init(0.1, dim=6)
    )
    assert bf.verify("R/thm2.7", problem, time_s=LIMIT).status is bf.theory.Status.INCONCLUSIVE
    assert time.monotonic() - began < LIMIT + LATE
    began = time.monotonic()
    with pytest.raises(bf.errors.ConvergenceError, match="time limit"):
        bf.diagnostics.convergence_bounds(
            bf.MirrorProblem(bf.potentials.Hypentropy(0.1), stamps, LABELS[:4], None), time_s=LIMIT
        )
    assert time.monotonic() - began < LIMIT + LATE
