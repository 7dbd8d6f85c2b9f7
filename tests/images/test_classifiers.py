"""Networks for images: shapes, starts, homogeneity."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.images.classifiers import VggNetwork, WideNetwork

SMALL = VggNetwork(((4,), (6, 6)), side=8)
EPS = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("network, inputs", [(WideNetwork(30, 12), (5, 12)), (SMALL, (5, 8, 8, 3))])
def test_homogeneous_in_the_scale_of_the_start(network, inputs):
    import jax

    x = np.random.default_rng(0).normal(size=inputs).astype(np.float32)
    one, two, other = jax.jit(
        lambda: [network.init(scale, key=key) for scale, key in ((1.0, 3), (2.0, 3), (1.0, 4))]
    )()
    compiled = jax.jit(network)
    f = np.asarray(compiled(one, x))
    assert f.shape == (5, 10) and f.dtype == np.float32
    assert np.array_equal(np.asarray(one.output) * 2, np.asarray(two.output))
    assert np.asarray(compiled(two, x)) == pytest.approx(
        2.0**network.homogeneity * f, rel=100 * EPS, abs=100 * EPS
    )
    assert not np.array_equal(np.asarray(other.output), np.asarray(one.output))


def test_starts_have_the_variance_of_he():
    W, a = WideNetwork(500, 784).init(3.0), VggNetwork(((64,),)).init(3.0)
    for leaf, inputs in (
        (W.hidden[0], 784),
        (W.output, 500),
        (a.hidden[0], 9 * 3),
        (a.output, 16384),
    ):
        held = np.asarray(leaf, np.float64)
        error = 4 * np.sqrt(2 / held.size)  # four standard errors of a variance
        assert np.mean(held**2) == pytest.approx(9 * 2 / inputs, rel=error)
    assert np.max(np.abs(a.hidden[0])) <= 3 * np.sqrt(6 / (9 * 3))


def test_vgg_is_the_papers():
    import jax

    params = jax.eval_shape(lambda: VggNetwork().init(1.0))
    assert [leaf.shape for leaf in params.hidden] == [
        (3, 3, *pair)
        for pair in ((3, 64), (64, 128), (128, 256), (256, 256), (256, 512), (512, 512))
    ]
    assert params.output.shape == (10, 2048) and VggNetwork().homogeneity == 7


def test_vgg_against_pytorch():
    torch = pytest.importorskip("torch")
    import jax

    params, x = (
        jax.jit(lambda: SMALL.init(1.0))(),
        np.random.default_rng(0).normal(size=(3, 8, 8, 3)).astype(np.float32),
    )
    h, layers = torch.tensor(x.transpose(0, 3, 1, 2)), iter(params.hidden)
    for block in SMALL.blocks:
        for _ in block:
            kernel = torch.tensor(np.asarray(next(layers)).transpose(3, 2, 0, 1).copy())
            h = torch.relu(torch.nn.functional.conv2d(h, kernel, padding=1))
        h = torch.nn.functional.max_pool2d(h, 2)
    expected = h.numpy().transpose(0, 2, 3, 1).reshape(3, -1) @ np.asarray(params.output).T
    assert np.asarray(jax.jit(SMALL)(params, x)) == pytest.approx(
        expected, rel=1000 * EPS, abs=1000 * EPS
    )


def test_slopes_of_vgg_are_those_of_plain_layers():
    """Pooling before the positive part changes nothing; bfloat16 no more than its rounding."""
    import jax
    import jax.numpy as jnp

    x = np.random.default_rng(0).normal(size=(3, 8, 8, 3)).astype(np.float32)
    params = SMALL.init(1.0)

    def plain(params, x):
        layers = iter(params.hidden)
        for block in SMALL.blocks:
            for _ in block:
                x = jax.nn.relu(
                    jax.lax.conv_general_dilated(
                        x, next(layers), (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
                    )
                )
            n, h, w, c = x.shape
            x = x.reshape(n, h // 2, 2, w // 2, 2, c).max(axis=(2, 4))
        return x.reshape(len(x), -1) @ params.output.T

    def slopes(function, x):
        return jax.jit(jax.grad(lambda params: jnp.sum(function(params, x)[:, 1])))(params)

    expected = jax.tree.leaves(slopes(plain, x))
    for given, tolerance in ((x, 1e-5), (x.astype(jnp.bfloat16), 0.05)):
        for found, wanted in zip(jax.tree.leaves(slopes(SMALL, given)), expected, strict=True):
            size = float(np.max(np.abs(wanted)))
            assert found.dtype == np.float32
            assert np.asarray(found) == pytest.approx(np.asarray(wanted), abs=tolerance * size)


def test_pixels():
    rng = np.random.default_rng(0)
    train, test = (rng.integers(0, 256, (n, 8, 8, 3), dtype=np.uint8) for n in (50, 20))
    x, t = WideNetwork(5, 192).prepared(train, test)
    assert (
        x.shape == (50, 192)
        and x.min() >= 0
        and x.max() <= 1
        and np.array_equal(t[0] * 255, test[0].reshape(-1))
    )
    x, _ = WideNetwork(5, 192, pixels="standardised").prepared(train, test)
    assert (np.mean(x), np.std(x)) == pytest.approx((0, 1), abs=1e-5)
    x, _ = SMALL.prepared(train, test)
    assert np.mean(x, axis=(0, 1, 2)) == pytest.approx(np.zeros(3), abs=1e-5) and np.std(
        x
    ) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    "bad", [{"width": 0}, {"width": 5, "classes": 1.5}, {"width": 5, "pixels": "raw"}]
)
def test_bad_networks(bad):
    with pytest.raises(bf.errors.InputError):
        WideNetwork(**bad)


@pytest.mark.parametrize("network", [WideNetwork(5), SMALL])
def test_bad_starts(network):
    with pytest.raises(bf.errors.InputError, match="scale"):
        network.init(-1.0)
    with pytest.raises(bf.errors.InputError, match="key"):
        network.init(1.0, key=-1)
