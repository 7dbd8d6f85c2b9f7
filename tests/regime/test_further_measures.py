"""What the probe measures beyond movements: the kernel machine's own predictions, when the kernel
aligned, its spectrum, and what gradient flow conserves. Each where its value is known, and where it
is not what it would be in the kernel regime."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.regime.alignment_times import alignment_time
from biasflow.regime.conserved import conservation
from biasflow.regime.views import Pair, View

RNG = np.random.default_rng(5)
X, T = RNG.standard_normal((12, 4)), RNG.standard_normal((9, 4))
Y = np.sign(X[:, 0])
MODEL = bf.TwoLayer(12, 4)


def trained(model, start, X, y, step, steps):
    """Plain descent on the square loss."""
    params = start
    for _ in range(steps):
        gradient = model.gradient(params, X, (model(params, X) - y) / len(y))
        params = type(params)(*(w - step * g for w, g in zip(params, gradient, strict=True)))
    return params


class TestKernelMachine:
    def test_a_linear_model_is_its_own_machine_whatever_the_loss(self):
        def network(w, X):
            return X @ w

        w, labels = np.zeros(4), np.sign(T[:4, 1])
        for _ in range(30):  # logistic, and stopped early
            w = w + 0.1 * T[:4].T @ (labels / (1 + np.exp(labels * (T[:4] @ w))))
        found = bf.probe(network, [np.zeros(4), w], X, Y, trained_on=T[:4], keys=2)
        assert found.final["machine_gap"].value <= 1e-10
        elsewhere = bf.probe(network, [np.zeros(4), np.ones(4)], X, Y, trained_on=T[:3], keys=1)
        assert elsewhere.final["machine_gap"].value > 0.1  # not what training on T would give

    def test_it_is_the_tangent_interpolator_through_the_predictions(self):
        start, end = MODEL.init(1.0, key=0), MODEL.init(1.0, key=1)
        found = bf.probe(MODEL, [start, end], X, Y, trained_on=T, keys=1)
        machine = bf.limits.tangent_interpolator(MODEL, start, T, MODEL(end, T)).value(X)
        f = MODEL(end, X)
        expected = np.linalg.norm(f - machine) / np.linalg.norm(f - MODEL(start, X))
        assert found.final["machine_gap"].value == pytest.approx(expected, rel=1e-6)
        assert found.final["machine_gap"].error > 0
        assert "held out" in found.describe() and "machine gap" in str(found)

    def test_lazy_and_rich_trainings_differ(self):
        labels = np.sign(T[:, 0] * T[:, 1])
        gaps = []
        for scale, step in ((10.0, 1e-4), (0.1, 0.2)):
            start = MODEL.init(scale, key=0)
            start = type(start)(np.r_[start.a[:6], -start.a[:6]], np.tile(start.W[:6], (2, 1)))
            end = trained(MODEL, start, T, labels, step, 2000)
            probed = bf.probe(MODEL, [start, end], X, trained_on=T, keys=1)
            gaps.append(probed.final["machine_gap"].value)
        assert gaps[0] < 0.05 < 0.3 < gaps[1], gaps

    def test_what_is_refused(self):
        start, end = MODEL.init(1.0, key=0), MODEL.init(1.0, key=1)
        for given, words in (
            (np.vstack([T, X[:2]]), "2 of the 12 inputs in X are among them"),
            (np.zeros((4001, 4)) + np.arange(4001)[:, None], "4,001 rows"),
            (T[0], "trained_on"),
        ):
            with pytest.raises(bf.errors.InputError, match=words):
                bf.probe(MODEL, [start, end], X, trained_on=given, keys=1)


def story(alignments, losses, n=40):
    """Pairs whose kernels are a share a of yyᵀ and the rest of noise, with these losses."""
    rng = np.random.default_rng(1)
    y = np.sign(rng.standard_normal((n, 1)))
    noise = rng.standard_normal((n, n)) / np.sqrt(n)
    noise = noise @ noise.T
    views = [
        View(None, a * y @ y.T + (1 - a) * noise, y * (1 - lost**0.5), y, (), None, None)
        for a, lost in zip(alignments, losses, strict=True)
    ]
    return [Pair(views[0], view, None, None, y) for view in views]


class TestAlignmentTime:
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])

    def of(self, alignments, losses):
        first, *later = story(alignments, losses)
        return alignment_time(self.times, first, later, keys=5)

    def test_silent_alignment_is_told_from_its_opposite(self):
        early, late = [0, 0.3, 0.6] + [0.6] * 6, [0] * 6 + [0.3, 0.6, 0.6]
        falling_late, falling_early = [1] * 6 + [0.5, 0.01, 0.01], [1, 0.5, 0.01] + [0.01] * 6
        silent = self.of(early, falling_late)
        assert silent.silent and silent.lead.value == pytest.approx(1.0, abs=0.05)
        assert silent.rise.value < 2 < 5 < silent.fall.value and "silent" in silent.describe()
        assert silent.gain.value > silent.null.value + 2 * silent.null.error
        after = self.of(late, falling_early)
        assert not after.silent and after.lead.value < 0.1 and "after the loss" in after.describe()
        together = self.of(early, falling_early)
        assert not together.silent and "as the loss fell" in together.describe()

    def test_times_know_how_far_checkpoints_are_apart(self):
        found = self.of([0, 0, 0, 0, 0.6, 0.6, 0.6, 0.6, 0.6], [1] * 4 + [0.1] * 5)
        assert 3 < found.rise.value < 4 and found.rise.error >= 1 / 12**0.5

    def test_where_nothing_rose_no_time_is_told(self):
        assert "shuffled" in self.of([0.0] * 9, [1] * 4 + [0.1] * 5).reason
        assert "did not fall" in self.of([0, 0.6] + [0.6] * 7, [1.0] * 9).reason
        start, end = MODEL.init(1.0, key=0), MODEL.init(1.0, key=1)
        assert "three or more" in bf.probe(MODEL, [start, end], X, Y, keys=1).alignment.reason
        assert bf.probe(MODEL, [start, end], X, keys=1).alignment is None


def test_spectra_are_shares_of_the_trace_and_ranks_are_counted():
    """A linear model of rank two on inputs in a plane."""
    flat = X[:, :2] @ np.array([[1.0, 0, 1, 0], [0, 0.1, 0, 0.1]])
    found = bf.probe(lambda w, X: X @ w, [np.zeros(4), np.ones(4)], flat, keys=2, spectrum=True)
    spectrum, K = found.spectrum, flat @ flat.T
    H = np.eye(12) - 1 / 12
    values = np.linalg.eigvalsh(H @ K @ H)[::-1]
    assert spectrum.ranks == (2, 2) and len(spectrum.shares) == 2 and len(spectrum.null) == 10
    for k in range(3):
        assert spectrum.shares[0][k].value == pytest.approx(values[k] / values.sum(), abs=1e-12)
    assert spectrum.shares[0][0].error > 0
    total = sum(one.value for one in spectrum.shares[1])
    assert total == pytest.approx(1.0) and "rank" in spectrum.table()
    rank = values.sum() ** 2 / np.sum(values**2)
    assert found.final["effective_rank"].value == pytest.approx(rank)


class TestConserved:
    def drift(self, network, start, end, **options):
        return bf.probe(network, [start, end], X, Y, keys=2, conserved=True, **options).conserved

    def test_descent_drifts_in_proportion_to_its_step(self):
        start = MODEL.init(1.0, key=0)
        drifts = []
        for step, steps in ((0.02, 100), (0.005, 400), (0.00125, 1600)):
            (one,) = self.drift(MODEL, start, trained(MODEL, start, X, Y, step, steps)).found
            assert one.units == 12 and one.null.value > 5 * one.drift[-1].value
            drifts.append(one.drift[-1].value)
        assert drifts[1] / drifts[0] == pytest.approx(0.25, rel=0.4), drifts
        assert drifts[2] / drifts[1] == pytest.approx(0.25, rel=0.4), drifts

    def test_a_layer_that_moves_alone_conserves_nothing(self):
        start = MODEL.init(1.0, key=0)
        found = self.drift(MODEL, start, start._replace(W=1.3 * start.W))
        assert found.found[0].drift[-1].value == pytest.approx(1.0)
        assert "drift" in found.describe()

    def test_biases_scale_with_their_layer(self):
        import jax.numpy as jnp

        def network(p, X):
            hidden = jnp.maximum(X @ p["layer1"]["W"] + p["layer1"]["b"], 0)
            return (hidden @ p["layer2"]["W"])[:, 0]

        def params(seed):
            rng = np.random.default_rng(seed)
            first = {"W": rng.standard_normal((4, 6)), "b": rng.standard_normal(6)}
            return {"layer1": first, "layer2": {"W": rng.standard_normal((6, 1))}}

        (one,) = self.drift(network, params(0), params(1)).found
        assert (one.into, one.out, one.units) == ("layer1.W", "layer2.W", 6)
        a, b = params(0), params(1)
        sizes = [np.sum(p["layer1"]["W"] ** 2, 0) + p["layer1"]["b"] ** 2 for p in (a, b)]
        moved_in = sizes[1] - sizes[0]
        moved_out = b["layer2"]["W"][:, 0] ** 2 - a["layer2"]["W"][:, 0] ** 2
        expected = np.linalg.norm(moved_in - moved_out) / (
            np.linalg.norm(moved_in) + np.linalg.norm(moved_out)
        )
        assert one.drift[-1].value == pytest.approx(expected)

    @pytest.mark.parametrize("kind", ["tanh", "skip"])
    def test_units_that_cannot_be_rescaled_are_refused_with_a_reason(self, kind):
        import jax.numpy as jnp

        def network(p, X):
            hidden = X @ p[0]
            hidden = jnp.tanh(hidden) if kind == "tanh" else X + jnp.maximum(hidden, 0)
            return (hidden @ p[1])[:, 0]

        start, end = ([RNG.standard_normal((4, 4)), RNG.standard_normal((4, 1))] for _ in range(2))
        found = self.drift(network, start, end)
        assert not found.found and "no rescaling" in found.refused[0]
        assert "No two layers" in found.describe()

    def test_channels_before_a_flattened_image_count_as_units(self):
        """Weights out of a channel are those of all its pixels, next to each other or apart."""
        for adjacent in (True, False):
            W, V = RNG.standard_normal((3, 1, 2, 2)), RNG.standard_normal((1, 12))

            class Function:
                names, double = ("conv.weight", "read.weight"), True

                def values(self, leaves, X, adjacent=adjacent):
                    hidden = np.maximum(np.einsum("nij,cdij->nc", X, leaves[0]), 0)
                    spread = np.repeat(hidden, 4, 1) if adjacent else np.tile(hidden, (1, 4))
                    return spread @ leaves[1].T

            at = type("At", (), {"function": Function()})()
            images = RNG.standard_normal((5, 2, 2))
            found = conservation(at, images, [(W, V), (2 * W, V)], [(W + 1, V)])
            assert [(one.into, one.units) for one in found.found] == [("conv.weight", 3)]
            assert found.found[0].drift[-1].value == pytest.approx(1.0)
