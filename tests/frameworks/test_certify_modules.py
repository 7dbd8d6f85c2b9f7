"""`bf.certify` on modules of PyTorch, equinox, Flax and Keras, as people write them."""

import numpy as np
import pytest

import biasflow as bf

pytestmark = pytest.mark.frameworks
RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 2))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.3, 1.0, -1.0)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


def layers(torch, *modules):
    torch.manual_seed(0)
    return torch.nn.Sequential(*(make() for make in modules))


def plain(torch, width=16, bias=True):
    nn = torch.nn
    return layers(
        torch,
        lambda: nn.Linear(2, width, bias=bias),
        nn.ReLU,
        lambda: nn.Linear(width, 1, bias=False),
    )


@pytest.mark.parametrize("bias", [True, False])
def test_a_module_is_its_weights(torch, bias):
    module = plain(torch, bias=bias)
    weights = {name: p.detach().double().numpy() for name, p in module.named_parameters()}
    W = weights["0.weight"]
    if bias:
        W = np.column_stack([W, weights["0.bias"]])
    found = bf.certify(module, X, Y)
    same = bf.certify((weights["2.weight"][0], W), X, Y)
    assert found.kind == "two layers" and found.fraction.upper == same.fraction.upper


def test_training_raises_the_fraction_and_rescaling_lowers_it(torch):
    module = plain(torch)
    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)
    step = torch.optim.SGD(module.parameters(), lr=0.2)
    for _ in range(4000):
        step.zero_grad()
        torch.nn.functional.softplus(-labels * module(inputs)[:, 0]).mean().backward()
        step.step()
    found = bf.certify(module, X, Y)
    assert 0.3 < found.fraction.upper <= 1 and found.residual < 1
    scaled = {**module.state_dict(), "2.weight": 4 * module.state_dict()["2.weight"]}
    scaled |= {name: scaled[name] / 4 for name in ("0.weight", "0.bias")}
    lower = bf.certify(module, X, Y, params=scaled)
    assert lower.fraction.upper < found.fraction.lower
    assert "not balanced" in lower.reasons[0]


def test_what_is_refused(torch):
    nn = torch.nn
    cases = {
        "without 2.bias": (lambda: nn.Linear(2, 8), nn.ReLU, lambda: nn.Linear(8, 1)),
        "smooth activations": (
            lambda: nn.Linear(2, 8),
            nn.GELU,
            lambda: nn.Linear(8, 1, bias=False),
        ),
        "normalisation": (
            lambda: nn.Linear(2, 8),
            lambda: nn.LayerNorm(8),
            nn.ReLU,
            lambda: nn.Linear(8, 1, bias=False),
        ),
        "2 outputs": (lambda: nn.Linear(2, 8), nn.ReLU, lambda: nn.Linear(8, 2, bias=False)),
    }
    for match, modules in cases.items():
        with pytest.raises(bf.errors.InputError, match=match):
            bf.certify(layers(torch, *modules).eval(), X, Y)


def test_deeper_modules(torch):
    nn = torch.nn
    module = layers(
        torch,
        lambda: nn.Linear(2, 8),
        nn.ReLU,
        lambda: nn.Linear(8, 8, bias=False),
        nn.ReLU,
        lambda: nn.Linear(8, 1, bias=False),
    )
    found = bf.certify(module, X, Y)
    assert found.kind == "homogeneous" and found.homogeneity.degree == pytest.approx(3)
    assert found.fraction is None


def test_equinox():
    eqx, jax = pytest.importorskip("equinox"), pytest.importorskip("jax")
    module = eqx.nn.MLP(2, "scalar", 8, 1, use_final_bias=False, key=jax.random.key(0))
    assert bf.certify(module, X, Y).kind == "two layers"


def test_nnx():
    nnx = pytest.importorskip("flax.nnx")

    class Two(nnx.Module):
        def __init__(self, rngs):
            self.first = nnx.Linear(2, 8, rngs=rngs)
            self.second = nnx.Linear(8, 1, use_bias=False, rngs=rngs)

        def __call__(self, x):
            return self.second(nnx.relu(self.first(x)))

    assert bf.certify(Two(nnx.Rngs(0)), X, Y).kind == "two layers"


def test_keras():
    keras = pytest.importorskip("keras")
    model = keras.Sequential(
        [keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1, use_bias=False)]
    )
    model(X)
    assert bf.certify(model, X, Y).kind == "two layers"
