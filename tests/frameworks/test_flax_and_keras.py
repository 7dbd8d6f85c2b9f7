"""Flax and Keras networks against the same network as a plain JAX function."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import biasflow as bf

pytestmark = pytest.mark.frameworks
RNG = np.random.default_rng(0)
X = RNG.standard_normal((8, 5))
IMAGES = RNG.standard_normal((6, 8, 8, 3))
Y = np.arange(8) % 3
MEASURES = ("linear_gap", "kernel_movement", "gradient_distance", "weight_movement", "label_gain")


def weights(key):
    rng = np.random.default_rng(key)
    return {
        "Dense_0": {"kernel": rng.standard_normal((5, 6)), "bias": rng.standard_normal(6)},
        "Dense_1": {"kernel": rng.standard_normal((6, 3)), "bias": rng.standard_normal(3)},
    }


def plain(params, X):
    import jax.numpy as jnp

    first, second = params["Dense_0"], params["Dense_1"]
    return jnp.tanh(X @ first["kernel"] + first["bias"]) @ second["kernel"] + second["bias"]


@pytest.fixture(scope="module")
def expected():
    return bf.probe(plain, [weights(0), weights(1)], X, Y, keys=1, layers=True)


def same(found, expected, layers):
    for name in MEASURES:
        value = expected.final[name].value
        assert found.final[name].value == pytest.approx(value, rel=1e-5), name
    assert len(found.layers) == len(layers)
    for mine, theirs in zip(layers, expected.layers, strict=True):
        moved = expected.layers[theirs][-1]["kernel_movement"].value
        assert found.layers[mine][-1]["kernel_movement"].value == pytest.approx(moved, rel=1e-5)


class TestLinen:
    @pytest.fixture
    def nn(self):
        return pytest.importorskip("flax.linen")

    def network(self, nn):
        class Network(nn.Module):
            @nn.compact
            def __call__(self, X):
                hidden = nn.tanh(nn.Dense(6)(X))
                return nn.Dense(3)(hidden)

        return Network()

    def test_variables_and_their_parameters_alone(self, nn, expected):
        network = self.network(nn)
        for checkpoints in (
            [{"params": weights(0)}, {"params": weights(1)}],
            [weights(0), weights(1)],
        ):
            found = bf.probe(network, checkpoints, X, Y, keys=1, layers=True)
            same(found, expected, ["Dense_0", "Dense_1"])

    def test_files(self, nn, expected, tmp_path):
        safetensors = pytest.importorskip("safetensors.numpy")
        for key in (0, 1):
            flat = {f"{a}.{b}": v for a, part in weights(key).items() for b, v in part.items()}
            safetensors.save_file(flat, tmp_path / f"{key}.safetensors")
        paths = [weights(0), tmp_path / "1.safetensors"]
        same(
            bf.probe(self.network(nn), paths, X, Y, keys=1, layers=True),
            expected,
            ["Dense_0", "Dense_1"],
        )

    def test_convolutions_and_running_means(self, nn):
        import jax
        import jax.numpy as jnp

        class Network(nn.Module):
            train: bool = False

            @nn.compact
            def __call__(self, images):
                x = nn.relu(
                    nn.BatchNorm(use_running_average=not self.train)(nn.Conv(6, (3, 3))(images))
                )
                x = nn.relu(nn.Conv(7, (3, 3), strides=2, padding="VALID")(x))
                return nn.Dense(4)(x.mean((1, 2)))

        network = Network()
        variables = network.init(jax.random.PRNGKey(0), jnp.asarray(IMAGES))
        J = jacobian(
            lambda p: network.apply({**variables, "params": p}, IMAGES), variables["params"]
        )
        K = bf.tangent_kernel(network, variables, IMAGES, output="all")
        np.testing.assert_allclose(K, J @ J.T, rtol=1e-4, atol=1e-4 * np.max(K))
        later = jax.tree.map(lambda leaf: leaf + 0.1, variables)
        with pytest.raises(bf.errors.InputError, match="buffers='last'"):
            bf.probe(network, [variables, later], IMAGES, keys=1)
        assert bf.probe(
            network, [variables, later], IMAGES, keys=1, buffers="last"
        ).trained.shape == (
            6,
            4,
        )
        with pytest.raises(bf.errors.InputError, match=r"inference mode|fails on inputs"):
            bf.probe(Network(train=True), [variables, variables], IMAGES, keys=1)
        with pytest.raises(bf.errors.InputError, match="variables of the module"):
            bf.probe(network, [variables, 3.0], IMAGES, keys=1)


def jacobian(function, params):
    """(n·outputs, weights), in JAX's own precision."""
    import jax

    values, rows = function(params), jax.jacrev(function)(params)
    return np.concatenate(
        [np.asarray(r, float).reshape(values.size, -1) for r in jax.tree.leaves(rows)], axis=1
    )


class TestSharedWeights:
    """JAX functions whose weights meet the network at several places."""

    @pytest.mark.parametrize("turned", [False, True])
    def test_sequences(self, turned):
        import jax.numpy as jnp

        texts, tokens = RNG.standard_normal((6, 3, 20)), RNG.integers(9, size=(6, 3))
        params = {
            "words": RNG.standard_normal((9, 20)),
            "W": RNG.standard_normal((30, 20) if turned else (20, 30)),
            "read": RNG.standard_normal((30, 4)),
        }

        def network(params, batch):
            x = batch["texts"] + params["words"][batch["tokens"]]
            x = (
                jnp.einsum("ntd,qd->nqt", x, params["W"])
                if turned
                else (x @ params["W"]).swapaxes(1, 2)
            )
            return jnp.tanh(x).mean(2) @ params["read"]

        batch = {"texts": texts, "tokens": tokens}
        J = jacobian(lambda p: network(p, batch), params)
        K = bf.tangent_kernel(network, params, batch, output="all")
        np.testing.assert_allclose(K, J @ J.T, rtol=1e-4, atol=1e-4 * np.max(K))


class TestNnx:
    def test_modules_and_states(self, expected):
        nnx = pytest.importorskip("flax.nnx")
        import jax.numpy as jnp

        class Network(nnx.Module):
            def __init__(self, rngs):
                self.first, self.second = (
                    nnx.Linear(5, 6, rngs=rngs),
                    nnx.Linear(6, 3, rngs=rngs),
                )
                self.off = nnx.Dropout(0.5, rngs=rngs, deterministic=True)

            def __call__(self, X):
                return self.second(self.off(jnp.tanh(self.first(X))))

        modules = []
        for key in (0, 1):
            module = Network(nnx.Rngs(0))
            for layer, part in zip(
                (module.first, module.second), weights(key).values(), strict=True
            ):
                layer.kernel[...], layer.bias[...] = part["kernel"], part["bias"]
            modules.append(module)
        found = bf.probe(modules[0], modules, X, Y, keys=1, layers=True)
        same(found, expected, ["first", "second"])
        states = [nnx.state(module, nnx.Param) for module in modules]
        same(bf.probe(modules[1], states, X, Y, keys=1, layers=True), expected, ["first", "second"])
        with pytest.raises(bf.errors.InputError, match=r"nnx\.state"):
            bf.probe(modules[0], [modules[0], 3.0], X, keys=1)
        modules[0].off.deterministic = False
        with pytest.raises(bf.errors.InputError, match=r"chance.*inference mode"):
            bf.probe(modules[0], modules, X, keys=1)


def test_linen_in_training_mode_is_refused_with_what_to_do():
    nn, jax = pytest.importorskip("flax.linen"), pytest.importorskip("jax")

    class Network(nn.Module):
        kind: str

        @nn.compact
        def __call__(self, x):
            x = nn.Dense(6)(x)
            if self.kind == "norm":
                x = nn.BatchNorm(use_running_average=False)(x)
            else:
                x = nn.Dropout(0.5, deterministic=False)(x)
            return nn.Dense(3)(x)

    for kind in ("norm", "dropout"):
        keys = {"params": jax.random.PRNGKey(0), "dropout": jax.random.PRNGKey(1)}
        variables = Network(kind).init(keys, X)
        with pytest.raises(bf.errors.InputError, match="training mode; build the module for"):
            bf.probe(Network(kind), [variables, variables], X, keys=1)


KERAS = """
import sys
import keras, numpy as np
import biasflow as bf
sys.path.insert(0, sys.argv[1])
from test_flax_and_keras import MEASURES, X, Y, plain, weights

def model():
    layers = keras.layers.Dense(6, "tanh"), keras.layers.Dropout(0.5), keras.layers.Dense(3)
    made = keras.Sequential([keras.Input((5,)), *layers])
    return made

models = []
for key in (0, 1):
    made = model()
    made.set_weights([v for part in weights(key).values() for v in part.values()])
    models.append(made)
expected = bf.probe(plain, [weights(0), weights(1)], X, Y, keys=1).final
found = bf.probe(models[0], models, X, Y, keys=1, layers=True)
again = bf.probe(models[0], [m.get_weights() for m in models], X, Y, keys=1)
for name in MEASURES:
    for other in (expected, again.final):
        np.testing.assert_allclose(
            found.final[name].value, other[name].value, rtol=1e-5, err_msg=name
        )
assert len(found.layers) == 2, list(found.layers)
few = models[0].get_weights()[:2]
for wrong, words in (([models[0], 3.0], "get_weights"), ([models[0], few], "4 arrays")):
    try:
        bf.probe(models[0], wrong, X, keys=1)
    except bf.errors.InputError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
images = keras.Sequential([
    keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3, activation="relu"),
    keras.layers.BatchNormalization(), keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(2),
])
pixels = np.random.default_rng(0).standard_normal((6, 8, 8, 3))
K = bf.tangent_kernel(images, images, pixels, output="trace")
assert np.all(np.linalg.eigvalsh(K) > -1e-6 * np.max(K)) and np.trace(K) > 0
print("same", list(found.layers))
"""


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_keras_on_either_backend(backend):
    if any(find_spec(needed) is None for needed in ("keras", backend)):
        pytest.skip(f"needs Keras and {backend}")
    done = subprocess.run(
        [sys.executable, "-c", KERAS, str(Path(__file__).parent)],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "same" in done.stdout, done.stderr
