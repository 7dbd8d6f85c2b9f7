"""Whether coordinate gradients commute: models whose answer is known, as biasflow models, NumPy and
JAX functions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import biasflow as bf
from biasflow import SquareLoss
from biasflow.diagnostics import commuting_defect
from biasflow.errors import InputError

RNG = np.random.default_rng(0)
X, DESIGN = RNG.standard_normal((4, 3)), RNG.standard_normal((3, 5))


def factorised(params):
    """UVᵀ, all entries."""
    return (params[0] @ params[1].T).ravel()


def relu_network(params, inputs):
    return np.maximum(inputs @ params[0].T, 0) @ params[1]


def same_potential(one, two, d):
    points = np.random.default_rng(1).standard_normal((3, d))
    for beta in points:
        np.testing.assert_allclose(one.grad(beta), two.grad(beta), rtol=1e-12, atol=1e-14)


class TestMirrorFlows:
    @pytest.mark.parametrize("depth", [2, 3, 4])
    @pytest.mark.parametrize("inputs", [None, X], ids=["coordinates", "predictions"])
    def test_diagonal_networks(self, depth, inputs):
        model = bf.DiagonalNetwork(depth)
        params = bf.models.DiagonalParams(RNG.uniform(0.5, 1.5, 3), RNG.uniform(0.5, 1.5, 3))
        found = commuting_defect(model, params, inputs)
        assert found and found.commutes and found.defect < 1e-5 and found.points == 4
        assert str(found).startswith(
            "a mirror flow: the coordinate gradients commute"
        ) and "its potential is Scaled" in str(found)
        problem = bf.Problem(model, bf.Dataset(X, np.ones(4)), SquareLoss("half"), params)
        same_potential(found.potential, bf.models.mirror(problem).potential, 3)

    @pytest.mark.parametrize("inputs", [None, X], ids=["coordinates", "predictions"])
    def test_fixed_directions(self, inputs):
        model, params = bf.models.random_network(6, 3, 1.0, key=1)
        found = commuting_defect(model, params, inputs)
        assert found.commutes and found.kernel_defect < 1e-5
        problem = bf.Problem(model, bf.Dataset(X, np.ones(4)), SquareLoss("half"), params)
        same_potential(found.potential, bf.models.mirror(problem).potential, 6)

    def test_outside_the_cone_no_potential_is_handed_over(self):
        """ab commutes wherever it is smooth, but R's reduction needs a² ≥ b²."""
        found = commuting_defect(
            bf.FixedDirections(np.eye(2)),
            bf.models.FixedDirectionsParams(np.ones(2), np.array([2.0, 0.0])),
        )
        assert (
            found.commutes
            and found.potential is None
            and "its potential is not known here" in str(found)
        )

    @pytest.mark.parametrize("depth", [2, 3])
    def test_diagonal_network_as_a_function(self, depth):
        params = (RNG.uniform(0.5, 1.5, 5), RNG.uniform(0.5, 1.5, 5))
        found = commuting_defect(lambda w: DESIGN @ (w[0] ** depth - w[1] ** depth), params)
        assert found.commutes and found.potential is None and found.error < 1e-3

    @given(seed=st.integers(0, 10**6), affine=st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_linear_models(self, seed, affine):
        """No curvature at all: rounding must not pass for a bracket."""
        rng = np.random.default_rng(seed)
        design = rng.standard_normal(
            (int(rng.integers(2, 6)), int(rng.integers(2, 9)))
        ) * 10.0 ** rng.uniform(-3, 3)
        offset = np.max(np.abs(design)) if affine else 0.0
        found = commuting_defect(
            lambda w: design @ w + offset, rng.uniform(0.5, 2, design.shape[1])
        )
        assert found.commutes, str(found)

    def test_a_linear_function_of_inputs(self):
        assert commuting_defect(lambda w, inputs: inputs @ w, np.ones(3), X).commutes

    def test_one_prediction_always_commutes(self):
        """One vector field commutes with itself, whatever the model."""
        found = commuting_defect(
            relu_network, (RNG.standard_normal((4, 3)), RNG.standard_normal(4)), X[:1]
        )
        assert found.commutes and found.defect == 0 and found.pair == (0, 0)

    def test_elementwise_functions(self):
        assert commuting_defect(np.sinh, RNG.standard_normal(4)).commutes

    def test_a_constant_model(self):
        assert commuting_defect(lambda w: np.ones(2), np.ones(3)).defect == 0


class TestOthers:
    @pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 1), (2, 3, 4)])
    def test_matrix_factorisation(self, shape):
        rows, columns, rank = shape
        params = (RNG.standard_normal((rows, rank)), RNG.standard_normal((columns, rank)))
        found = commuting_defect(factorised, params)
        assert (
            not found
            and found.defect > 0.1
            and found.kernel_defect > 1e-2
            and found.potential is None
        )
        assert str(found).startswith("not a mirror flow: [∇G_")
        assert "the brackets move the predictor" in str(found) and str(found).endswith(
            "so no potential serves all losses"
        )
        i, j = found.pair
        assert 0 <= i < j < rows * columns

    def test_matrix_factorisation_by_hand(self):
        """G_ij = u_iv_j at u = v = (1, 0): ∇G_00 = e_{u₀} + e_{v₀}, ∇G_01 = e_{v₁}, ∇G_10 = e_{u₁},
        ∇G_11 = 0.

        ∇²G_ij swaps u_i and v_j, so [∇G_01, ∇G_11] = ∇²G_11e_{v₁} = e_{u₁}, of the length of its
        only term; ∂G·e_{u₁} has the entry one at G_10, whose gradient has length one.
        """
        found = commuting_defect(
            factorised, (np.array([[1.0], [0.0]]), np.array([[1.0], [0.0]])), points=0
        )
        assert found.points == 1 and found.defect == pytest.approx(1.0, abs=1e-6)
        assert found.kernel_defect == pytest.approx(1.0, abs=1e-6)

    def test_a_small_part_beside_a_large_one_is_not_overlooked(self):
        """Squares times 1e4, which commute, beside a product of matrices, which does not."""
        found = commuting_defect(
            lambda w: np.r_[1e4 * w[:3] ** 2, (w[3:7].reshape(2, 2) @ w[7:].reshape(2, 2)).ravel()],
            RNG.standard_normal(11),
        )
        assert not found.commutes and min(found.pair) >= 3

    def test_symmetric_factorisation(self):
        assert not commuting_defect(
            lambda u: (u @ u.T)[np.triu_indices(3)], RNG.standard_normal((3, 2))
        ).commutes

    def test_relu_network(self):
        found = commuting_defect(
            relu_network, (RNG.standard_normal((6, 3)), RNG.standard_normal(6)), X
        )
        assert not found.commutes and found.kernel_defect > 1e-3
        assert str(found).startswith("not a mirror flow")

    def test_relu_network_near_a_kink_is_judged_elsewhere(self):
        """A neuron with a kink at the point itself: that point is dropped, the random ones
        decide."""
        W = RNG.standard_normal((4, 3))
        W[0] -= (W[0] @ X[0]) / (X[0] @ X[0]) * X[0]
        found = commuting_defect(relu_network, (W, RNG.standard_normal(4)), X)
        assert not found.commutes and found.points == 4 and found.error <= 1e-2

    def test_at_zero_parameters(self):
        """Nothing can be read off zero itself, where all gradients vanish; random points around it
        decide."""
        assert not commuting_defect(factorised, (np.zeros((2, 2)), np.zeros((2, 2)))).commutes
        assert commuting_defect(lambda w: w**2, np.zeros(3)).commutes

    def test_scale_of_parameters_and_predictions_does_not_matter(self):
        params = (RNG.standard_normal((2, 2)), RNG.standard_normal((2, 2)))
        base = commuting_defect(factorised, params)
        for c in (1e-6, 1e6):
            scaled = commuting_defect(factorised, tuple(c * leaf for leaf in params))
            assert scaled.defect == pytest.approx(base.defect, rel=1e-5)
            assert commuting_defect(
                lambda w, c=c: c * factorised(w), params
            ).defect == pytest.approx(base.defect, rel=1e-5)

    def test_keys_and_points(self):
        params = (RNG.standard_normal((2, 2)), RNG.standard_normal((2, 2)))
        one, same, other = (
            commuting_defect(factorised, params, points=2, key=key) for key in (1, 1, 2)
        )
        # the start itself may have the largest defect
        found = [(each.defect, each.kernel_defect) for each in (one, same, other)]
        assert found[0] == found[1] != found[2] and one.points == 3


class TestJax:
    @pytest.fixture(autouse=True)
    def jax(self):
        self.jax = pytest.importorskip("jax")
        self.jnp = self.jax.numpy

    def test_dictionaries(self):
        jnp = self.jnp
        params = {"plus": RNG.uniform(0.5, 1.5, 5), "minus": {"weights": RNG.uniform(0.5, 1.5, 5)}}
        found = commuting_defect(
            lambda p: jnp.asarray(DESIGN) @ (p["plus"] ** 3 - p["minus"]["weights"] ** 3), params
        )
        assert found.commutes and found.defect < 1e-12 and found.error < 1e-12  # exact derivatives
        before = self.jax.config.jax_enable_x64
        # the switch was put back
        assert self.jnp.asarray(1.0).dtype == ("float64" if before else "float32")

    def test_lists_and_functions_that_do_not_commute(self):
        jnp = self.jnp
        params = [RNG.standard_normal((2, 2)), RNG.standard_normal((2, 2))]
        exact = commuting_defect(lambda p: jnp.matmul(p[0], p[1].T).ravel(), params)
        differences = commuting_defect(factorised, params)
        assert not exact.commutes and exact.defect == pytest.approx(differences.defect, rel=1e-6)
        assert exact.kernel_defect == pytest.approx(differences.kernel_defect, rel=1e-6)

    def test_relu_network(self):
        jnp = self.jnp
        params = {"W": RNG.standard_normal((5, 3)), "b": RNG.standard_normal(5)}
        found = commuting_defect(
            lambda p, inputs: jnp.maximum(inputs @ p["W"].T, 0) @ p["b"], params, X
        )
        assert not found.commutes and "no potential serves all losses" in str(found)

    def test_single_precision_and_nan_are_refused(self):
        jnp = self.jnp
        with pytest.raises(InputError, match="model: expected float64 predictions, found float32"):
            commuting_defect(lambda w: jnp.asarray(w, jnp.float32) ** 2, np.ones(3))
        with pytest.raises(InputError, match="model: expected finite predictions, found nan"):
            commuting_defect(lambda w: jnp.log(-(w**2)), np.ones(3))


class TestBadInput:
    def test_noise_is_said(self):
        rng = np.random.default_rng(0)
        with pytest.raises(
            bf.errors.ConvergenceError,
            match="derivatives could not be taken: the model has kinks, or noise",
        ):
            commuting_defect(lambda w: w**2 + 1e-3 * rng.standard_normal(3), np.ones(3))

    @pytest.mark.parametrize(
        "make, words",
        [
            (
                lambda: commuting_defect("no", np.ones(2)),
                "model: expected a model or a callable .* found str",
            ),
            (
                lambda: commuting_defect(lambda w: np.float32(w), np.ones(2)),
                "model: expected float64 predictions, found float32",
            ),
            (
                lambda: commuting_defect(lambda w: np.int64([1, 2]), np.ones(2)),
                "model: expected float64 .* found int64",
            ),
            (
                lambda: commuting_defect(lambda w: w * np.nan, np.ones(2)),
                "model: expected finite predictions, found nan",
            ),
            (
                lambda: commuting_defect(lambda w: w * np.inf, np.ones(2)),
                "model: expected finite predictions, found inf",
            ),
            (lambda: commuting_defect(lambda w: w, [1.0, np.nan]), r"params: entry \(\) is nan"),
            (lambda: commuting_defect(lambda w: w, "ab"), "params: expected real numbers"),
            (
                lambda: commuting_defect(lambda w, x: x @ w, np.ones(2), [1.0]),
                "X: expected a non-empty matrix",
            ),
            (
                lambda: commuting_defect(lambda w: w, np.ones(2), points=-1),
                "points: expected an integer of at least 0",
            ),
            (
                lambda: commuting_defect(lambda w: w, np.ones(2), key=0.5),
                "key: expected an integer",
            ),
        ],
    )
    def test_malformed(self, make, words):
        with pytest.raises(InputError, match=words):
            make()


def test_a_deep_network_is_judged_by_its_predictions():
    model, X = bf.DeepNetwork((2, 3, 2), activation="linear"), np.eye(2)
    with pytest.raises(bf.errors.RefusedError, match="give X"):
        bf.diagnostics.commuting_defect(model, model.init(1.0))
    assert not bf.diagnostics.commuting_defect(model, model.init(1.0), X)
