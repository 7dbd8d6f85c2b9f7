import numpy as np
import pytest

from biasflow import (
    DiagonalNetwork,
    MatrixFactorisation,
    SquareLoss,
    bregman_projection,
    data,
    limit,
    tangent_kernel,
)
from biasflow.errors import InconsistentError, InputError, RefusedError, ScaleError
from biasflow.limits import kernel_interpolator, min_l2, tangent_kernel_limit
from biasflow.models import DiagonalParams

DEPTHS = (2, 3, 5)


def dataset(seed=0):
    return data.sparse_regression(n=6, d=15, sparsity=3, noise_var=0.1, key=seed)


def random_params(seed=0, d=15):
    rng = np.random.default_rng(seed)
    return DiagonalParams(rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 1.5, d))


@pytest.mark.parametrize("depth", DEPTHS)
def test_tangent_kernel_against_finite_differences(depth):
    """Central differences with h = 1e-5: truncation h² times third derivatives, rounding eps/h,
    both about 1e-10."""
    model, ds, params = DiagonalNetwork(depth), dataset(), random_params()
    flat, h = np.concatenate(params), 1e-5

    def predict(w):
        return model(DiagonalParams(w[:15], w[15:]), ds.X)

    jacobian = np.array(
        [(predict(flat + h * e) - predict(flat - h * e)) / (2 * h) for e in np.eye(30)]
    ).T
    K = tangent_kernel(model, params, ds.X)
    np.testing.assert_allclose(K, jacobian @ jacobian.T, rtol=1e-7, atol=1e-7 * np.max(np.abs(K)))
    assert np.array_equal(K, K.T) or np.max(np.abs(K - K.T)) <= 1e-14 * np.max(K)


@pytest.mark.parametrize("depth", DEPTHS)
def test_tangent_kernel_scales_with_homogeneity(depth):
    """W, §3: K(α) = α^{2(D−1)}K₀."""
    model, ds, params = DiagonalNetwork(depth), dataset(), random_params()
    alpha = 0.125
    scaled = DiagonalParams(alpha * params.plus, alpha * params.minus)
    expected = alpha ** (2 * (depth - 1)) * tangent_kernel(model, params, ds.X)
    np.testing.assert_allclose(tangent_kernel(model, scaled, ds.X), expected, rtol=1e-14)


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_uniform_start_linearises_to_least_l2(depth):
    model, ds = DiagonalNetwork(depth), dataset(1)
    for alpha in (1e-3, 1.0, 30.0):
        result = tangent_kernel_limit(model, ds, model.init(alpha, dim=15))
        np.testing.assert_allclose(result.value, min_l2(ds.X, ds.y).value, atol=1e-12)
        assert result.certificate.residual <= 1e-12


def test_any_start_linearises_to_its_weighted_projection():
    model, ds, params = DiagonalNetwork(3), dataset(2), random_params(3)
    k = 9 * (params.plus**4 + params.minus**4)
    beta0 = model.effective(params)
    kernel = (ds.X * k) @ ds.X.T
    expected = beta0 + k * (ds.X.T @ np.linalg.solve(kernel, ds.y - ds.X @ beta0))
    result = tangent_kernel_limit(model, ds, params)
    np.testing.assert_allclose(result.value, expected, atol=1e-11)
    assert result.objective == pytest.approx(
        np.sqrt(np.sum((expected - beta0) ** 2 / k)), rel=1e-11
    )


class TestKernelInterpolator:
    def test_solves_and_certifies(self):
        rng = np.random.default_rng(0)
        A = rng.standard_normal((5, 9))
        K, y = A @ A.T, rng.standard_normal(5)
        result = kernel_interpolator(K, y)
        np.testing.assert_allclose(K @ result.value, y, atol=1e-12)
        assert result.objective == pytest.approx(np.sqrt(y @ np.linalg.solve(K, y)), rel=1e-11)
        assert (
            result.certificate.gap <= 1e-11
            and result.certificate.residual <= 1e-12
            and result.stats["rank"] == 5
        )

    def test_singular_but_consistent(self):
        A = np.random.default_rng(1).standard_normal((5, 3))
        K = A @ A.T
        y = K @ np.arange(5.0)
        result = kernel_interpolator(K, y)
        assert result.stats["rank"] == 3
        np.testing.assert_allclose(K @ result.value, y, atol=1e-11)
        with pytest.raises(InconsistentError, match="rank 3 of 5"):
            kernel_interpolator(K, y + np.random.default_rng(2).standard_normal(5))

    def test_a_mode_of_rounding_does_not_fit_labels(self):
        """A factorisation of one column a side cannot reach these entries; its kernel is singular
        but for rounding."""
        for key in range(6):
            ds, model = data.completion((3, 3), 1, 5), MatrixFactorisation((3, 3), 2)
            with pytest.raises(InconsistentError, match="not in the range of K"):
                tangent_kernel_limit(model, ds, model.init(0.5, key=key, law="gaussian"))

    def test_what_only_floats_cannot_reach_is_said_so(self):
        for K, words in (
            ([[1.0, 1.0], [1.0, 1.0 + 2.0**-52]], "In exact arithmetic K reaches y"),
            (np.ones((2, 2)), "of K .rank 1"),
        ):
            with pytest.raises(InconsistentError, match=words):
                kernel_interpolator(K, [1.0, 2.0])

    def test_zero_labels(self):
        result = kernel_interpolator(np.eye(3), np.zeros(3))
        assert result.objective == 0.0 and result.certificate.gap == 0.0

    @pytest.mark.parametrize(
        "K, y, words",
        [
            ([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0], ("K", "symmetric")),
            ([[1.0, 2.0, 3.0], [0.0, 1.0, 3.0]], [1.0, 1.0], ("K", "symmetric")),
            ([[1.0, 0.0], [0.0, -1.0]], [1.0, 1.0], ("K", "positive semi-definite")),
            ([[1.0, 0.0], [0.0, np.nan]], [1.0, 1.0], ("K", "nan")),
            ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0], ("y", "2", "3")),
        ],
    )
    def test_bad_input(self, K, y, words):
        with pytest.raises(InputError) as caught:
            kernel_interpolator(K, y)
        assert str(caught.value).startswith(words[0]) and all(
            word in str(caught.value) for word in words
        )


class TestLimit:
    @pytest.mark.parametrize("depth", DEPTHS)
    @pytest.mark.parametrize("alpha", [2.0, 0.1, 1e-3])
    def test_start_scale_and_logarithm_agree(self, depth, alpha):
        model, ds = DiagonalNetwork(depth), dataset(4)
        by_scale = limit(model, ds, scale=alpha).value
        by_log = limit(model, ds, log_scale=np.log(alpha)).value
        by_params = limit(model, ds, start=model.init(alpha, dim=15)).value
        np.testing.assert_allclose(by_log, by_scale, atol=1e-11)
        np.testing.assert_allclose(by_params, by_scale, atol=1e-11)

    def test_the_normalisation_of_the_loss_does_not_matter(self):
        model, ds, params = DiagonalNetwork(3), dataset(5), random_params(6)
        values = [
            limit(model, ds, SquareLoss(c), start=params).value
            for c in ("half", "sum", "half-mean")
        ]
        for value in values[1:]:
            np.testing.assert_allclose(value, values[0], atol=1e-11)

    def test_a_vector_of_scales(self):
        model, ds = DiagonalNetwork(2), dataset(6)
        alpha = 10.0 ** np.linspace(-3, 0, 15)
        np.testing.assert_allclose(
            limit(model, ds, scale=alpha).value,
            limit(model, ds, start=model.init(alpha)).value,
            atol=1e-11,
        )

    def test_scales_below_float_range(self):
        model, ds = DiagonalNetwork(2), dataset(7)
        result = limit(model, ds, log_scale=-5000.0)
        assert result.certificate.residual <= 1e-11
        expected = bregman_projection(model.potential(log_scale=-5000.0), ds.X, ds.y).value
        assert np.array_equal(result.value, expected)

    @pytest.mark.parametrize(
        "arguments, error, words",
        [
            ({}, InputError, ("limit", "exactly one", "none")),
            (
                {"scale": 1.0, "log_scale": 0.0},
                InputError,
                ("limit", "exactly one", "scale, log_scale"),
            ),
            ({"scale": 1.0, "start": random_params()}, InputError, ("limit", "start, scale")),
            ({"scale": 0.0}, ScaleError, ("scale", "positive", "log_scale")),
            ({"scale": -1.0}, ScaleError, ("scale", "positive")),
            ({"scale": 1e-400}, ScaleError, ("scale", "log_scale")),
            ({"scale": 1e-310}, ScaleError, ("scale", "log_scale")),
            ({"scale": np.nan}, InputError, ("scale", "nan")),
            ({"scale": [1.0, 2.0]}, InputError, ("alpha", "2", "(15,)")),
            ({"start": random_params(d=3)}, InputError, ("start.plus", "15", "3")),
            ({"start": 3.0}, InputError, ("start", "DiagonalParams")),
            (
                {"start": DiagonalParams(np.zeros(15), np.zeros(15))},
                RefusedError,
                ("limit", "both weights zero"),
            ),
            (
                {"start": random_params(), "loss": "square"},
                InputError,
                ("loss", "SquareLoss", "str"),
            ),
        ],
    )
    def test_bad_arguments(self, arguments, error, words):
        loss = arguments.pop("loss", None) if "loss" in arguments else None
        with pytest.raises(error) as caught:
            limit(DiagonalNetwork(2), dataset(), loss, **arguments)
        assert str(caught.value).startswith(words[0]), str(caught.value)
        for word in words:
            assert word in str(caught.value), str(caught.value)
