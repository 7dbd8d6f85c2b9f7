"""What every model satisfies, and what a model of the user's own does."""

import inspect
from typing import Any, NamedTuple

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.trees import leaf_map, leaves
from biasflow._numerics.double_precision import jax_in_double
from biasflow.models import MirrorModel, Model, PredictorModel, nonsmooth

EPS = float(np.finfo(float).eps)
METHODS = {"init", "__call__", "effective", "gradient", "jacobian", "checked"}
"""What every model has."""
D = 6
"""Dimension of the inputs."""
STEP = 1e-5
"""Of central differences: off by STEP²/6 of third derivatives, 2e-11, and by EPS/STEP of values,
2e-11; tolerances below are 1e-8 of the largest slope, for derivatives that grow with depth."""


class PolynomialParams(NamedTuple):
    w: Any


class Polynomial(Model):
    """A model of the user's own: f(w, x) = ⟨w + w³/3, x⟩, smooth and not homogeneous."""

    def init(self, scale=1.0, *, log_scale=None, key=0, dim=None):
        size = scale if log_scale is None else np.exp(log_scale)
        return PolynomialParams(np.full(dim, size))

    def __call__(self, params, X):
        return self.effective(params) @ X.T

    def effective(self, params):
        return params.w + params.w**3 / 3

    def gradient(self, params, X, output_gradient):
        return PolynomialParams((1 + params.w**2) * (X.T @ output_gradient))


class Cubic(Model):
    """Another, f(w, x) = ⟨u²v, x⟩: homogeneous, with a start where f = 0."""

    homogeneity, degree = 3, 1

    def init(self, scale=1.0, *, log_scale=None, key=0, dim=None):
        size = scale if log_scale is None else np.exp(log_scale)
        return bf.models.ProductParams(np.full(dim, size), np.zeros(dim))

    def __call__(self, params, X):
        return self.effective(params) @ X.T

    def effective(self, params):
        return params.u**2 * params.v

    def gradient(self, params, X, output_gradient):
        pull = X.T @ output_gradient
        return bf.models.ProductParams(2 * params.u * params.v * pull, params.u**2 * pull)


def directions(m):
    rows = np.random.default_rng(1).standard_normal((m, D))
    return rows / np.linalg.norm(rows, axis=1)[:, None]


MODELS = {
    **{f"diagonal {depth}": bf.DiagonalNetwork(depth) for depth in (2, 3, 4, 7)},
    "product": bf.ProductNetwork(),
    "fixed directions": bf.FixedDirections(directions(5)),
    "factorisation": bf.MatrixFactorisation((2, 3), 6),
    "relu": bf.TwoLayer(5, D),
    "leaky relu": bf.TwoLayer(5, D, "leaky_relu", slope=0.2),
    "squared relu": bf.SignedTwoLayer(5, D, signs=[1, 1, -1, 1, -1]),
    "deep": bf.DeepNetwork((D, 5, 4)),
    "deep, biases": bf.DeepNetwork((D, 5, 4), bias=True),
    "deep, biases, symmetric": bf.DeepNetwork((D, 4, 3, 2), bias=True, symmetric=True),
    "deep 5": bf.DeepNetwork((D, 4, 4, 4, 4), symmetric=True),
    "deep, symmetric": bf.DeepNetwork((D, 4), activation="leaky_relu", symmetric=True),
    "deep, rounded": bf.DeepNetwork((D, 5, 4), rounding=0.3),
    "deep, linear": bf.DeepNetwork((D, 4), activation="linear"),
    "one layer": bf.DeepNetwork((D,), bias=True),
    "the user's own": Polynomial(),
    "the user's own, cubic": Cubic(),
}
every_model = pytest.mark.parametrize("name", MODELS)


def setting(name, key=0, n=4):
    """A model, weights without structure (a > 0 where that is asked), inputs, and the generator."""
    model, rng = MODELS[name], np.random.default_rng(key)
    params = leaf_map(lambda leaf: rng.standard_normal(np.shape(leaf)), model.init(dim=D))
    if isinstance(model, bf.FixedDirections):
        params = params._replace(a=np.abs(params.a) + 0.1)
    return model, params, rng.standard_normal((n, D)), rng


def flat(params):
    return np.concatenate([np.ravel(leaf) for leaf in leaves(params)])


def along(function, params, direction):
    """The derivative along a direction, by central differences."""

    def at(side):
        parts = iter(leaves(direction))
        return function(leaf_map(lambda leaf: leaf + side * STEP * next(parts), params))

    return (at(1) - at(-1)) / (2 * STEP)


def like(params, rng):
    return leaf_map(lambda leaf: rng.standard_normal(np.shape(leaf)), params)


def concrete(kind):
    for below in kind.__subclasses__():
        if not inspect.isabstract(below):
            yield below
        yield from concrete(below)


def test_a_model_has_six_methods_and_four_to_write():
    public = {name for name, value in vars(Model).items() if inspect.isfunction(value)}
    assert public == METHODS
    assert Model.__abstractmethods__ == {"init", "__call__", "effective", "gradient"}
    beyond = MirrorModel.__abstractmethods__ - Model.__abstractmethods__
    assert beyond == {"linearised", "potential", "mirror_form"}


@pytest.mark.parametrize("kind", [*concrete(Model)], ids=lambda kind: kind.__name__)
def test_no_model_implements_what_it_does_not_have(kind):
    """Mirror forms, potentials and features are methods of models that have them, and of no
    other."""
    mirrored = {"potential", "mirror_form"} & set(dir(kind))
    assert bool(mirrored) == issubclass(kind, MirrorModel)
    assert bool({"features", "linearised"} & set(dir(kind))) == issubclass(kind, PredictorModel)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in concrete(Model) if kind.__module__.startswith("biasflow.models")],
    ids=lambda kind: kind.__name__,
)
def test_starts_are_asked_for_in_one_way(kind):
    asked = inspect.signature(Model.init).parameters
    given = inspect.signature(kind.init).parameters
    assert list(given)[: len(asked)] == list(asked)
    for word, parameter in asked.items():
        assert given[word].kind == parameter.kind and given[word].default == parameter.default
    assert all(p.default is not p.empty for p in [*given.values()][len(asked) :])


@every_model
def test_starts_are_what_checked_accepts(name):
    model = MODELS[name]
    start = model.init(0.3, key=1, dim=D)
    checked = model.checked(start, D)
    assert type(checked) is type(start)
    for one, two in zip(leaves(start), leaves(checked), strict=True):
        np.testing.assert_array_equal(one, two)
    by_log = model.init(log_scale=np.log(0.3), key=1, dim=D)
    np.testing.assert_allclose(flat(by_log), flat(start), rtol=4 * EPS)
    np.testing.assert_array_equal(
        flat(model.init(key=1, dim=D)), flat(model.init(1.0, key=1, dim=D))
    )


@every_model
def test_parameters_that_are_not_the_models_are_errors_that_name_them(name):
    model, params, _, _ = setting(name)
    last = leaves(params)[-1]
    broken = leaf_map(lambda leaf: np.full_like(leaf, np.nan) if leaf is last else leaf, params)
    longer = leaf_map(lambda leaf: np.concatenate([leaf, leaf]), params)
    for wrong in (broken, longer, 3.0, ()):
        with pytest.raises(bf.errors.InputError, match=r"^start"):
            model.checked(wrong, D)


@pytest.mark.parametrize("name", [name for name in MODELS if "user" not in name])
def test_scales_are_given_once_and_in_floats(name):
    model = MODELS[name]
    with pytest.raises(bf.errors.InputError, match="exactly one of scale and log_scale"):
        model.init(0.5, log_scale=0.0, dim=D)
    with pytest.raises(bf.errors.ScaleError, match=r"log_scale: .*e\^-2000"):
        model.init(log_scale=-2000.0, dim=D)


@every_model
def test_gradient_and_jacobian_are_derivatives(name):
    model, params, X, rng = setting(name, key=2)
    jacobian, g = model.jacobian(params, X), rng.standard_normal(len(X))
    assert type(jacobian) is type(params)
    joined = np.hstack([leaf.reshape(len(X), -1) for leaf in leaves(jacobian)])
    for unit in np.eye(joined.shape[1]):
        parts = iter(np.split(unit, np.cumsum([np.size(leaf) for leaf in leaves(params)])[:-1]))
        direction = leaf_map(lambda leaf, parts=parts: next(parts).reshape(leaf.shape), params)
        slope = along(lambda w: model(w, X), params, direction)
        np.testing.assert_allclose(joined @ unit, slope, atol=1e-8 * np.max(np.abs(joined)))
    pulled = model.gradient(params, X, g)
    assert type(pulled) is type(params)
    np.testing.assert_allclose(flat(pulled), g @ joined, atol=100 * EPS * np.max(np.abs(joined)))


@every_model
def test_leading_axes_of_parameters_are_kept(name):
    model, params, X, _ = setting(name)
    double = leaf_map(lambda leaf: np.stack([leaf, 2 * leaf]), params)
    twice = leaf_map(lambda leaf: 2 * leaf, params)
    for both, one, two in (
        (model(double, X), model(params, X), model(twice, X)),
        (model.effective(double), model.effective(params), model.effective(twice)),
    ):
        np.testing.assert_allclose(both, np.stack([one, two]), rtol=1e-12, atol=1e-12)


@every_model
@pytest.mark.parametrize("c", [0.0, 1e-3, 3.0, 100.0])
def test_laws_of_scaling(name, c):
    """f(c·w, x) = c^D·f(w, x) and f(w, c·x) = c^p·f(w, x) where the model says so: up to the
    rounding of sums of at most 50 terms, as large together as Σ|w||∂f/∂w|, on both sides."""
    model, params, X, _ = setting(name, key=3)
    values = model(params, X)
    joined = np.hstack([leaf.reshape(len(X), -1) for leaf in leaves(model.jacobian(params, X))])
    rounding = 100 * EPS * np.max(np.abs(joined) @ np.abs(flat(params)))
    if model.degree is not None:
        law = c**model.degree
        np.testing.assert_allclose(model(params, c * X), law * values, rtol=0, atol=law * rounding)
    try:
        law = c**model.homogeneity
    except bf.errors.RefusedError:
        return
    scaled = leaf_map(lambda leaf: c * leaf, params)
    np.testing.assert_allclose(model(scaled, X), law * values, rtol=0, atol=law * rounding)


def test_what_the_laws_are():
    known = {name: model.degree for name, model in MODELS.items()}
    assert known["squared relu"] == 2 and known["deep, biases"] is None is known["the user's own"]
    assert MODELS["diagonal 7"].homogeneity == 7 and MODELS["relu"].homogeneity == 2
    assert MODELS["deep 5"].homogeneity == 5 and MODELS["one layer"].homogeneity == 1
    for name in ("deep, biases", "deep, rounded", "the user's own"):
        with pytest.raises(bf.errors.RefusedError, match="homogeneous"):
            _ = MODELS[name].homogeneity


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if isinstance(model, PredictorModel)]
)
def test_models_that_are_linear_in_a_predictor(name):
    model, params, X, rng = setting(name, key=4)
    beta = np.ravel(model.effective(params))
    values = model.features(X) @ beta
    size = np.abs(model.features(X)) @ np.abs(beta)
    np.testing.assert_allclose(values, model(params, X), atol=8 * EPS * np.max(size))
    direction = like(params, rng)
    slope = along(model.effective, params, direction)
    found = model.linearised(params, direction)
    np.testing.assert_allclose(found, slope, atol=1e-8 * np.max(np.abs(found)))


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if isinstance(model, MirrorModel)]
)
@pytest.mark.parametrize("normalisation", ["half", "sum", "half-mean"])
def test_mirror_forms_move_as_the_weights_do(name, normalisation):
    """∇²φ(β)·dβ/dt = −Xᵀ(Xβ − y), clock included, from the model's own start; and the lift gives
    that start back."""
    model, loss = MODELS[name], bf.SquareLoss(normalisation)
    data = bf.data.sparse_regression(n=4, d=D, sparsity=2, key=5)
    start = model.init(0.7, dim=D)
    form = model.mirror_form(start, loss, data.n)
    assert form.beta0 is None  # unbiased
    pulled = model.gradient(start, data.X, loss.gradient(model(start, data.X), data.y))
    dbeta = -model.linearised(start, pulled)
    beta0, X = np.zeros(len(dbeta)), model.features(data.X)
    np.testing.assert_allclose(
        form.potential.hessian_diag(beta0) * dbeta, X.T @ data.y, rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(flat(form.lift(form.potential.at(beta0))), flat(start), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "fixed directions"])
def test_models_run_under_jax(name):
    import jax

    model, params, X, rng = setting(name, key=6)
    g = rng.standard_normal(len(X))
    with jax_in_double():
        on_jax = jax.tree.map(jax.numpy.asarray, params)
        found = jax.jit(jax.grad(lambda w: model(w, jax.numpy.asarray(X)) @ g))(on_jax)
    for ours, theirs in zip(
        leaves(model.gradient(params, X, g)), jax.tree.leaves(found), strict=True
    ):
        assert theirs.dtype == "float64"
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-11)


class TestOfTheUsersOwn:
    model = Polynomial()
    data = bf.data.sparse_regression(n=4, d=D, sparsity=2, key=0)

    def test_its_flow_is_that_of_its_weights(self):
        """w + w³/3 has the metric (1 + w²): the flow fits the labels, and its loss falls."""
        assert nonsmooth(self.model, None) is None
        start = self.model.init(0.1, dim=D)
        flow = bf.gradient_flow(self.model, self.data, bf.SquareLoss("half"), start)
        assert flow.stats["method"] == "weights" and flow.result.success
        assert isinstance(flow.final, PolynomialParams)
        np.testing.assert_allclose(self.model(flow.final, self.data.X), self.data.y, atol=1e-4)
        assert np.all(np.diff(flow.loss) <= 0) and np.max(flow.error) < 1e-5

    def test_under_any_loss_and_step_by_step(self):
        signs = bf.Dataset(self.data.X, np.array([1.0, -1.0, 1.0, -1.0]))
        start = self.model.init(0.1, dim=D)
        flow = bf.gradient_flow(self.model, signs, bf.LogisticLoss(), start, t1=2.0)
        assert flow.loss[-1] < flow.loss[0]
        small = 1e-3
        run = bf.training.gradient_descent(
            self.model, signs, bf.LogisticLoss(), start, steps=1000, step=small
        )
        at = bf.gradient_flow(self.model, signs, bf.LogisticLoss(), start, t1=1000 * small).final
        np.testing.assert_allclose(run.final.w, at.w, atol=10 * small)

    def test_limits_are_refused(self):
        start = self.model.init(0.1, dim=D)
        for problem in (bf.SquareLoss(), bf.LogisticLoss()):
            signs = bf.Dataset(self.data.X, np.sign(self.data.y))
            with pytest.raises(bf.errors.RefusedError, match=r"limit: .*Polynomial"):
                bf.limit(bf.Problem(self.model, signs, problem, start))
        with pytest.raises(bf.errors.RefusedError, match="Polynomial has no known mirror form"):
            bf.limit(self.model, self.data, scale=0.1)

    def test_its_tangent_kernel_is_that_of_its_metric(self):
        start = self.model.init(0.5, dim=D)
        K = bf.tangent_kernel(self.model, start, self.data.X)
        np.testing.assert_allclose(K, 1.25**2 * self.data.X @ self.data.X.T, rtol=1e-12)
        found = bf.limits.tangent_kernel_limit(self.model, self.data, start)
        np.testing.assert_allclose(found.value(self.data.X), self.data.y, atol=1e-9)

    @pytest.mark.parametrize(
        "claim", ["W/sec3", "W/thm1", "W/thm2", "R/thm2.2", "B/thm1", "C/thm3"]
    )
    def test_claims_do_not_apply(self, claim):
        """Each says so: a homogeneous model, a mirror form, a ReLU network is missing."""
        start = self.model.init(0.1, dim=D)
        problem = bf.Problem(self.model, self.data, bf.SquareLoss("half"), start)
        verdict = bf.verify(claim, problem)
        assert verdict.status in ("does not apply", "hypotheses fail"), verdict

    def test_claims_about_homogeneous_models_judge_it(self):
        """W, §3: with larger starts it comes to its own kernel's interpolator."""
        data = bf.data.sparse_regression(n=2, d=3, sparsity=1, key=0)
        start = Cubic().init(1.0, dim=3)
        verdict = bf.verify("W/sec3", bf.Problem(Cubic(), data, bf.SquareLoss("half"), start))
        assert verdict.status == "holds", verdict
