"""Homogeneity, and the KKT certificate of max-margin networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import biasflow as bf
from biasflow._numerics.double_precision import jax_in_double

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 4))
Y = np.sign(X @ RNG.standard_normal(4))


def linear(w, X):
    return X @ w


def deep(params, X):
    """A linear network of depth len(params)."""
    for W in params[:-1]:
        X = X @ W
    return X @ params[-1]


def relu(params, X):
    for W in params[:-1]:
        X = jax.nn.relu(X @ W)
    return X @ params[-1]


def max_margin():
    """The hard-margin direction v, ‖v‖ = 1, and its margin."""
    found = bf.limits.l2_max_margin(Y[:, None] * X)
    return found.value / np.linalg.norm(found.value), found.objective * 2  # per unit of ‖a‖: √d = 2


def balanced(v, depth, width=3):
    """Every layer of rank one and of the same size: the KKT point of a deep linear network at the
    max-margin direction."""
    e = np.eye(width)[0]
    return [np.outer(v, e), *(np.outer(e, e) for _ in range(depth - 2)), e]


class TestHomogeneity:
    @pytest.mark.parametrize("depth", [2, 3, 5])
    def test_diagonal_networks(self, depth):
        model = bf.DiagonalNetwork(depth)
        params = bf.models.DiagonalParams(RNG.uniform(0.5, 1.5, 4), RNG.uniform(0.5, 1.5, 4))
        found = bf.limits.homogeneity(model, params, X)
        assert found and found.degree == pytest.approx(depth, rel=1e-12) and found.defect <= 1e-12

    def test_biases_of_the_first_layer_are_weights_like_others_and_later_ones_spoil_it(self):
        def biased(params, X):
            return jax.nn.relu(X @ params["W"] + params["b"]) @ params["a"] + params["c"]

        draw = RNG.standard_normal
        params = {"W": draw((4, 6)), "b": draw(6), "a": draw(6), "c": np.zeros(())}
        first = bf.limits.homogeneity(biased, params, X)
        assert first and first.degree == pytest.approx(2)
        later = bf.limits.homogeneity(biased, {**params, "c": np.ones(())}, X)
        assert not later and later.spread > 1e-3

    def test_eulers_identity_alone_is_not_enough(self):
        """f = exp(w) has ⟨w, ∇f⟩ = w·f, the same multiple at every input, and is not
        homogeneous."""
        found = bf.limits.homogeneity(lambda w, X: jnp.exp(w) * X[:, 0], np.array(2.0), X)
        assert found.euler <= 1e-12 and found.stretched > 0.1 and not found

    def test_zero_predictions_say_nothing(self):
        with pytest.raises(bf.errors.InputError, match="no degree"):
            bf.limits.homogeneity(linear, np.zeros(4), X)


class TestMarginKkt:
    def test_the_support_vector_machine_is_a_kkt_point(self):
        v, gamma = max_margin()
        found = bf.limits.margin_kkt(linear, 7.0 * v, X, Y)
        assert found.residual <= 1e-10 and found.margin == pytest.approx(gamma, rel=1e-10)
        assert found.support.size <= 5
        # Σλ = ‖θ‖² for a linear network
        assert found.multipliers @ np.ones(12) == pytest.approx(1 / gamma**2, rel=1e-9)

    def test_other_directions_are_not(self):
        v, gamma = max_margin()
        other = v + 0.05 * RNG.standard_normal(4)
        found = bf.limits.margin_kkt(linear, other, X, Y)
        assert found.margin < gamma and found.residual > 1e-3

    @pytest.mark.parametrize("depth", [2, 3, 4])
    def test_deep_linear_networks(self, depth):
        """Balanced layers along the max-margin direction v: γ of the network is γ(v)/D^{D/2}, and
        every residual is rounding."""
        v, gamma = max_margin()
        found = bf.limits.margin_kkt(deep, balanced(v, depth), X, Y)
        assert found.residual <= 1e-9 and found.homogeneity.degree == pytest.approx(depth)
        assert found.margin == pytest.approx(gamma / depth ** (depth / 2), rel=1e-10)
        unbalanced = balanced(v, depth)
        unbalanced[0] = 2 * unbalanced[0]
        assert bf.limits.margin_kkt(deep, unbalanced, X, Y).stationarity > 0.1

    def test_the_l1_max_margin_is_a_kkt_point_of_a_diagonal_network(self):
        """β = w₊² − w₋² with w± = √(β)±: ‖w‖² = ‖β‖₁."""
        a = bf.limits.l1_max_margin(Y[:, None] * np.hstack([X, -X])).value
        beta = a[:4] - a[4:]
        params = bf.models.DiagonalParams(
            np.sqrt(np.maximum(beta, 0)), np.sqrt(np.maximum(-beta, 0))
        )
        found = bf.limits.margin_kkt(bf.DiagonalNetwork(2), params, X, Y)
        assert found.residual <= 1e-7
        assert "homogeneous of degree 2" in str(found)
        other = max_margin()[0] * (1 + 0.05 * np.arange(4))
        spoiled = bf.models.DiagonalParams(
            np.sqrt(np.maximum(other, 0)), np.sqrt(np.maximum(-other, 0))
        )
        assert bf.limits.margin_kkt(bf.DiagonalNetwork(2), spoiled, X, Y).residual > 1e-2

    def test_epsilon_and_delta_belong_to_the_multipliers(self):
        w = max_margin()[0] + 0.02
        found = bf.limits.margin_kkt(linear, w, X, Y)
        theta = w / np.min(Y * (X @ w))
        left = theta - (found.multipliers * Y) @ X
        assert found.epsilon == pytest.approx(np.linalg.norm(left), rel=1e-9)
        assert found.delta == pytest.approx(
            np.max(found.multipliers * (Y * (X @ theta) - 1)), rel=1e-9
        )

    @pytest.mark.parametrize(
        "fn, params, labels, error, words",
        [
            (
                linear,
                -np.ones(4),
                Y,
                bf.errors.AssumptionError,
                ("margin", "not classified rightly"),
            ),
            (
                lambda w, X: X @ w[:4] + w[4] ** 2,
                np.ones(5),
                Y,
                bf.errors.AssumptionError,
                ("homogeneous", "not homogeneous", "biases"),
            ),
            (
                lambda w, X: X @ w,
                np.ones((4, 3)),
                Y,
                bf.errors.InputError,
                ("network", "3 outputs"),
            ),
            (linear, np.ones(4), X[:, 0], bf.errors.InputError, ("y", "±1")),
        ],
    )
    def test_bad_input(self, fn, params, labels, error, words):
        with pytest.raises(error) as caught:
            bf.limits.margin_kkt(fn, params, X, labels)
        assert str(caught.value).startswith(words[0]) and all(
            word in str(caught.value) for word in words
        ), str(caught.value)


def trained(steps, rate):
    """Checkpoints of normalised gradient descent on the exponential loss, a three-layer network
    with ReLUs."""
    with jax_in_double():
        inputs, labels = jnp.asarray(X), jnp.asarray(Y)
        params = [
            jnp.asarray(RNG_START.standard_normal(shape)) / 2
            for shape in ((4, 10), (10, 10), (10,))
        ]
        log_loss = lambda w: jax.scipy.special.logsumexp(-labels * relu(w, inputs))  # noqa: E731

        def step(w, _):
            g = jax.grad(log_loss)(w)
            size, length = (jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in part)) for part in (w, g))
            return [a - rate * size / length * b for a, b in zip(w, g, strict=True)], None

        run = jax.jit(lambda w: jax.lax.scan(step, w, None, steps)[0])
        checkpoints = [params]
        for _ in range(8):
            checkpoints.append(run(checkpoints[-1]))
        return checkpoints


RNG_START = np.random.default_rng(5)


class TestSmoothedMargin:
    def test_rises_along_training_towards_the_margin_and_the_network_towards_a_kkt_point(self):
        checkpoints = trained(400, 1e-3)
        found = bf.limits.smoothed_margin(relu, checkpoints, X, Y)
        assert found.separated[-1] and found.increasing and found.fall == 0.0
        assert np.all(found.values[found.separated] <= found.margins[found.separated] * (1 + 1e-12))
        assert found.homogeneity.degree == pytest.approx(3)
        first = int(np.flatnonzero(found.margins > 0)[0])
        early, late = (
            bf.limits.margin_kkt(relu, checkpoints[k], X, Y).residual for k in (first, -1)
        )
        assert late < early / 2

    def test_a_fall_is_seen(self):
        checkpoints = [2.0 * max_margin()[0] * 100, 200 * (max_margin()[0] + 0.03)]
        found = bf.limits.smoothed_margin(linear, checkpoints, X, Y, "logistic")
        assert found.fall > 1e-3 and not found.increasing

    @pytest.mark.parametrize("loss", ["exponential", "logistic"])
    def test_against_the_definition(self, loss):
        """ℓ⁻¹(Σℓ(q_i))/‖w‖ where floats still hold the loss; at a thousand times the size only
        logarithms do."""
        w = 30 * max_margin()[0]
        q = Y * (X @ w)
        total = np.sum(np.exp(-q)) if loss == "exponential" else np.sum(np.log1p(np.exp(-q)))
        inverse = -np.log(total) if loss == "exponential" else -np.log(np.expm1(total))
        found = bf.limits.smoothed_margin(linear, [w, 1e3 * w], X, Y, loss)
        assert found.values[0] == pytest.approx(inverse / 30, rel=1e-12)
        assert found.log_loss[0] == pytest.approx(np.log(total), rel=1e-12)
        assert (
            found.values[1] == pytest.approx(found.margins[1], rel=1e-3)
            and found.log_loss[1] < -1e3
        )

    def test_bad_input(self):
        with pytest.raises(bf.errors.InputError, match="checkpoints: expected at least one"):
            bf.limits.smoothed_margin(linear, [], X, Y)
        with pytest.raises(bf.errors.InputError, match="loss"):
            bf.limits.smoothed_margin(linear, [np.ones(4)], X, Y, "hinge")
        with pytest.raises(bf.errors.InputError, match=r"checkpoints\[0\].*finite"):
            bf.limits.smoothed_margin(linear, [np.full(4, np.inf)], X, Y)
        with pytest.raises(bf.errors.InputError, match=r"checkpoints\[1\].*shape"):
            bf.limits.smoothed_margin(linear, [np.ones(4), np.ones(5)], X, Y)
