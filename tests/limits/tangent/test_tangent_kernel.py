"""Tangent kernels of any function against full Jacobians, however they are cut into blocks."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.double_precision import jax_in_double
from biasflow.limits.tangent.functions import ModelFunction
from biasflow.limits.tangent.gradient_features import Shared
from biasflow.limits.tangent.jax_functions import JaxFunction
from biasflow.limits.tangent.outputs import Outputs
from biasflow.limits.tangent.tangent_kernels import Tangent, tangent

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 6))


def dense(widths, key=0):
    rng = np.random.default_rng(key)
    return [
        (rng.standard_normal((a, b)) / a**0.5, rng.standard_normal(b))
        for a, b in itertools.pairwise(widths)
    ]


def mlp(params, X):
    for W, b in params[:-1]:
        X = jax.nn.relu(X @ W + b)
    return (X @ params[-1][0] + params[-1][1])[:, 0]


def tied(params, X):
    return jnp.tanh(jnp.tanh(X @ params["W"]) @ params["W"]).sum(axis=1) * params["gain"]


def convolution(params, X):
    images = X.reshape(len(X), 1, 2, 3)
    kernel = params["kernel"]
    found = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME")
    return jnp.tanh(found).reshape(len(X), -1) @ params["read"]


def looped(params, X):
    return jax.lax.scan(lambda h, W: (jnp.tanh(h @ W), None), X, params["W"])[0].sum(axis=1)


def transposed(params, X):
    return jnp.einsum("j,nj->n", params.a, jnp.tanh(jnp.einsum("jd,nd->nj", params.W, X)))


FUNCTIONS = {
    "mlp": (mlp, dense([6, 12, 10, 1])),
    "jitted": (jax.jit(mlp), dense([6, 12, 10, 1])),
    "tied": (tied, {"W": RNG.standard_normal((6, 6)), "gain": np.array(0.5)}),
    "convolution": (
        convolution,
        {"kernel": RNG.standard_normal((3, 1, 2, 2)), "read": RNG.standard_normal(18)},
    ),
    "looped": (looped, {"W": RNG.standard_normal((3, 6, 6))}),
    "transposed": (transposed, bf.TwoLayer(8, 6).init(1.0)),
    "model": (bf.TwoLayer(8, 6), bf.TwoLayer(8, 6).init(1.0)),
    "diagonal": (bf.DiagonalNetwork(3), bf.DiagonalNetwork(3).init(0.7, dim=6)),
}


def jacobian(fn, params, X):
    """The whole Jacobian, in double precision."""
    with jax_in_double():
        exact = jax.tree_util.tree_map(jnp.asarray, params)
        leaves = jax.tree_util.tree_leaves(
            jax.jit(jax.jacrev(lambda w: fn(w, jnp.asarray(X))))(exact)
        )
        return np.hstack([np.asarray(leaf).reshape(len(X), -1) for leaf in leaves])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_the_gram_matrix_of_the_jacobian(name):
    fn, params = FUNCTIONS[name]
    J = jacobian(fn, params, X)
    K = bf.tangent_kernel(fn, params, X)
    size = np.max(np.abs(K))
    assert K.dtype == np.float64 and np.array_equal(K, K.T)
    np.testing.assert_allclose(K, J @ J.T, atol=1e-13 * size)


@pytest.mark.parametrize("name", ["mlp", "convolution"])
def test_blocks_change_nothing(name):
    fn, params = FUNCTIONS[name]
    J, J_other = jacobian(fn, params, X), jacobian(fn, params, X[:3] + 1)
    function = JaxFunction(fn, params)
    leaves = function.leaves("params", params)
    for inputs_at_once in (1, 3, 9):
        at = Tangent(function, leaves, 32.0 * inputs_at_once * function.cost(leaves, X))
        assert len(at.blocks(X)) == -(-9 // inputs_at_once)
        np.testing.assert_allclose(at.kernel(X), J @ J.T, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(at.kernel(X, X[:3] + 1), J @ J_other.T, rtol=1e-10, atol=1e-12)


def convolved(x, kernel, layout="NCHW", **settings):
    """A convolution with two outputs more than it needs, so that its factors are fewer."""
    numbers = (layout, "OIHW" if layout == "NCHW" else "HWIO", layout)
    settings = {"window_strides": (1, 1), "padding": "SAME", **settings}
    return jax.lax.conv_general_dilated(x, kernel, dimension_numbers=numbers, **settings)


CONVOLUTIONS = {
    "plain": ((5, 4, 3, 3), {}),
    "steps": ((5, 4, 3, 2), {"window_strides": (2, 1), "padding": ((1, 0), (0, 2))}),
    "spread": ((5, 4, 2, 2), {"rhs_dilation": (2, 1)}),
    "groups": ((6, 2, 3, 3), {"feature_group_count": 2}),
    "depthwise": ((8, 1, 2, 2), {"feature_group_count": 4}),
    "transposed": ((5, 4, 3, 3), {"lhs_dilation": (2, 2), "padding": ((1, 2), (2, 1))}),
    "cut": ((5, 4, 2, 2), {"padding": ((-1, 0), (1, -2))}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("apart", [True, False])
def test_convolutions(name, apart, monkeypatch):
    """Their factors kept, whichever order the products are made in, and gradients formed."""
    shape, settings = CONVOLUTIONS[name]
    rng = np.random.default_rng(3)
    kernel, images = rng.standard_normal(shape), rng.standard_normal((5, 4, 5, 6))

    def network(kernel, X):
        return jnp.tanh(convolved(X, kernel, **settings)).sum((2, 3))[:, :3]

    function = JaxFunction(network, kernel, Outputs("all"))
    leaves = function.leaves("params", kernel)
    made = function._planned(leaves, images)
    (unit,) = made.units
    assert unit.products == (0,)
    function._plans = {
        shape: replace(made, units=(replace(unit, formed=not apart),))
        for shape, made in function._plans.items()
    }
    with jax_in_double():
        J = np.asarray(jax.jacrev(lambda w: network(w, images))(jnp.asarray(kernel)))
    J = J.reshape(5, 3, -1)
    at = Tangent(function, leaves)
    for first in (False, True):
        monkeypatch.setattr(Shared, "by_places", lambda part, full, f=first: f and part.groups == 1)
        full = at.full_kernel(images)
        np.testing.assert_allclose(full, J.reshape(15, -1) @ J.reshape(15, -1).T, atol=1e-10)
        trace = np.einsum("iop,jop->ij", J[:4], J)
        np.testing.assert_allclose(at.kernel(images[:4], images), trace, atol=1e-10)


def test_a_kernel_shared_by_two_convolutions_and_channels_last():
    rng = np.random.default_rng(4)
    params = {"kernel": rng.standard_normal((2, 2, 3, 3)), "read": rng.standard_normal((3, 2))}
    images = rng.standard_normal((4, 4, 4, 3))

    def network(params, X):
        inner = jnp.tanh(convolved(X, params["kernel"], "NHWC"))
        for step in (1, 2):  # images of the same size, and then of another
            settings = {"window_strides": (step, step)}
            inner = jnp.tanh(convolved(inner, params["kernel"], "NHWC", **settings))
        return inner.mean((1, 2)) @ params["read"]

    function = JaxFunction(network, params, Outputs("all"))
    at = Tangent(function, function.leaves("params", params))
    made = function._planned(at.leaves, images)
    assert sorted(len(unit.products) for unit in made.units) == [1, 3]
    with jax_in_double():
        exact = jax.tree_util.tree_map(jnp.asarray, params)
        tree = jax.jacrev(lambda w: network(w, jnp.asarray(images)))(exact)
    J = np.concatenate([np.asarray(x).reshape(4, 2, -1) for x in tree.values()], axis=2)
    np.testing.assert_allclose(at.kernel(images), np.einsum("iop,jop->ij", J, J), atol=1e-11)


def test_large_networks_that_convolve_are_computed_in_single_precision():
    """JAX has no fast convolutions in double; portions and passes change nothing."""
    rng = np.random.default_rng(5)
    params = {
        "kernel": rng.standard_normal((8, 1, 3, 3)).astype(np.float32),
        "wide": rng.standard_normal((8 * 64, 2000)) / 30,
        "read": rng.standard_normal((2000, 2)) / 50,
    }
    images = rng.standard_normal((6, 1, 8, 8))

    def network(params, X):
        inner = jnp.tanh(convolved(X, params["kernel"])).reshape(len(X), -1)
        return jnp.tanh(inner @ params["wide"]) @ params["read"]

    small = tangent(network, params, images, "all", memory=2e5)
    assert len(small.function.portions(small.leaves, images, small.held)) > 1
    K = small.kernel(images)
    assert "single precision" in small.function.notes[0]
    with jax_in_double():
        exact = jax.tree_util.tree_map(lambda x: jnp.asarray(x, "float64"), params)
        tree = jax.jacrev(lambda w: network(w, jnp.asarray(images)))(exact)
    rows = [np.asarray(x).reshape(6, 2, -1) for x in tree.values()]
    expected = sum(np.einsum("iop,jop->ij", R, R) for R in rows)
    assert 1e-10 < np.max(np.abs(K / expected - 1)) < 1e-5


def test_what_is_taken_apart_and_what_is_not():
    """Weights that enter by products are, at several places too, and gradients that are fewer
    numbers than their factors are formed at once; biases and weights of a loop are not."""
    taken = {}
    for name, (fn, params) in FUNCTIONS.items():
        function = JaxFunction(fn, params)
        made = function._planned(function.leaves("params", params), X)
        apart = [bool(unit.products) for unit in made.units]
        formed = [unit.formed for unit in made.units]
        taken[name] = (sum(apart) - sum(formed), sum(formed), len(apart) - sum(apart))
    assert taken["mlp"] == taken["jitted"] == (2, 1, 3)
    assert taken["tied"] == (1, 0, 1) and taken["convolution"] == (0, 2, 0)
    assert taken["looped"] == (0, 0, 1) and taken["diagonal"] == (0, 0, 2)
    assert taken["transposed"] == taken["model"] == (1, 1, 0)


def test_a_transposed_weight_costs_no_more():
    """Weights laid out the other way round are moved once for all inputs, and are no part of what
    one input needs."""
    W, inputs = np.ones((60, 40)), RNG.standard_normal((3, 40))
    costs = []
    for fn, weights in (
        (lambda w, X: jnp.tanh(X @ w).sum(1), W.T),
        (lambda w, X: jnp.tanh(X @ w.T).sum(1), W),
    ):
        function = JaxFunction(fn, weights)
        costs.append(function.cost(function.leaves("params", weights), inputs))
    assert costs[0] == costs[1] < W.size


@pytest.mark.parametrize("name", ["model", "diagonal"])
def test_models_in_numpy_and_in_jax_agree(name):
    model, params = FUNCTIONS[name]
    own, traced = ModelFunction(model, params), JaxFunction(model, params)
    leaves = own.leaves("params", params)
    v, c = tuple(RNG.standard_normal(leaf.shape) for leaf in leaves), RNG.standard_normal(9)
    np.testing.assert_allclose(
        own.predictions(leaves, X), traced.predictions(leaves, X), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(
        own.pushforward(leaves, X, v), traced.pushforward(leaves, X, v), rtol=1e-12, atol=1e-12
    )
    for one, other in zip(own.pullback(leaves, X, c), traced.pullback(leaves, X, c), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        Tangent(traced, leaves).kernel(X), Tangent(own, leaves).kernel(X), rtol=1e-12, atol=1e-12
    )


def test_a_large_model_goes_through_jax_and_stays_below_its_memory():
    """40 thousand parameters and 50 inputs: the Jacobian would take 16 MB; 0.4 MB do."""
    model = bf.TwoLayer(400, 100)
    params, inputs = model.init(0.1), RNG.standard_normal((50, 100))
    K = bf.tangent_kernel(model, params, inputs, memory_b=4e5)
    rows = [np.reshape(leaf, (50, -1)) for leaf in model.jacobian(params, inputs)]
    np.testing.assert_allclose(K, sum(row @ row.T for row in rows), rtol=1e-10)
    at = tangent(model, params, inputs, memory=4e5)
    assert len(at.blocks(inputs)) > 1
    held = at.features(inputs[at.blocks(inputs)[0]])
    assert 2 * sum(array.nbytes for part in held.parts for array in part.arrays()) < 2e6


def test_single_precision_weights_are_computed_in_double():
    params = jax.tree_util.tree_map(lambda leaf: np.asarray(leaf, np.float32), dense([6, 12, 1]))
    K = bf.tangent_kernel(mlp, params, X)
    exact = bf.tangent_kernel(
        mlp, jax.tree_util.tree_map(lambda leaf: np.asarray(leaf, np.float64), params), X
    )
    assert np.array_equal(K, exact)


def test_an_equinox_module_and_one_of_its_outputs():
    eqx = pytest.importorskip("equinox")
    module = eqx.nn.MLP(6, 3, 7, 1, key=jax.random.PRNGKey(0))

    def second(weights, X):
        (W, b), (V, c) = weights
        return jax.nn.relu(X @ W.T + b) @ V[1] + c[1]

    weights = [
        (np.asarray(layer.weight, np.float64), np.asarray(layer.bias, np.float64))
        for layer in module.layers
    ]
    J = jacobian(second, weights, X)
    np.testing.assert_allclose(
        bf.tangent_kernel(module, module, X, output=1), J @ J.T, rtol=1e-12, atol=1e-12
    )


def test_a_torch_module():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.ReLU(), torch.nn.Linear(7, 1))
    weights = [
        (module[k].weight.detach().double().numpy().T, module[k].bias.detach().double().numpy())
        for k in (0, 2)
    ]
    expected = bf.tangent_kernel(mlp, weights, X)
    for params in (module, module.state_dict()):
        np.testing.assert_allclose(bf.tangent_kernel(module, params, X), expected, rtol=1e-12)
    np.testing.assert_allclose(
        bf.tangent_kernel(module, module, X, memory_b=2e3), expected, rtol=1e-12
    )


class TestBadInput:
    @pytest.mark.parametrize(
        "fn, params, inputs, options, words",
        [
            (lambda w, X: X @ w, np.ones((6, 3)), X, {}, ("network", "3 outputs", "output=0..2")),
            (lambda w, X: X @ w, np.ones((6, 3)), X, {"output": 3}, ("output", "0 to 2", "3")),
            (lambda w, X: (X @ w).sum(), np.ones(6), X, {}, ("network", "each of 2 inputs")),
            (
                lambda w, X: jnp.sqrt(jnp.abs(X @ w)),
                np.zeros(6),
                X,
                {},
                ("network", "gradient is not finite", "singular"),
            ),
            (
                lambda w, X: jnp.exp(X @ w),
                np.full(6, 1e5),
                X,
                {},
                ("network", "f = inf", "1e+05", "overflows"),
            ),
            (lambda w, X: X @ w, np.full(6, np.nan), X, {}, ("params", "nan", "finite")),
            (
                lambda w, X: X @ w - jnp.mean(X @ w),
                np.ones(6),
                X,
                {},
                ("network", "depends on the others", "normalisation"),
            ),
            (
                lambda w, X: np.maximum(np.asarray(X) @ np.asarray(w), 0),
                np.ones(6),
                X,
                {},
                ("network", "leaves JAX"),
            ),
            (lambda w, X: X @ w, np.ones(6), X, {"memory_b": 10.0}, ("memory_b", "one input")),
            (lambda w, X: X @ w, np.ones(6), X, {"memory_b": -1.0}, ("memory_b", "positive")),
            (lambda w, X: X @ w, np.arange(6), X, {}, ("params", "no floating-point array")),
            (lambda w, X: X @ w, np.ones(6), X[0], {}, ("X", "(6,)")),
            (3.0, np.ones(6), X, {}, ("network", "float")),
            (bf.TwoLayer(8, 5), bf.TwoLayer(8, 5).init(1.0), X, {}, ("data", "5", "6")),
        ],
    )
    def test_is_named(self, fn, params, inputs, options, words):
        with pytest.raises(bf.errors.InputError) as caught:
            bf.tangent_kernel(fn, params, inputs, **options)
        assert str(caught.value).startswith(words[0]) and all(
            word in str(caught.value) for word in words
        ), str(caught.value)


class TestTorch:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def kernel(self, module, inputs=X):
        return bf.tangent_kernel(module, module.state_dict(), inputs)

    def test_tied_weights_and_buffers_that_are_not_saved(self, torch):
        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = (
                    torch.nn.Linear(6, 6, bias=False),
                    torch.nn.Linear(6, 6, bias=False),
                )
                self.second.weight = self.first.weight
                self.register_buffer("mix", torch.linspace(-1, 1, 6), persistent=False)

            def forward(self, X):
                return self.second(torch.tanh(self.first(X))) @ self.mix

        torch.manual_seed(0)
        module = Tied()
        W = module.first.weight.detach().numpy().astype(float)
        mix = module.mix.numpy().astype(float)
        expected = bf.tangent_kernel(lambda w, X: jnp.tanh(X @ w.T) @ w.T @ mix, W, X)
        np.testing.assert_allclose(self.kernel(module), expected, rtol=1e-10)

    def test_inputs_that_influence_each_other_and_chance_are_refused(self, torch):
        nn = torch.nn
        for layer, words in ((nn.BatchNorm1d(6), "training"), (nn.Dropout(0.5), "chance")):
            module = nn.Sequential(nn.Linear(6, 6), layer, nn.Linear(6, 1)).double()
            before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
            with pytest.raises(bf.errors.InputError, match=words):
                self.kernel(module)
            assert all(tensor.equal(before[name]) for name, tensor in module.state_dict().items())
            assert self.kernel(module.eval()).shape == (len(X), len(X))

    def test_other_running_means_are_another_function(self, torch):
        nn = torch.nn
        module = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Linear(6, 1)).eval()
        later = {**module.state_dict(), "1.running_mean": torch.ones(6)}
        with pytest.raises(bf.errors.InputError, match=r"running_mean.*another function"):
            bf.regime.kernel_distance(module, module.state_dict(), later, X)

    def test_integers_stay_integers_where_the_module_takes_them(self, torch):
        nn = torch.nn
        torch.manual_seed(0)
        tokens = np.arange(12).reshape(4, 3) % 9
        words = nn.Sequential(nn.Embedding(9, 1), nn.Flatten(), nn.Linear(3, 1))
        assert self.kernel(words, tokens).shape == (4, 4)
        numbers = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        np.testing.assert_array_equal(
            self.kernel(numbers, tokens), self.kernel(numbers, tokens.astype(float))
        )
        with pytest.raises(bf.errors.InputError, match=r"fails on float64 inputs|fails on int64"):
            self.kernel(nn.Sequential(nn.Linear(5, 1)), tokens)


def test_equal_first_and_last_inputs_hide_no_influence():
    with pytest.raises(bf.errors.InputError, match="depends on the others"):
        bf.tangent_kernel(lambda w, X: (X - X.mean(0)) @ w, np.ones(6), np.vstack([X, X[:1]]))


def test_numbers_in_an_equinox_module_are_settings():
    eqx = pytest.importorskip("equinox")

    class Scaled(eqx.Module):
        linear: eqx.nn.Linear
        scale: float

        def __call__(self, x):
            return self.scale * self.linear(x)

    module = Scaled(eqx.nn.Linear(6, "scalar", use_bias=False, key=jax.random.PRNGKey(0)), 3.0)
    np.testing.assert_allclose(bf.tangent_kernel(module, module, X), 9 * X @ X.T, rtol=1e-12)
    assert bf.limits.homogeneity(module, module, X).degree == pytest.approx(1.0)
    with pytest.raises(bf.errors.InputError, match=r"setting \.scale is 2\.0, and 3\.0"):
        bf.regime.kernel_distance(module, module, Scaled(module.linear, 2.0), X)
