"""u∘v: derivatives, the pair of weights that it stands for, its mirror form."""

import numpy as np
import pytest

import biasflow as bf

MODEL = bf.ProductNetwork()


def setting(seed=0, n=5, d=7):
    rng = np.random.default_rng(seed)
    ds = bf.data.sparse_regression(n=n, d=d, sparsity=2, key=seed)
    return ds, bf.models.ProductParams(rng.uniform(0.5, 1.5, d), rng.uniform(-0.4, 0.4, d))


def test_it_is_a_pair_of_weights_per_coordinate():
    ds, params = setting(2)
    pair = MODEL.paired(params)
    np.testing.assert_allclose(
        bf.DiagonalNetwork(2).effective(pair), MODEL.effective(params), atol=1e-15
    )
    np.testing.assert_allclose(MODEL(params, ds.X), bf.DiagonalNetwork(2)(pair, ds.X), atol=1e-13)
    assert MODEL.homogeneity == 2
    stacked = bf.models.ProductParams(np.stack([params.u] * 3), np.stack([params.v] * 3))
    assert MODEL.effective(stacked).shape == (3, 7) and MODEL(stacked, ds.X).shape == (3, 5)


@pytest.mark.parametrize("normalisation", ["sum", "half", "half-mean"])
def test_dual_flow_and_weights_agree(normalisation):
    ds, params = setting(3)
    loss = bf.SquareLoss(normalisation)
    flows = [
        bf.gradient_flow(MODEL, ds, loss, params, t1=2.0, method=method)
        for method in ("dual", "weights")
    ]
    ends = [flow.final for flow in flows]
    for one, two in zip(*ends, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)


def test_the_limit_from_a_scale_is_that_of_its_start():
    ds, _ = setting(4)
    by_scale = bf.limit(MODEL, ds, scale=0.3).value
    by_start = bf.limit(MODEL, ds, start=MODEL.init(0.3, dim=7)).value
    np.testing.assert_allclose(by_scale, by_start, atol=1e-10)
    halves = bf.limit(bf.DiagonalNetwork(2), ds, scale=0.15).value  # w± = α/2
    np.testing.assert_allclose(by_scale, halves, atol=1e-10)


def test_a_unit_without_weights_never_moves():
    ds, params = setting(5)
    dead = bf.models.ProductParams(
        np.where(np.arange(7) == 2, 0.0, params.u), np.where(np.arange(7) == 2, 0.0, params.v)
    )
    with pytest.raises(bf.errors.RefusedError, match="coordinate 2"):
        bf.models.mirror(bf.Problem(MODEL, ds, bf.SquareLoss("sum"), dead))


@pytest.mark.parametrize(
    "wrong", [(np.ones(7),), 3.0, (np.ones(7), np.ones(6)), (np.ones(7), np.full(7, np.nan))]
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(bf.errors.InputError, match="start"):
        MODEL.checked(wrong, 7)
