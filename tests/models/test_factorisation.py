import numpy as np
import pytest

import biasflow as bf
from biasflow import MatrixFactorisation, SquareLoss
from biasflow.errors import InputError, RefusedError, ScaleError
from biasflow.models import FactorParams

SHAPE = (3, 4)


def setting(seed=0, rank=5, n=6):
    rng = np.random.default_rng(seed)
    params = FactorParams(rng.standard_normal((3, rank)), rng.standard_normal((4, rank)))
    return MatrixFactorisation(SHAPE, rank), params, rng.standard_normal((n, 12)), rng


def test_predictions_are_inner_products_with_the_product():
    model, params, X, _ = setting()
    M = params.U @ params.V.T
    np.testing.assert_allclose(model.effective(params), M)
    np.testing.assert_allclose(
        model(params, X), [np.sum(M * x.reshape(SHAPE)) for x in X], atol=1e-13
    )
    assert model.features(X) is X and model.homogeneity == 2 and model.kinks is None


class TestStarts:
    def test_identity(self):
        U, V = MatrixFactorisation(SHAPE, 8).init(0.5)
        np.testing.assert_array_equal(U @ V.T, np.zeros(SHAPE))
        np.testing.assert_array_equal(U @ U.T, 0.5 * np.eye(3))
        np.testing.assert_array_equal(V @ V.T, 0.5 * np.eye(4))

    @pytest.mark.parametrize("rank", [2, 6, 40])
    def test_gaussian(self, rank):
        model = MatrixFactorisation(SHAPE, rank)
        U, V = model.init(1e-3, key=4, law="gaussian")
        assert U.shape == (3, rank) and V.shape == (4, rank)
        assert np.max(np.abs(U @ V.T)) <= 1e-6 * rank * 1e-13
        np.testing.assert_array_equal(U, model.init(1e-3, key=4, law="gaussian").U)
        assert not np.array_equal(U, model.init(1e-3, key=5, law="gaussian").U)
        with pytest.warns(DeprecationWarning, match="law=…"):
            np.testing.assert_array_equal(U, model.init(1e-3, key=4, start="gaussian").U)

    def test_gaussian_factors_are_standard(self):
        U, V = MatrixFactorisation((20, 20), 2000).init(2.0, law="gaussian")
        # 40 000 numbers: four standard errors
        numbers = np.concatenate([U[:, :1000].ravel(), V[:, :1000].ravel()]) / 2
        assert abs(numbers.mean()) < 4 / 200 and abs(numbers.var() - 1) < 4 * np.sqrt(2) / 200
        # U₀ and V₀ are independent
        assert abs(np.mean(U[:, :1000] * V[:, :1000])) < 4 * 4 / np.sqrt(20000)


def test_no_mirror_form_and_its_gradients_do_not_commute():
    small = MatrixFactorisation((2, 2), 4)
    defect = bf.diagnostics.commuting_defect(small, small.init(1.0))
    assert not defect.commutes and defect.kernel_defect > 1e-3
    model, params, X, _ = setting()
    ds = bf.Dataset(X, np.ones(6))
    with pytest.raises(RefusedError, match=r"mirror: .*do not commute"):
        bf.models.mirror(bf.Problem(model, ds, SquareLoss(), params))
    for given in ({"scale": 0.1}, {"start": params}):
        with pytest.raises(RefusedError, match=r"limit: .*min_nuclear_norm"):
            bf.limit(model, ds, **given)


class TestBadInput:
    @pytest.mark.parametrize(
        "make, words",
        [
            (
                lambda: MatrixFactorisation((3, 4), 0),
                r"rank: expected an integer of at least 1, found 0",
            ),
            (lambda: MatrixFactorisation((3, 4), 2.5), r"rank: expected an integer"),
            (lambda: MatrixFactorisation((3, 0), 2), r"shape\[1\]: .*at least 1, found 0"),
            (lambda: MatrixFactorisation(3, 2), r"shape: expected \(rows, cols\), found 3"),
            (lambda: MatrixFactorisation((3, 4, 5), 2), r"shape: expected \(rows, cols\)"),
            (
                lambda: MatrixFactorisation((3, 4), 6).init(0.1),
                r"rank: the identity start needs .* = 8 columns or more, found 6",
            ),
            (
                lambda: MatrixFactorisation((3, 4), 5).init(0.1, law="gaussian"),
                r"rank: an unbiased start .*even.*found 5",
            ),
            (
                lambda: MatrixFactorisation((3, 4), 8).init(0.1, law="zero"),
                r"law: expected one of 'identity', 'gaussian'",
            ),
            (
                lambda: MatrixFactorisation((3, 4), 8).init(0.1, dim=7),
                r"dim: 7 does not fit .* 12 entries",
            ),
            (lambda: MatrixFactorisation((3, 4), 8).init(np.nan), r"scale: .*finite.*nan"),
            (
                lambda: MatrixFactorisation((3, 4), 8).init([0.1, 0.2]),
                r"scale: expected a positive number",
            ),
            (
                lambda: MatrixFactorisation((3, 4), 8).init(0.1, key=-1, law="gaussian"),
                r"key: .*at least 0",
            ),
        ],
    )
    def test_malformed(self, make, words):
        with pytest.raises(InputError, match=words):
            make()

    @pytest.mark.parametrize("scale", [0.0, -1.0, 1e-320])
    def test_scales_that_are_not_positive_or_underflow(self, scale):
        with pytest.raises(ScaleError, match=r"scale: found"):
            MatrixFactorisation((3, 4), 8).init(scale)

    @pytest.mark.parametrize(
        "params, words",
        [
            (
                (np.ones((3, 5)), np.ones((4, 4))),
                r"start\.V: expected shape \(4, 5\), found \(4, 4\)",
            ),
            ((np.ones((4, 5)), np.ones((4, 5))), r"start\.U: expected shape \(3, 5\)"),
            ((np.ones((3, 5)), np.full((4, 5), np.nan)), r"start\.V: entry \(0, 0\) is nan"),
            ((np.ones((3, 5)),), r"start: expected FactorParams\(U, V\), found tuple"),
        ],
    )
    def test_parameters(self, params, words):
        with pytest.raises(InputError, match=words):
            bf.gradient_flow(
                MatrixFactorisation(SHAPE, 5),
                bf.Dataset(np.ones((2, 12)), [1.0, 1.0]),
                SquareLoss(),
                params,
            )

    def test_inputs_of_another_dimension(self):
        model, params, _, _ = setting()
        with pytest.raises(
            InputError,
            match=r"X: inputs have dimension 11, matrices of shape \(3, 4\) have 12 entries",
        ):
            bf.gradient_flow(model, bf.Dataset(np.ones((2, 11)), [1.0, 1.0]), SquareLoss(), params)
