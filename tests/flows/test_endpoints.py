"""One verb for every limit: the theorem is named, the flow ends there, and what nobody knows is
refused."""

import numpy as np
import pytest

import biasflow as bf

DATA = bf.data.sparse_regression(n=3, d=6, sparsity=1, noise_var=0.01, key=0)
HALF = bf.SquareLoss("half")


def test_models_with_a_mirror_form():
    theorems = {
        bf.DiagonalNetwork(2): "W, Theorem 1; R, Theorem 2.2",
        bf.DiagonalNetwork(3): "W, Theorem 3; R, Theorem 2.2",
        bf.ProductNetwork(): "R, Theorem 2.2",
    }
    for model, source in theorems.items():
        start = model.init(0.3, dim=6)
        problem = bf.Problem(model, DATA, HALF, start)
        found = bf.limit(problem)
        assert found.source == source
        assert np.array_equal(found.value, bf.limit(model, DATA, HALF, start=start).value)
        flow = bf.gradient_flow(model, DATA, HALF, start)
        np.testing.assert_allclose(model.effective(flow.final), found.value, atol=1e-6)


def test_mirror_problems_with_labels_out_of_reach():
    X, y = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([1.0, 0.0])
    found = bf.limit(bf.MirrorProblem(bf.potentials.Hypentropy(0.1), X, y))
    assert found.source == "R, Theorem 2.3"
    flow = bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, y, throw=False)
    np.testing.assert_allclose(flow.final, found.value, atol=1e-6)


def test_orthogonal_inputs_as_starts_vanish():
    model = bf.TwoLayer(12, 3)
    data = bf.Dataset(np.eye(3), np.array([1.0, 0.7, -0.8]))
    start = model.init(1e-5, key=3, balanced=True)
    found = bf.limit(bf.Problem(model, data, bf.SquareLoss("half-mean"), start))
    assert found.source.startswith("B, Theorem 1")
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half-mean"), start)
    size = float(np.sum(flow.final.a**2) + np.sum(flow.final.W**2))
    assert size == pytest.approx(found.objective, rel=1e-3)


def test_directions_of_classifiers():
    X, y = np.array([[-2.0], [-1.0], [0.5], [1.5]]), np.array([1.0, -1.0, -1.0, 1.0])
    model, data = bf.TwoLayer(40, 2), bf.data.with_bias(bf.Dataset(X, y))
    start = model.init(0.5, key=0)
    found = bf.limit(bf.Problem(model, data, bf.LogisticLoss(), start))
    assert found.source.startswith("C, Theorem 3") and isinstance(found.value, bf.models.Particles)
    flow = bf.gradient_flow(model, data, bf.SmoothMargin(bf.LogisticLoss()), start, log_norm=20)
    assert 0.999 * found.objective < float(flow.stats["margin"][-1]) <= found.certificate.dual


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (lambda: _problem(bf.DeepNetwork((6, 4, 1)), HALF), "tangent_interpolator"),
        (lambda: _problem(bf.TwoLayer(4, 6), bf.LogisticLoss()), "bias column"),
        (lambda: _problem(bf.TwoLayer(4, 6), HALF), "not orthogonal"),
        (lambda: _problem(bf.MatrixFactorisation((3, 2), 6), HALF), "min_nuclear_norm"),
        (lambda: _problem(bf.DiagonalNetwork(3), bf.LogisticLoss()), "depends on the start"),
        (lambda: _problem(bf.SignedTwoLayer(4, 6), bf.LogisticLoss()), "no theorem here"),
    ],
)
def test_what_no_theorem_says_is_refused(problem, words):
    with pytest.raises(bf.errors.BiasflowError, match=words):
        bf.limit(problem())


def test_classes_that_nothing_separates_and_starts_that_do_not_move_have_no_direction():
    model = bf.TwoLayer(4, 2)
    equal = bf.Dataset([[1.0, 1.0], [1.0, 1.0]], [1.0, -1.0])
    with pytest.raises(bf.errors.RefusedError, match="separate"):
        bf.limit(bf.Problem(model, equal, bf.LogisticLoss(), model.init(0.1)))
    zero = bf.models.TwoLayerParams(np.zeros(4), np.zeros((4, 2)))
    with pytest.raises(bf.errors.RefusedError, match="zero"):
        bf.limit(
            bf.Problem(
                model, bf.Dataset([[1.0, 1.0], [2.0, 1.0]], [1.0, -1.0]), bf.LogisticLoss(), zero
            )
        )


def _problem(model, loss):
    signs = bf.Dataset(DATA.X, np.array([1.0, -1.0, 1.0]))
    start = model.init(0.1, dim=6) if isinstance(model, bf.DiagonalNetwork) else model.init(0.1)
    return bf.Problem(model, signs, loss, start)


def test_a_problem_stands_alone():
    problem = _problem(bf.DiagonalNetwork(2), HALF)
    with pytest.raises(bf.errors.InputError, match="give it alone"):
        bf.limit(problem, DATA)


def test_a_projection_keeps_its_time():
    rng = np.random.default_rng(0)
    data = bf.Dataset(rng.standard_normal((150, 1000)), rng.standard_normal(150))
    potential = bf.potentials.Hypentropy(1e-8)
    for problem in (
        bf.Problem(bf.DiagonalNetwork(4), data, bf.SquareLoss(), scale=1e-3),
        bf.MirrorProblem(potential, data.X, data.y),
    ):
        with pytest.raises(bf.errors.ConvergenceError, match="raise time_s"):
            bf.limit(problem, time_s=1e-4)
