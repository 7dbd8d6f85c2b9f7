"""One verb: every engine takes the same steps, and says which it was."""

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaves
from biasflow.training import AscentEngine, Engine, JaxEngine, NumPyEngine

CLOSE = 1e-10
"""Rounding of a few hundred steps in float64, in any order of sums."""
SLOWER = bf.training.InverseRootStep(0.05)


@pytest.fixture(scope="module")
def square():
    data = bf.data.circle_teacher(n=6, key=1)
    return bf.Problem(
        bf.TwoLayer(7, 2), data, bf.SquareLoss("sum"), bf.TwoLayer(7, 2).init(0.5, balanced=False)
    )


@pytest.fixture(scope="module")
def smooth():
    data = bf.data.with_bias(bf.data.clusters(12, 3, 3, key=0))
    model = bf.TwoLayer(9, data.d)
    return bf.Problem(model, data, bf.SmoothMargin(), model.init(0.3, balanced=False))


def distance(first, second):
    return max(np.max(np.abs(a - b)) for a, b in zip(leaves(first), leaves(second), strict=True))


@pytest.mark.parametrize("step", [0.004, SLOWER], ids=["constant", "rule"])
@pytest.mark.parametrize("case", ["square", "smooth"])
def test_engines_take_the_same_steps(case, step, request):
    problem = request.getfixturevalue(case)
    runs = {
        name: bf.train(problem, steps=137, step=step, engine=name)
        for name in ("numpy", "numba", "jax")
    }
    plain = runs["numpy"]
    sizes = [0.004] * 137 if step == 0.004 else 0.05 / np.sqrt(np.arange(137) + 1)
    assert plain.times[-1] == pytest.approx(np.sum(sizes))
    for name, run in runs.items():
        assert run.stats["engine"] == name
        assert np.array_equal(run.stats["kept"], plain.stats["kept"])
        assert distance(run.states, plain.states) <= CLOSE
        np.testing.assert_allclose(run.times, plain.times, rtol=1e-12)
        np.testing.assert_allclose(run.loss, plain.loss, rtol=1e-9)


def test_what_runs_by_default(square, smooth):
    deep = bf.DeepNetwork((2, 5))
    other = bf.Problem(deep, square.data, square.loss, deep.init(1.0))

    def engine(problem, **options):
        run = bf.train(problem, steps=3, step=0.01, **options)
        return (run[0] if "starts" in options else run).stats["engine"]

    assert engine(square) == engine(smooth) == "numba"
    assert engine(square, batch=2) == engine(other) == "numpy"
    assert engine(other, starts=[deep.init(1.0, key=k) for k in range(2)]) == "jax"


@pytest.mark.parametrize("engine", ["numpy", "numba", "jax"])
def test_many_starts_are_the_single_runs(square, engine):
    starts = [square.model.init(0.4, key=k, balanced=False) for k in range(3)]
    together = bf.train(
        square, steps=40, step=0.01, starts=starts, engine=engine, records=[0, 7, 21]
    )
    assert len(together) == 3
    for start, run in zip(starts, together, strict=True):
        alone = bf.training.gradient_descent(
            square.model, square.data, square.loss, start, 0.01, 40
        )
        assert run.stats["kept"].tolist() == [0, 7, 21, 40]
        assert distance(run.final, alone.final) <= CLOSE


def test_runs_end_where_the_loss_says(square):
    wide = bf.TwoLayer(40, 2)
    problem = bf.Problem(wide, square.data, square.loss, wide.init(1.0, balanced=False))
    for engine in ("numpy", "numba", "jax"):
        run = bf.train(problem, steps=40_000, step=0.02, engine=engine)
        assert run.result is bf.Result.CONVERGED and run.loss[-1] <= 1e-20 * run.loss[0]
        assert run.stats["kept"][-1] == run.stats["steps"] < 40_000
        gone = bf.train(square, steps=500, step=50.0, engine=engine)
        assert gone.result is bf.Result.DIVERGED and gone.stats["steps"] < 500
        assert np.all(np.isfinite(gone.final.W)) and not np.any(np.isnan(gone.loss))


def test_the_last_step_is_looked_at_by_compiled_code_too(square):
    """A run that diverges between two looks, at a number of steps that is no multiple of ten."""
    for engine in ("numpy", "numba"):
        run = bf.train(square, steps=9, step=50.0, engine=engine)
        assert run.result is bf.Result.DIVERGED


@pytest.mark.parametrize("case", ["square", "smooth"])
@pytest.mark.parametrize("engine", ["numpy", "numba", "jax"])
def test_time_limits_end_runs_where_they_are(case, engine, request):
    problem = request.getfixturevalue(case)
    run = bf.train(problem, steps=10_000_000, step=1e-7, engine=engine, time_s=0.2)
    assert run.result is bf.Result.TIME_LIMIT and not run.result.success
    assert 0 < run.stats["kept"][-1] < 10_000_000
    assert run.times[-1] == pytest.approx(1e-7 * run.stats["kept"][-1])


def test_the_output_layer_by_an_engine_of_its_own(smooth):
    engine = AscentEngine(training="output", by="jax")
    run = bf.train(smooth, steps=50, engine=engine)
    theirs = bf.training.margin_ascent(smooth.data, smooth.start, 50, training="output")
    assert distance(run.final, theirs.final) <= CLOSE * np.max(np.abs(theirs.final.a))
    assert isinstance(run.stats["step"], bf.training.Proposition7Step)
    beta = np.exp(run.stats["log_norm"][0])
    assert run.times[1] == pytest.approx(
        theirs.stats["step"].schedule(1.0)(0) * beta / largest(run)
    )


def largest(run):
    data, start = run.problem.data, run.problem.start
    return np.max(np.maximum(data.X @ start.W.T, 0.0))


def test_engines_and_losses_of_ones_own(smooth, square):
    class Counting(Engine):
        name = "mine"

        def refusal(self, problem, job):
            return None if job.batch is None else "no batches here"

        def run(self, problems, job):
            return NumPyEngine().run(problems, job)

    assert bf.train(square, steps=3, step=0.1, engine=Counting()).stats["steps"] == 3
    with pytest.raises(bf.errors.RefusedError, match="no batches here"):
        bf.train(square, steps=3, step=0.1, batch=2, engine=Counting())

    class Mine(bf.LogisticLoss):
        pass

    mine = bf.Problem(smooth.model, smooth.data, bf.SmoothMargin(Mine()), smooth.start)
    theirs = bf.Problem(smooth.model, smooth.data, bf.SmoothMargin(bf.LogisticLoss()), smooth.start)
    found = bf.train(mine, steps=30, step=0.01)
    assert found.stats["engine"] == "jax"
    assert distance(found.final, bf.train(theirs, steps=30, step=0.01).final) <= CLOSE


def test_single_precision(square):
    single = bf.train(square, steps=50, step=0.01, engine=JaxEngine("float32"))
    double = bf.train(square, steps=50, step=0.01, engine=JaxEngine())
    assert 0 < distance(single.final, double.final) < 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0.0}, "step"),
        ({"step": None}, "step: expected a number"),
        ({"steps": 0}, "steps"),
        ({"batch": 9}, "batch: 9 exceeds"),
        ({"key": -1}, "key"),
        ({"starts": []}, "starts"),
        ({"records": 1}, "records"),
        ({"records": [200]}, "records"),
        ({"engine": "torch"}, "engine"),
        ({"time_s": -1.0}, "time_s"),
        ({"engine": "numba", "batch": 2}, "all samples"),
        ({"step": bf.training.Proposition6Step()}, "Proposition6Step is made for"),
    ],
)
def test_bad_arguments_are_named(square, options, message):
    error = (bf.errors.InputError, bf.errors.RefusedError)
    with pytest.raises(error, match=message):
        bf.train(square, **{"steps": 100, "step": 0.1, **options})
    with pytest.raises(bf.errors.InputError, match="problem"):
        bf.train(3, steps=1, step=0.1)


def test_former_keywords_warn_and_work(square):
    model, data, loss, start = square.model, square.data, square.loss, square.start
    with pytest.warns(DeprecationWarning, match=r"stepsize=…\) is now gradient_descent\(step=…"):
        old = bf.training.gradient_descent(model, data, loss, start, stepsize=0.01, steps=5)
    assert distance(old.final, bf.train(square, steps=5, step=0.01).final) == 0
    with pytest.warns(DeprecationWarning, match="ds=…"):
        bf.training.train_batch(model, ds=data, loss=loss, starts=[start], step=0.1, steps=1)
    with pytest.warns(DeprecationWarning, match="stepsizes=…"):
        batch = bf.training.train_batch(model, data, loss, [start], stepsizes=0.1, steps=1)
    with pytest.warns(
        DeprecationWarning, match=r"TrainedBatch\.stepsizes is now TrainedBatch\.step"
    ):
        assert batch.stepsizes is batch.step
    with pytest.warns(DeprecationWarning, match=r"TrainedRun\.stepsize is now TrainedRun\.step"):
        assert batch[0].stepsize == batch[0].step == 0.1
