"""`bf.certify`: fractions of the largest margin, KKT residuals, and what it refuses."""

import time
from fractions import Fraction

import numpy as np
import pytest

import biasflow as bf
from biasflow.diagnostics.exact_margins import margin_bounds
from biasflow.theory.since.global_margins import margin_data, one_each, predicted_margin
from biasflow.theory.since.margin_programs import grid_error, margin_on_grid

RNG = np.random.default_rng(0)
X = RNG.standard_normal((10, 2))
Y = np.where(X[:, 0] * X[:, 1] > -0.1, 1.0, -1.0)


def balanced(measure):
    size = np.sqrt(measure.masses / 2)
    return measure.signs * size, size[:, None] * measure.directions


def exact_margin(a, W, rows, y):
    """min y·f/‖θ‖² in rationals."""

    def fractions(values):
        return [Fraction(float(v)) for v in np.ravel(values)]

    outer, inner = fractions(a), [fractions(w) for w in W]
    squares = sum(v * v for v in outer) + sum(v * v for w in inner for v in w)
    values = []
    for row, label in zip(rows, y, strict=True):
        x = fractions(row)
        seen = [sum(p * q for p, q in zip(w, x, strict=True)) for w in inner]
        f = sum(o * max(s, Fraction(0)) for o, s in zip(outer, seen, strict=True))
        values.append(int(label) * f / squares)
    return min(values)


class TestTwoLayers:
    def test_the_largest_margin_is_all_of_it(self):
        best = bf.max_margin(X, Y, norm="f1")
        found = bf.certify(best, X, Y)
        assert found.verdict == "global" and found.reasons == ()
        assert found.fraction.lower > 1 - 1e-6 and found.fraction.upper <= 1
        assert found.best.lower <= best.certificate.upper and found.residual < 1e-3

    @pytest.mark.parametrize("c", [0.5, 3.0])
    def test_rescaling_lowers_it_by_the_factor_of_the_norm(self, c):
        a, W = balanced(bf.max_margin(X, Y, norm="f1").value)
        found = bf.certify((c * a, W / c), X, Y)
        factor = 2 / (c**2 + c**-2)
        assert found.fraction.lower <= factor <= found.fraction.upper * (1 + 1e-6)
        assert found.fraction.upper == pytest.approx(factor, rel=2e-6)
        assert found.balance == pytest.approx(factor) and "not balanced" in found.reasons[0]

    def test_a_kkt_point_that_is_not_global(self):
        data = margin_data(5)
        found = bf.certify(one_each(data), data.X, data.y)
        assert found.residual < 1e-12 and found.verdict == "stationary, not global"
        share = predicted_margin(data) / margin_on_grid(data.X, data.y).level
        assert found.fraction.upper == pytest.approx(share, rel=2 * grid_error())
        assert found.fraction.upper < 0.95 and "a neuron is missing" in found.reasons[0]
        polish = found.polish
        assert polish.own <= polish.balanced <= polish.masses < polish.neuron <= found.best.upper
        again = bf.certify(polish.further, data.X, data.y)
        assert again.fraction.lower > found.fraction.upper

    def test_polished_networks_have_the_margins_that_are_told(self):
        a, W = balanced(bf.max_margin(X, Y, norm="f1").value)
        found = bf.certify((a * np.linspace(0.97, 1.03, a.size), W), X, Y)
        assert found.polish.masses > found.polish.own
        rows = np.column_stack([X, np.ones(len(X))])
        network = found.polish.network
        assert exact_margin(*network, rows, Y) >= Fraction(found.polish.masses)
        assert found.polish.gain == pytest.approx(found.polish.masses / found.margin, rel=1e-9)

    def test_misclassified_samples_are_said(self):
        best = bf.max_margin(X, Y, norm="f1")
        y = Y.copy()
        y[3] = -y[3]
        found = bf.certify(best, X, y)
        assert found.verdict == "not separating" and found.margin < 0 and found.fraction.upper < 0
        assert np.isnan(found.residual) and "sample 3 the least" in found.reasons[0]

    @pytest.mark.parametrize("bias", [True, False])
    def test_scaling_weights_and_inputs(self, bias):
        rng = np.random.default_rng(3)
        inputs = X if bias else X + 0.0
        a, W = rng.standard_normal(30), rng.standard_normal((30, 3 if bias else 2))
        first = bf.certify((a, W), inputs, Y)
        larger = bf.certify((1e8 * a, 1e8 * W), inputs, Y)
        assert larger.fraction.upper == pytest.approx(first.fraction.upper, rel=1e-5)
        if not bias:
            inputs = 2.0**20 * inputs
            moved = bf.certify((a, W), inputs, Y)
            assert moved.fraction.upper == pytest.approx(first.fraction.upper, rel=1e-5)

    def test_a_column_of_ones_is_a_bias(self):
        best = bf.max_margin(X, Y, norm="f1")
        rows = np.column_stack([X, np.ones(len(X))])
        found = bf.certify(balanced(best.value), rows, Y)
        assert found.verdict == "global"
        with pytest.raises(bf.errors.InputError, match="two columns for one bias"):
            bf.certify((np.ones(2), np.ones((2, 4))), rows, Y)

    def test_trained_networks_approach_kkt_points(self):
        data = margin_data(1)
        model = bf.TwoLayer(20, 2)
        problem = bf.Problem(model, data, bf.SmoothMargin(), model.init(0.3, key=0))
        flow = bf.gradient_flow(problem, log_norm=20.0)
        states = [bf.models.TwoLayerParams(flow.states.a[k], flow.states.W[k]) for k in (-30, -1)]
        early, late = (bf.certify(state, data.X, data.y) for state in states)
        assert late.residual < early.residual and late.margin > early.margin

    def test_it_shows_itself(self):
        found = bf.certify(balanced(bf.max_margin(X, Y, norm="f1").value), X, Y)
        assert "global" in repr(found) and "fraction of γ₁" in found._repr_html_()
        assert len(found.plot().axes) == 2

    def test_time_is_kept(self):
        rng = np.random.default_rng(2)
        inputs, y = rng.standard_normal((60, 12)), np.sign(rng.standard_normal(60))
        network = rng.standard_normal(20), rng.standard_normal((20, 13))
        bf.certify(network, inputs[:20], y[:20], time_s=0.1)  # compiles
        began = time.monotonic()
        found = bf.certify(network, inputs, y, time_s=0.5)
        assert time.monotonic() - began < 15 and found.best.kind == "bound"
        assert "relaxation" in found.notes[0]


class TestUglyData:
    def data(self, kind):
        rng = np.random.default_rng(11)
        inputs = rng.standard_normal((14, 2))
        y = np.where(inputs[:, 0] + 0.3 * inputs[:, 1] ** 2 > 0.2, 1.0, -1.0)
        if kind == "scales":
            inputs = inputs * np.array([1e6, 1e-6])
        elif kind == "offset":
            inputs = inputs + 1e6
        elif kind == "duplicates":
            inputs, y = np.repeat(inputs, 3, axis=0), np.repeat(y, 3)
        elif kind == "many":
            inputs = rng.standard_normal((300, 1))
            y = np.where(inputs[:, 0] > 0.1, 1.0, -1.0)
        return inputs, y

    @pytest.mark.parametrize("kind", ["plain", "scales", "offset", "duplicates", "many"])
    def test_brackets_hold_in_exact_arithmetic(self, kind):
        inputs, y = self.data(kind)
        rng = np.random.default_rng(12)
        rows = np.column_stack([inputs, np.ones(len(inputs))])
        best = bf.max_margin(inputs, y, norm="f1", time_s=5.0)
        a, W = balanced(best.value)
        networks = [(a, W), (2 * a, W / 2)]
        networks.append((rng.standard_normal(7), rng.standard_normal((7, rows.shape[1]))))
        for outer, inner in networks:
            exact = exact_margin(outer, inner, rows, y)
            low, high = margin_bounds(outer, inner, rows, y)
            assert Fraction(low) <= exact <= Fraction(high)
            found = bf.certify((outer, inner), inputs, y, time_s=5.0)
            assert found.margins.shape == y.shape
            lower, upper = found.best.lower, found.best.upper
            assert exact <= Fraction(upper)
            assert Fraction(found.fraction.lower) * Fraction(upper if exact > 0 else lower) <= exact
            assert found.fraction.lower <= found.fraction.upper <= 1

    def test_one_class_equal_inputs_and_zeros_are_refused(self):
        a, W = np.ones(2), np.ones((2, 3))
        with pytest.raises(bf.errors.AssumptionError, match="all 10 labels are 1"):
            bf.certify((a, W), X, np.ones(10))
        with pytest.raises(bf.errors.AssumptionError, match="equal with opposite labels"):
            bf.certify((a, W), np.vstack([X, X[:1]]), np.append(Y, -Y[0]))
        with pytest.raises(bf.errors.AssumptionError, match="input 10 is zero"):
            bf.certify((a, W[:, :2]), np.vstack([X, [[0.0, 0.0]]]), np.append(Y, 1))
        with pytest.raises(bf.errors.AssumptionError, match="every neuron is zero"):
            bf.certify((0 * a, W), X, Y)
        with pytest.raises(bf.errors.InputError, match="columns"):
            bf.certify((a, np.ones((2, 5))), X, Y)


class TestFunctions:
    """JAX functions: which tensor is which is found out."""

    def params(self, m=12):
        rng = np.random.default_rng(4)
        return {
            "z": rng.standard_normal((2, m)),
            "a": rng.standard_normal(m),
            "b": rng.standard_normal((m, 1)),
        }

    @pytest.fixture
    def jnp(self):
        import jax.numpy

        return jax.numpy

    def test_two_layers_are_found_whatever_their_names_and_shapes(self, jnp):
        p = self.params()

        def network(p, x):  # a is the bias here, and b the output; a constant factor
            return (jnp.maximum(x @ p["z"] + p["a"], 0.0) @ p["b"])[:, 0] / 7

        found = bf.certify(network, X, Y, params=p)
        plain = bf.certify((p["b"][:, 0], np.column_stack([p["z"].T, p["a"]])), X, Y)
        assert found.kind == "two layers" and found.margin == pytest.approx(plain.margin / 7)
        assert found.fraction.upper == pytest.approx(plain.fraction.upper, rel=1e-6)

    def test_a_negative_factor_is_the_networks_own(self, jnp):
        p = self.params()
        network = lambda p, x: -(jnp.maximum(x @ p["z"] + p["a"], 0.0) @ p["b"])[:, 0]  # noqa: E731
        found = bf.certify(network, X, Y, params=p)
        plain = bf.certify((-p["b"][:, 0], np.column_stack([p["z"].T, p["a"]])), X, Y)
        assert found.margin == pytest.approx(plain.margin)

    def test_biasflow_models(self):
        model = bf.TwoLayer(5, 2)
        params = model.init(1.0, key=1)
        assert bf.certify(model, X, Y, params=params).margin == pytest.approx(
            bf.certify(params, X, Y).margin
        )
        leaky = bf.TwoLayer(5, 2, activation="leaky_relu")
        assert bf.certify(leaky, X, Y, params=params).kind == "homogeneous"

    def test_deeper_networks_have_a_margin_and_a_residual(self, jnp):
        model = bf.DeepNetwork((2, 4, 4))
        found = bf.certify(model, X, Y, params=model.init(1.0, key=0))
        assert found.kind == "homogeneous" and found.fraction is None
        assert found.homogeneity.degree == pytest.approx(3)

        def deep(p, x):  # two chains of one neuron a layer, each for one sample
            return jnp.maximum(jnp.maximum(x * p["u"], 0.0) * p["v"], 0.0) @ p["o"]

        inputs, y = np.array([[2.0], [-1.0]]), np.array([1.0, -1.0])
        size = np.array([1.0, 2 ** (1 / 3)])  # both margins are two
        p = {"u": size * y, "v": size, "o": size * y}
        found = bf.certify(deep, inputs, y, params=p)
        assert found.verdict == "stationary" and found.residual < 1e-9
        assert found.margin == pytest.approx(2 / (3 * np.sum(size**2)) ** 1.5)
        p = {"u": 3 * size * y, "v": size / 3, "o": size * y}
        assert bf.certify(deep, inputs, y, params=p).verdict == "not stationary"

    def refused(self, network, params, match):
        with pytest.raises(bf.errors.InputError, match=match):
            bf.certify(network, X, Y, params=params)

    def test_what_is_no_such_network_is_refused(self, jnp):
        p = self.params()
        relu = jnp.maximum

        def two(p, x):
            return (relu(x @ p["z"] + p["a"], 0.0) @ p["b"])[:, 0]

        zero = {**p, "c": np.array(0.0)}  # an output bias that is zero here
        self.refused(lambda p, x: two(p, x) + p["c"], zero, "it would hold without c")
        self.refused(lambda p, x: (jnp.tanh(x @ p["z"]) @ p["b"])[:, 0], p, "smooth activations")
        self.refused(lambda p, x: jnp.stack([two(p, x), -two(p, x)], 1), p, "2 outputs")

        def normalised(p, x):
            hidden = x @ p["z"]
            hidden = hidden / jnp.sqrt(jnp.sum(hidden**2, axis=1, keepdims=True))
            return (relu(hidden * p["a"], 0.0) @ p["b"])[:, 0]

        self.refused(normalised, p, "the size of z does not matter")
        self.refused(two, None, "give them as params=")
