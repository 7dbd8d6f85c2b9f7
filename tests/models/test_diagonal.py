import numpy as np
import pytest

from biasflow import DiagonalNetwork, Problem, SquareLoss, data
from biasflow.errors import InputError, RefusedError, ScaleError
from biasflow.models import DiagonalParams, mirror
from biasflow.potentials import DepthPotential, Hypentropy

EPS = float(np.finfo(float).eps)
DEPTHS = (2, 3, 4, 7)
LOSSES = [SquareLoss("half"), SquareLoss("sum"), SquareLoss("half-mean")]


def setting(seed=0, n=5, d=7, low=0.5):
    rng = np.random.default_rng(seed)
    ds = data.sparse_regression(n=n, d=d, sparsity=2, key=seed)
    return ds, DiagonalParams(rng.uniform(low, 1.5, d), rng.uniform(low, 1.5, d))


@pytest.mark.parametrize("depth", DEPTHS)
def test_call_and_effective(depth):
    ds, params = setting()
    model = DiagonalNetwork(depth)
    beta = params.plus**depth - params.minus**depth
    assert np.array_equal(model.effective(params), beta)
    np.testing.assert_allclose(
        model(params, ds.X), ds.X @ beta, atol=1e-14 * np.max(np.abs(beta)) * 100
    )
    stacked = DiagonalParams(np.stack([params.plus] * 3), np.stack([params.minus] * 3))
    assert model.effective(stacked).shape == (3, 7) and model(stacked, ds.X).shape == (3, 5)


def test_init():
    params = DiagonalNetwork(3).init(0.1, dim=4)
    assert np.array_equal(params.plus, np.full(4, 0.1)) and np.array_equal(
        params.minus, params.plus
    )
    assert not np.any(DiagonalNetwork(3).effective(params))
    vector = DiagonalNetwork(2).init([0.1, 0.2])
    assert np.array_equal(vector.minus, [0.1, 0.2])
    vector.plus[0] = 9.0
    assert vector.minus[0] == 0.1  # the two leaves share no memory


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: DiagonalNetwork(1), InputError, ("depth", "2", "1")),
        (lambda: DiagonalNetwork(2.0), InputError, ("depth", "integer")),
        (lambda: DiagonalNetwork(2).init(0.1), InputError, ("dim",)),
        (lambda: DiagonalNetwork(2).init(0.0, dim=3), ScaleError, ("scale", "positive")),
        (lambda: DiagonalNetwork(2).init(-0.1, dim=3), ScaleError, ("scale", "positive")),
        (lambda: DiagonalNetwork(2).init(1e-400, dim=3), ScaleError, ("scale", "log_scale")),
        (lambda: DiagonalNetwork(2).init([0.1, 0.2], dim=3), InputError, ("scale", "3")),
        (lambda: DiagonalNetwork(2).init(np.ones((2, 2))), InputError, ("scale", "(2, 2)")),
        (lambda: DiagonalNetwork(2).init(0.1, dim=0), InputError, ("dim", "1")),
        (lambda: DiagonalNetwork(2).potential(), InputError, ("scale", "exactly one")),
        (
            lambda: DiagonalNetwork(3).potential(scale=1.0, log_scale=0.0),
            InputError,
            ("scale", "exactly one"),
        ),
        (
            lambda: DiagonalNetwork(2).checked(DiagonalParams([1.0], [np.nan]), 1),
            InputError,
            ("start.minus", "nan"),
        ),
        (
            lambda: DiagonalNetwork(2).checked(DiagonalParams([1.0, 2.0], [1.0]), 2),
            InputError,
            ("start.minus", "2", "1"),
        ),
        (
            lambda: DiagonalNetwork(2).checked((1.0, 2.0, 3.0), 2),
            InputError,
            ("start", "DiagonalParams"),
        ),
    ],
)
def test_bad_input(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value).startswith(words[0])
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_potentials_of_the_scale():
    two = DiagonalNetwork(2).potential(scale=0.1)
    assert isinstance(two, Hypentropy) and two.alpha == pytest.approx(0.02, rel=8 * EPS)
    deep = DiagonalNetwork(4).potential(log_scale=-3.0)
    assert isinstance(deep, DepthPotential) and deep.depth == 4 and deep.log_alpha == -3.0
    assert float(DiagonalNetwork(2).potential(log_scale=-5000.0).log_alpha) == pytest.approx(
        np.log(2) - 10000.0
    )


def velocity(model, loss, ds, params):
    """dβ/dt of gradient flow on the weights."""
    gradient = model.gradient(params, ds.X, loss.gradient(model(params, ds.X), ds.y))
    return model.linearised(params, DiagonalParams(-gradient.plus, -gradient.minus))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.normalisation)
@pytest.mark.parametrize("depth", DEPTHS)
def test_mirror_form_has_the_velocity_of_the_weights(depth, loss):
    """∇²φ(β)·dβ/dt = −Xᵀ(Xβ − y) at a biased start, clock included."""
    ds, params = setting(3)
    model = DiagonalNetwork(depth)
    form = mirror(Problem(model, ds, loss, params))
    np.testing.assert_allclose(form.beta0, model.effective(params), rtol=1e-13)
    force = -ds.X.T @ (ds.X @ form.beta0 - ds.y)
    dbeta = velocity(model, loss, ds, params)
    np.testing.assert_allclose(form.potential.hessian_diag(form.beta0) * dbeta, force, rtol=1e-10)


@pytest.mark.parametrize("depth", DEPTHS)
def test_lift_returns_the_weights_with_their_invariant(depth):
    """The lift inverts β = w₊^D − w₋^D along the flow: it gives back the start, and keeps what is
    conserved."""
    ds, params = setting(5)
    model = DiagonalNetwork(depth)
    form = model.mirror_form(params, SquareLoss(), ds.n)
    start = form.potential.at(form.beta0)
    for got, expected in zip(form.lift(start), params, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)
    beta = form.beta0 + np.linspace(-1, 1, 7)
    weights = form.lift(form.potential.at(beta))
    np.testing.assert_allclose(model.effective(weights), beta, rtol=1e-11, atol=1e-12)

    def conserved(w):
        return (
            w.plus * w.minus if depth == 2 else w.plus ** (2.0 - depth) + w.minus ** (2.0 - depth)
        )

    np.testing.assert_allclose(conserved(weights), conserved(params), rtol=1e-11)


def test_one_sided_start_lives_on_half_lines():
    ds, _ = setting(6, d=3)
    params = DiagonalParams(np.array([0.5, 0.0, 1.0]), np.array([0.0, 2.0, 1.0]))
    form = mirror(Problem(DiagonalNetwork(2), ds, SquareLoss(), params))
    assert list(form.potential.half_lines(3)) == [1, -1, 0]
    np.testing.assert_allclose(form.beta0, [0.25, -4.0, 0.0])
    dbeta = velocity(DiagonalNetwork(2), SquareLoss(), ds, params)
    force = -ds.X.T @ (ds.X @ form.beta0 - ds.y)
    np.testing.assert_allclose(form.potential.hessian_diag(form.beta0) * dbeta, force, rtol=1e-12)
    lifted = (
        DiagonalNetwork(2)
        .mirror_form(params, SquareLoss(), ds.n)
        .lift(form.potential.at(form.beta0))
    )
    np.testing.assert_allclose(lifted.plus, params.plus, rtol=1e-14)
    np.testing.assert_allclose(lifted.minus, params.minus, rtol=1e-14)


def test_signs_of_weights_are_kept_at_depth_two():
    ds, params = setting(7)
    signed = DiagonalParams(-params.plus, params.minus)
    form = DiagonalNetwork(2).mirror_form(signed, SquareLoss(), ds.n)
    lifted = form.lift(form.potential.at(form.beta0))
    np.testing.assert_allclose(lifted.plus, signed.plus, rtol=1e-13)


@pytest.mark.parametrize(
    "depth, plus, minus, loss, words",
    [
        (2, [0.0, 1.0], [0.0, 1.0], SquareLoss(), "coordinate 0 starts with both weights zero"),
        (3, [1.0, 1.0], [0.0, 1.0], SquareLoss(), "depth 3 needs positive weights"),
        (3, [1.0, -1.0], [1.0, 1.0], SquareLoss(), "depth 3 needs positive weights"),
        (2, [1.0, 1.0], [1.0, 1.0], object(), "needs a square loss, found object"),
        (2, [1e-160, 1.0], [1e-160, 0.0], SquareLoss(), "do not fit in floats"),
    ],
)
def test_refusals_say_why(depth, plus, minus, loss, words):
    ds, _ = setting(8, d=2)
    problem = Problem(
        DiagonalNetwork(depth), ds, loss, DiagonalParams(np.array(plus), np.array(minus))
    )
    with pytest.raises(RefusedError, match=f"mirror: .*{words}"):
        mirror(problem)


def test_weights_whose_powers_overflow_are_refused():
    ds, _ = setting(9, d=2)
    with pytest.raises(ScaleError, match=r"start.*log_scale"):
        DiagonalNetwork(10).mirror_form(
            DiagonalParams(np.full(2, 1e-60), np.full(2, 1e-60)), SquareLoss(), ds.n
        )
