"""The regime probe: its measures against their definitions, its verdicts where the regime is known,
its words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.double_precision import jax_in_double
from biasflow.regime.measures import Estimate

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 5))
Y = np.sign(X[:, 0])
MOVEMENTS = {"kernel_movement", "kernel_turn", "gradient_distance", "linear_gap", "weight_movement"}
MEASURES = MOVEMENTS | {"degree", "label_alignment", "label_gain", "loss", "effective_rank"}
SMALL = bf.TwoLayer(30, 5)  # small models are differentiated in NumPy: nothing to compile


def network(params, X):
    return jnp.tanh(X @ params[0]) @ params[1]


def init(seed):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((5, 8)), rng.standard_normal(8)]


def moved(params, amount, seed=7):
    rng = np.random.default_rng(seed)
    return [leaf + amount * rng.standard_normal(leaf.shape) for leaf in params]


START, END = init(0), moved(init(0), 0.3)


@pytest.fixture(scope="module")
def found():
    return bf.probe(
        network, [START, moved(START, 0.1), END], X, Y, keys=3, init=init, times=[0, 1, 5]
    )


def diagonal_run(alpha, key=0):
    ds = bf.data.sparse_regression(n=15, d=40, sparsity=3, noise_var=0.0, key=key)
    model = bf.DiagonalNetwork(2)
    start = model.init(alpha, dim=40)
    return (
        model,
        [start, bf.gradient_flow(model, ds, bf.SquareLoss("sum"), start).final],
        ds.X,
        ds.y,
    )


def test_measures_are_their_definitions(found):
    with jax_in_double():
        J0, J = (
            np.hstack(
                [
                    np.asarray(part).reshape(20, -1)
                    for part in jax.jit(jax.jacrev(lambda w: network(w, jnp.asarray(X))))(w)
                ]
            )
            for w in ([jnp.asarray(leaf) for leaf in START], [jnp.asarray(leaf) for leaf in END])
        )
        f0, f = (np.asarray(network(w, X)) for w in (START, END))
    w0, w = (np.concatenate([leaf.ravel() for leaf in part]) for part in (START, END))
    K0, K = J0 @ J0.T, J @ J.T
    H = np.eye(20) - 1 / 20
    y = H @ Y

    def cosine(a, b):
        return np.sum(a * b) / np.sqrt(np.sum(a * a) * np.sum(b * b))

    expected = {
        "kernel_movement": np.linalg.norm(K - K0) / np.linalg.norm(K0),
        "kernel_turn": 1 - cosine(H @ K @ H, H @ K0 @ H),
        "gradient_distance": np.mean([1 - cosine(a, b) for a, b in zip(J0, J, strict=True)]),
        "linear_gap": np.linalg.norm(f - f0 - J0 @ (w - w0)) / np.linalg.norm(f - f0),
        "weight_movement": np.linalg.norm(w - w0) / np.linalg.norm(w0),
        "degree": f @ (J @ w) / (f @ f),
        "label_alignment": y @ K @ y / (np.linalg.norm(H @ K @ H) * (y @ y)),
        "label_gain": cosine(H @ K @ H, np.outer(y, y)) - cosine(H @ K0 @ H, np.outer(y, y)),
        "loss": np.mean((f - Y) ** 2),
        "effective_rank": np.trace(H @ K @ H) ** 2 / np.sum((H @ K @ H) ** 2),
    }
    assert set(found.final) == set(expected) == MEASURES
    for name, value in expected.items():
        # f in JAX's own single precision where eager
        assert found.final[name].value == pytest.approx(value, rel=1e-6), name
        assert found.final[name].error >= 0


def two_layer_run(key, amount=0.3):
    start = SMALL.init(1.0, key=key)
    return [start, bf.models.TwoLayerParams(*moved(start, amount, seed=key))]


def test_the_error_is_what_other_inputs_would_do():
    """The same weights on 40 fresh draws of inputs: the spread of each movement is its jackknife
    error within a factor of 1.6.

    A standard deviation from 40 draws is known to 11%, the median jackknife error is biased by a
    few percent at n = 40."""
    rng, run = np.random.default_rng(3), two_layer_run(0)
    values = [bf.probe(SMALL, run, rng.standard_normal((40, 5)), keys=1).final for _ in range(40)]
    for name in ("kernel_movement", "gradient_distance", "linear_gap"):
        spread = np.std([value[name].value for value in values], ddof=1)
        assert spread / 1.6 <= np.median([value[name].error for value in values]) <= 1.6 * spread, (
            name
        )


def test_the_distances_alone_are_those_of_the_probe(found):
    assert bf.regime.kernel_distance(network, START, END, X) == pytest.approx(
        found.final["kernel_movement"].value, rel=1e-12
    )
    assert bf.regime.gradient_distance(network, START, END, X, memory_b=1e5) == pytest.approx(
        found.final["gradient_distance"].value, rel=1e-12
    )
    assert np.isnan(
        bf.regime.kernel_distance(
            SMALL, bf.models.TwoLayerParams(np.zeros(30), np.zeros((30, 5))), SMALL.init(1.0), X
        )
    )
    with pytest.raises(bf.errors.InputError, match=r"params: .*shape"):
        bf.regime.gradient_distance(network, START, [START[0], np.ones(9)], X)


def test_the_null_reference_is_another_seed(found):
    K = [bf.tangent_kernel(network, init(seed), X) for seed in range(4)]
    distances = [np.linalg.norm(other - K[0]) / np.linalg.norm(K[0]) for other in K[1:]]
    assert found.null["kernel_movement"].value == pytest.approx(np.mean(distances))
    assert found.null["kernel_movement"].error == pytest.approx(np.std(distances, ddof=1))
    assert found.drawn == "by init"


def test_shuffled_weights_are_a_reference_too(found):
    shuffled = bf.probe(network, [START, END], X, Y, keys=3)
    assert "shuffling" in shuffled.drawn
    assert shuffled.null["kernel_movement"].value == pytest.approx(
        found.null["kernel_movement"].value, rel=1.0
    )
    assert shuffled.final == found.final  # the reference changes nothing else


@pytest.mark.parametrize(("alpha", "verdict"), [(1e-3, "rich"), (30.0, "kernel")])
def test_diagonal_networks_are_rich_from_small_scales_and_kernel_machines_from_large_ones(
    alpha, verdict
):
    probed = bf.probe(*diagonal_run(alpha))
    assert probed.verdict == verdict
    assert probed.homogeneity and probed.homogeneity.degree == pytest.approx(2)
    assert (
        not np.isfinite(probed.null["kernel_turn"].value)
        or probed.null["kernel_movement"].value == 0
    )
    assert "init=" in probed.describe()  # equal weights have nothing to shuffle


def test_a_linear_model_is_a_kernel_machine_exactly():
    probed = bf.probe(lambda w, X: X @ w, [np.ones(5), RNG.standard_normal(5)], X)
    assert probed.verdict == "kernel"
    assert (
        max(
            probed.final[name].value
            for name in ("kernel_movement", "gradient_distance", "linear_gap")
        )
        <= 1e-12
    )
    assert np.isnan(probed.final["label_alignment"].value)


def test_a_network_that_did_not_move():
    with pytest.warns(DeprecationWarning, match="keys=…"):
        probed = bf.probe(SMALL, [SMALL.init(1.0)] * 2, X, Y, seeds=1)
    assert probed.verdict == "unmoved" and "nothing to judge" in probed.describe()


def test_several_runs_widen_the_error():
    first, *runs = (two_layer_run(key) for key in range(4))
    together = bf.probe(SMALL, first, X, keys=1, runs=runs)
    values = [bf.probe(SMALL, run, X, keys=1).final["linear_gap"].value for run in (first, *runs)]
    gap = together.final["linear_gap"]
    assert gap.value == pytest.approx(np.mean(values)) and gap.error >= np.std(values, ddof=1)
    assert "4 runs" in together.describe()


def test_words_and_picture(found, tmp_path):
    text = found.describe()
    assert text.startswith(f"Verdict: {found.verdict}") and "\n" not in text
    assert str(found) == repr(found) and len(str(found).splitlines()) < 12  # not the paragraph
    for words in (
        "seed",
        "tangent kernel",
        "Linearised at its start",
        "cosine distance",
        "labels",
        "homogeneous",
        "jackknife",
    ):
        assert words in text, words
    figure = found.plot()
    assert (
        len(figure.axes) == 3 and len(bf.probe(SMALL, two_layer_run(0), X, keys=1).plot().axes) == 2
    )
    figure.savefig(tmp_path / "probe.png")
    assert all(axis.get_xlabel() for axis in figure.axes)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.5678, 0.0234, "0.57 ± 0.02"),
        (12.3, 4.0, "12 ± 4"),
        (0.1, 0.0, "0.1"),
        (0.02168, 7e-4, "0.0217 ± 0.0007"),
        (1.7e-6, 2e-7, "1.7e-06 ± 2e-07"),
    ],
)
def test_estimates_print_the_digits_they_have(value, error, text):
    assert str(Estimate(value, error)) == text


def test_networks_of_other_libraries_give_the_same_numbers():
    torch, eqx = pytest.importorskip("torch"), pytest.importorskip("equinox")

    def dense(params, X):
        (W, b), (V, c) = params
        return (jax.nn.relu(X @ W + b) @ V + c)[:, 0]

    weights = [
        [
            (RNG.standard_normal((5, 6)), RNG.standard_normal(6)),
            (RNG.standard_normal((6, 1)), np.ones(1)),
        ]
        for _ in range(2)
    ]
    expected = bf.probe(dense, weights, X, Y, keys=1).final
    modules, states = [], []
    for layers in weights:
        template = eqx.nn.MLP(5, 1, 6, 1, key=jax.random.PRNGKey(0))

        def where(m):
            return [part for layer in m.layers for part in (layer.weight, layer.bias)]

        modules.append(eqx.tree_at(where, template, [part for W, b in layers for part in (W.T, b)]))
        tensors = {
            f"{k}.{name}": torch.tensor(part)
            for (W, b), k in zip(layers, (0, 2), strict=True)
            for name, part in (("weight", W.T), ("bias", b))
        }
        states.append(tensors)
    net = torch.nn.Sequential(torch.nn.Linear(5, 6), torch.nn.ReLU(), torch.nn.Linear(6, 1))
    for fn, checkpoints in ((modules[0], modules), (net, states)):
        probed = bf.probe(fn, checkpoints, X, Y, keys=1).final
        for name in MEASURES:
            assert probed[name].value == pytest.approx(expected[name].value, rel=1e-9), (
                type(fn).__name__,
                name,
            )


class TestBadInput:
    @pytest.mark.parametrize(
        ("checkpoints", "words"),
        [
            ([START], ("checkpoints", "at least two", "1")),
            ([START, [START[0], np.ones(9)]], ("checkpoints[1]", "shape (9,)", "(8,)")),
            ([START, [START[0]]], ("checkpoints[1]", "1 leaves", "2 at [1]")),
            ([START, {"W": START[0], "a": START[1]}], ("checkpoints[1]", "differs", "['W']")),
            (
                [START, [START[0] * np.nan, START[1]]],
                ("checkpoints[1][0]", "nan", "diverged", "step size"),
            ),
            (
                [[1e200 * START[0], 1e308 * np.ones(8)], START],
                ("checkpoints[0]", "overflows", "1e+308"),
            ),
        ],
    )
    def test_checkpoints(self, checkpoints, words):
        with pytest.raises(bf.errors.InputError) as caught:
            bf.probe(network, checkpoints, X)
        assert str(caught.value).startswith(words[0]) and all(
            word in str(caught.value) for word in words
        ), str(caught.value)

    def test_the_rest(self):
        for arguments, options, words in (
            ((lambda w, X: X @ w, [np.ones((5, 3))] * 2, X), {"output": 3}, "from 0 to 2"),
            ((network, [START, END], X), {"output": "some"}, "output: expected a number"),
            ((network, [START, END], X), {"parameters": "layer*"}, "they are 0, 1"),
            ((network, [START, END], X), {"buffers": "mine"}, "buffers"),
            ((network, [START, END], X[:3]), {}, "X: expected at least 4"),
            ((network, [START, END], X, Y[:3]), {}, "y: expected 20"),
            ((network, [START, END], X), {"times": [0.0]}, "times: expected length 2"),
            ((network, [START, END], X), {"keys": 0}, "keys"),
            ((network, [START, END], X), {"runs": [[START]]}, r"runs\[0\]: expected at least two"),
            (
                (network, [START, END], X),
                {"init": lambda seed: [np.ones(3), np.ones(2)]},
                r"init\(1\)",
            ),
        ):
            with pytest.raises(bf.errors.InputError, match=words):
                bf.probe(*arguments, **options)


def test_class_numbers_are_read_as_one_class_against_the_rest():
    digits = np.arange(20) % 3
    wide = lambda w, X: jnp.tanh(X @ w[0]) @ w[1]  # noqa: E731
    start, end = ([RNG.standard_normal((5, 8)), RNG.standard_normal((8, 3))] for _ in range(2))
    by_number = bf.probe(wide, [start, end], X, digits, output=1, keys=1)
    by_label = bf.probe(wide, [start, end], X, np.where(digits == 1, 1.0, -1.0), output=1, keys=1)
    assert by_number.final["label_alignment"] == by_label.final["label_alignment"]


def test_a_start_without_a_kernel_is_left_by_features_alone():
    """At w = 0 a product of two weights has no gradient: whatever was learned, the linearised
    network misses."""
    inputs = np.random.default_rng(0).standard_normal((8, 2))
    found = bf.probe(lambda w, X: w[0] * (X @ w[1:]), [np.zeros(3), np.ones(3)], inputs, keys=1)
    assert found.verdict == "rich" and found.final["linear_gap"].value == 1.0
    assert (
        np.isnan(found.final["kernel_movement"].value)
        and "vanishes at the start" in found.describe()
    )


def test_a_network_that_died_learned_no_features():
    model = bf.DeepNetwork((5, 6))
    start = model.init(1.0)
    off = bf.models.DeepParams((0 * start.weights[0], start.weights[1]))
    found = bf.probe(model, [start, off], np.random.default_rng(0).standard_normal((8, 5)), keys=1)
    assert found.verdict == "dead" and "every unit is off" in found.describe()


def test_a_scale_whose_kernel_overflows_is_named():
    model = bf.DeepNetwork((5, 6))
    start = model.init(1.0)
    far = bf.models.DeepParams(tuple(1e100 * W for W in start.weights))
    with pytest.raises(bf.errors.InputError, match=r"checkpoints\[1\].*overflows"):
        bf.probe(model, [start, far], np.random.default_rng(0).standard_normal((8, 5)), keys=1)
