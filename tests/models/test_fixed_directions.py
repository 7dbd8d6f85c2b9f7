"""Networks with fixed directions: derivatives, R's reduction to a mirror flow, splitting, merging,
and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import kstest

import biasflow as bf
from biasflow import FixedDirections, Problem, SquareLoss
from biasflow.errors import InputError, RefusedError
from biasflow.models import FixedDirectionsParams

EPS = float(np.finfo(float).eps)
LOSSES = [SquareLoss("half"), SquareLoss("sum"), SquareLoss("half-mean")]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def setting(seed=0, n=4, k=6, m=8):
    """Random data and a random start strictly inside the cone."""
    rng = np.random.default_rng(seed)
    ds = bf.data.hypercube(n, k, key=seed)
    a = rng.uniform(0.5, 1.5, m)
    return (
        FixedDirections(unit(rng.standard_normal((m, k)))),
        ds,
        FixedDirectionsParams(a, a * rng.uniform(-0.9, 0.9, m)),
    )


def difference(function, params, h=1e-5):
    """Central differences in all weights: accurate to about 1e-9."""
    flat, m = np.concatenate(params), len(params.a)

    def at(w):
        return function(FixedDirectionsParams(w[:m], w[m:]))

    slopes = np.array([(at(flat + h * e) - at(flat - h * e)) / (2 * h) for e in np.eye(2 * m)])
    return FixedDirectionsParams(slopes[:m], slopes[m:])


def velocity(model, loss, ds, params):
    """dβ/dt of gradient flow on the weights."""
    gradient = model.gradient(params, ds.X, loss.gradient(model(params, ds.X), ds.y))
    return model.linearised(params, FixedDirectionsParams(-gradient.a, -gradient.b))


def test_one_neuron_by_hand():
    model = FixedDirections([[0.6, 0.8]])
    params, X = (
        FixedDirectionsParams(np.array([2.0]), np.array([-3.0])),
        np.array([[1.0, 1.0], [-1.0, 0.0]]),
    )
    assert model.width == 1 and model.homogeneity == 2
    assert model(params, X) == pytest.approx([-8.4, 0.0])  # −3·(2·1.4)₊
    assert model.features(X) == pytest.approx(np.array([[1.4], [0.0]]))
    flipped = FixedDirectionsParams(np.array([-2.0]), np.array([-3.0]))
    assert model(flipped, X) == pytest.approx([0.0, -3.6])  # −3·(−2·−0.6)₊


def test_call_is_linear_in_the_effective_predictor():
    model, ds, params = setting()
    features = np.maximum(ds.X @ model.directions.T, 0)
    assert np.array_equal(model.features(ds.X), features)
    assert np.array_equal(model.effective(params), params.a * params.b)
    direct = np.maximum(ds.X @ (params.a[:, None] * model.directions).T, 0) @ params.b
    np.testing.assert_allclose(model(params, ds.X), direct, atol=100 * EPS)
    np.testing.assert_allclose(
        model(params, ds.X), features @ model.effective(params), atol=100 * EPS
    )
    stacked = FixedDirectionsParams(np.stack([params.a] * 3), np.stack([params.b] * 3))
    assert model.effective(stacked).shape == (3, 8) and model(stacked, ds.X).shape == (3, 4)


@pytest.mark.parametrize("signs", [1.0, -1.0, "mixed"])
def test_derivatives_against_finite_differences(signs):
    """Also where a < 0: the network is a function there too, only the flow refuses to start."""
    model, ds, params = setting(1)
    sign = np.resize([1.0, -1.0], 8) if signs == "mixed" else signs
    params, loss = FixedDirectionsParams(sign * params.a, params.b), SquareLoss("sum")
    direct = np.maximum(ds.X @ (params.a[:, None] * model.directions).T, 0) @ params.b
    np.testing.assert_allclose(model(params, ds.X), direct, atol=100 * EPS)
    numeric = difference(lambda w: model(w, ds.X), params)
    for exact, approximate in zip(model.jacobian(params, ds.X), numeric, strict=True):
        np.testing.assert_allclose(exact, approximate.T, atol=1e-8)
    gradient = model.gradient(params, ds.X, loss.gradient(model(params, ds.X), ds.y))
    numeric = difference(lambda w: loss(model(w, ds.X), ds.y), params)
    for exact, approximate in zip(gradient, numeric, strict=True):
        assert np.max(np.abs(exact)) > 0.1
        np.testing.assert_allclose(exact, approximate, atol=1e-7)
    numeric = difference(model.effective, params)
    rng = np.random.default_rng(0)
    direction = FixedDirectionsParams(rng.standard_normal(8), rng.standard_normal(8))
    slope = direction.a @ numeric.a + direction.b @ numeric.b
    np.testing.assert_allclose(model.linearised(params, direction), slope, atol=1e-8)


class TestStartAndLimit:
    def test_init(self):
        model, ds, _ = setting()
        params = model.init(0.1, dim=6)
        assert (
            np.array_equal(params.a, np.full(8, 0.1))
            and not np.any(params.b)
            and not np.any(model(params, ds.X))
        )
        assert np.array_equal(model.init(np.arange(1.0, 9.0)).a, np.arange(1.0, 9.0))

    @pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-100])
    def test_limit_of_a_scale_is_the_limit_of_its_start(self, alpha):
        model, ds, _ = setting(2)
        start = bf.limit(model, ds, start=model.init(alpha))
        for other in (
            bf.limit(model, ds, scale=alpha),
            bf.limit(model, ds, log_scale=np.log(alpha)),
        ):
            np.testing.assert_allclose(
                other.value, start.value, atol=1e-10 * np.max(np.abs(start.value))
            )

    def test_limit_of_a_vector_of_scales(self):
        model, ds, _ = setting(2)
        alpha = np.geomspace(1e-3, 1, 8)
        start, scaled = (
            bf.limit(model, ds, start=model.init(alpha)),
            bf.limit(model, ds, scale=alpha),
        )
        np.testing.assert_allclose(scaled.value, start.value, atol=1e-11)
        assert np.max(np.abs(scaled.value - bf.limit(model, ds, scale=1.0).value)) > 1e-2

    def test_limit_below_float_range(self):
        """Next to α = 0: the minimum-ℓ1 interpolator, which log α = −5000 misses by less than 1e-3
        (log(1/r) = 10⁴)."""
        model, ds, _ = setting(2)
        found = bf.limit(model, ds, log_scale=-5000.0)
        least = bf.limits.min_l1(model.features(ds.X), ds.y)
        assert np.sum(np.abs(found.value)) == pytest.approx(least.objective, rel=1e-3)
        assert found.certificate.residual < 1e-10

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.normalisation)
    def test_flow_ends_at_the_limit(self, loss):
        model, ds, params = setting(3)
        flow = bf.gradient_flow(model, ds, loss, params)
        end = bf.limit(model, ds, loss, start=params)
        np.testing.assert_allclose(model.effective(flow.final), end.value, atol=1e-8)


class TestMirrorForm:
    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.normalisation)
    def test_velocity_is_that_of_the_weights(self, loss):
        """∇²φ(β)·dβ/dt = −Xᵀ(Xβ − y), clock included, at a biased start and at an unbiased one."""
        model, ds, params = setting(4)
        for start in (params, model.init(0.7)):
            form = bf.models.mirror(Problem(model, ds, loss, start))
            beta = model.effective(start)
            # a, b ≤ 1.5
            np.testing.assert_allclose(
                np.zeros(8) if form.beta0 is None else form.beta0, beta, atol=8 * EPS
            )
            force = -form.X.T @ (form.X @ beta - ds.y)
            np.testing.assert_allclose(
                form.potential.hessian_diag(beta) * velocity(model, loss, ds, start),
                force,
                rtol=1e-11,
            )

    def test_potential_is_half_phi_r(self):
        model, ds, params = setting(4)
        form = bf.models.mirror(Problem(model, ds, SquareLoss("half"), params))
        half = bf.potentials.ScaledPotential(
            0.5, bf.potentials.Hypentropy((params.a**2 - params.b**2) / 2)
        )
        beta = np.linspace(-2, 2, 8)
        np.testing.assert_allclose(form.potential.grad(beta), half.grad(beta), rtol=1e-13)

    def test_lift_returns_the_start_and_keeps_the_invariant(self):
        model, ds, params = setting(5)
        params.b[2], params.b[5] = params.a[2], -params.a[5]
        form = model.mirror_form(params, SquareLoss(), ds.n)
        for got, expected in zip(form.lift(form.potential.at(form.beta0)), params, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-13)
        moved = form.lift(form.potential.at(form.beta0 * 1.7))
        np.testing.assert_allclose(model.effective(moved), 1.7 * form.beta0, rtol=1e-12)
        np.testing.assert_allclose(
            moved.a**2 - moved.b**2, params.a**2 - params.b**2, atol=20 * EPS
        )
        assert np.all(moved.a > 0)

    @pytest.mark.parametrize("law", ["inside", "edge", "unbiased"])
    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.normalisation)
    def test_flow_on_weights_and_reduction_agree(self, loss, law):
        """R/thm3.4 and lemA2: to 1e-8 along the trajectory, with a²−b² conserved and a > 0; edge:
        some a_j² = b_j²."""
        model, ds, params = setting(6, m=10)
        if law == "edge":
            params.b[0], params.b[3] = params.a[0], -params.a[3]
        elif law == "unbiased":
            params = model.init(0.3)
        speed = 2 * loss.factor(ds.n)
        times = np.concatenate([[0.0], np.geomspace(1e-2, 30, 40)]) / speed
        dual = bf.gradient_flow(model, ds, loss, params, times=times, rtol=1e-11, method="dual")
        weights = bf.gradient_flow(
            model, ds, loss, params, times=times, rtol=1e-11, method="weights"
        )
        assert dual.stats["method"] == "dual" and weights.stats["method"] == "weights"
        assert dual.loss[-1] < 1e-4 * dual.loss[0]
        for got, expected in zip(dual.states, weights.states, strict=True):
            assert np.max(np.abs(got - expected)) < 1e-8
        invariant = params.a**2 - params.b**2
        assert np.max(np.abs(dual.states.a**2 - dual.states.b**2 - invariant)) < 1e-12
        # of an integrator that ignores it
        assert np.max(np.abs(weights.states.a**2 - weights.states.b**2 - invariant)) < 1e-8
        assert np.all(dual.states.a > 0) and np.all(np.diff(dual.loss) <= 0)

    @given(seed=st.integers(0, 10**6), edge=st.integers(0, 3))
    @settings(max_examples=10, deadline=None)
    def test_invariants_of_random_networks(self, seed, edge):
        model, params = bf.models.random_network(9, 5, 1.0, key=seed)
        params.b[:edge] = params.a[:edge]
        ds = bf.data.hypercube(3, 5, key=seed)
        flow = bf.gradient_flow(model, ds, SquareLoss(), params, t1=3.0)
        drift = flow.states.a**2 - flow.states.b**2 - (params.a**2 - params.b**2)
        assert np.max(np.abs(drift)) < 1e-12 * max(1.0, np.max(flow.states.a) ** 2)
        assert np.all(flow.states.a > 0) and np.all(np.diff(flow.loss) <= 1e-14 * flow.loss[0])
        # half-lines are kept exactly
        assert np.array_equal(flow.states.b[:, :edge], flow.states.a[:, :edge])


class TestSplitting:
    def test_split(self):
        rng = np.random.default_rng(0)
        W, b, X = rng.standard_normal((7, 4)), rng.standard_normal(7), rng.standard_normal((5, 4))
        model, params = bf.models.split_network(W, b)
        np.testing.assert_allclose(params.a[:, None] * model.directions, W, rtol=4 * EPS)
        np.testing.assert_allclose(np.linalg.norm(model.directions, axis=1), 1.0, rtol=4 * EPS)
        np.testing.assert_allclose(model(params, X), np.maximum(X @ W.T, 0) @ b, atol=1e-13)
        assert np.array_equal(params.b, b)

    @pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e200])
    def test_split_at_extreme_scales(self, scale):
        W = np.array([[3.0, 4.0], [-1.0, 0.0]])
        model, params = bf.models.split_network(scale * W, [0.0, 0.0])
        np.testing.assert_allclose(params.a, [5 * scale, scale], rtol=4 * EPS)
        np.testing.assert_allclose(model.directions, [[0.6, 0.8], [-1.0, 0.0]], rtol=4 * EPS)

    @pytest.mark.parametrize("law", ["uniform", "gaussian"])
    def test_random_start_has_its_law(self, law):
        """Weights given the cone, pooled over neurons: Kolmogorov–Smirnov at level 1e-3 against
        rejection by hand."""
        m, k, alpha = 20_000, 3, 0.7
        model, params = bf.models.random_network(m, k, alpha, law=law, key=1)
        assert np.all(params.a >= np.abs(params.b))
        np.testing.assert_allclose(np.linalg.norm(model.directions, axis=1), 1.0, rtol=4 * EPS)
        rng, s = np.random.default_rng(99), alpha / np.sqrt(m)
        draw = s * (
            rng.uniform(-1, 1, (2 * m, k + 1))
            if law == "uniform"
            else rng.standard_normal((2 * m, k + 1))
        )
        draw = draw[np.linalg.norm(draw[:, :k], axis=1) >= np.abs(draw[:, k])]
        W = params.a[:, None] * model.directions
        for got, expected in (
            (W[:, 0], draw[:, 0]),
            (params.a, np.linalg.norm(draw[:, :k], axis=1)),
            (params.b, draw[:, k]),
        ):
            assert kstest(got, expected).pvalue > 1e-3
        if law == "uniform":
            assert (
                0.99 * s < np.max(np.abs(W)) <= s * (1 + 4 * EPS)
                and 0.99 * s < np.max(np.abs(params.b)) <= s
            )

    def test_random_start_is_its_key(self):
        one, other, third = (bf.models.random_network(5, 3, 1.0, key=key) for key in (3, 3, 4))
        assert np.array_equal(one[0].directions, other[0].directions) and np.array_equal(
            one[1].a, other[1].a
        )
        assert np.array_equal(one[1].b, other[1].b) and not np.any(one[1].b == third[1].b)

    def test_random_start_below_the_square_root_of_float_range(self):
        """Norms at 1e-170 must not vanish on the way: the cone would never be found."""
        tiny, small = (
            bf.models.random_network(4, 3, 2.0**-570, key=2),
            bf.models.random_network(4, 3, 1.0, key=2),
        )
        np.testing.assert_allclose(tiny[1].a * 2.0**570, small[1].a, rtol=4 * EPS)
        ds = bf.data.hypercube(2, 3, key=0)
        form = bf.models.mirror(Problem(tiny[0], ds, SquareLoss(), tiny[1]))
        assert np.all(form.potential.potential.log_alpha < -700)


class TestMerging:
    def repeated(self, seed=7, counts=(1, 3, 2), order=None):
        """A network whose directions repeat, its neurons shuffled."""
        rng = np.random.default_rng(seed)
        k, m = 5, int(np.sum(counts))
        groups = np.repeat(np.arange(len(counts)), counts)
        groups = groups[rng.permutation(m) if order is None else order]
        # active on inputs that are positive
        directions = np.abs(unit(rng.standard_normal((len(counts), k))))
        a = rng.uniform(0.5, 1.5, m)
        params = FixedDirectionsParams(a, a * rng.uniform(-0.9, 0.9, m))
        ds = bf.Dataset(rng.uniform(0, 1, (2, k)), np.array([1.0, -0.5]))
        return Problem(FixedDirections(directions[groups]), ds, SquareLoss(), params), groups

    @pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.normalisation)
    def test_merged_flow_is_the_sum_of_the_unmerged(self, loss):
        problem, truth = self.repeated()
        problem = Problem(problem.model, problem.data, loss, problem.start)
        merged = bf.models.merge_directions(problem)
        times = np.array([0.1, 0.5, 1.0, 3.0, 10.0])
        flow = bf.gradient_flow(
            problem.model,
            problem.data,
            loss,
            problem.start,
            times=times,
            rtol=1e-11,
            method="weights",
        )
        mirrored = bf.mirror_flow(
            merged.mirror.potential,
            merged.mirror.X,
            merged.mirror.y,
            merged.mirror.beta0,
            times=times,
            rtol=1e-11,
        )
        beta = problem.model.effective(flow.states)
        summed = np.stack([beta[:, merged.groups == k].sum(axis=1) for k in range(3)], axis=1)
        assert np.max(np.abs(summed - mirrored.states)) < 1e-8
        assert np.max(np.abs(mirrored.states[-1] - merged.mirror.beta0)) > 0.1
        assert all(
            (merged.groups[i] == merged.groups[j]) == (truth[i] == truth[j])
            for i in range(6)
            for j in range(6)
        )

    def test_r_is_the_double_sum(self):
        problem, _ = self.repeated(8, (4, 1, 2))
        merged = bf.models.merge_directions(problem)
        for k in range(3):
            a, b = (leaf[merged.groups == k] for leaf in problem.start)
            terms = (np.outer(a, a) - np.outer(b, b)) ** 2 + (np.outer(a, b) - np.outer(b, a)) ** 2
            assert merged.r[k] == pytest.approx(np.sqrt(np.sum(terms) / 4), rel=1e-13)

    def test_groups_are_numbered_by_their_first_neuron(self):
        problem, truth = self.repeated(order=[4, 0, 1, 5, 2, 3])
        assert list(truth) == [2, 0, 1, 2, 1, 1]
        merged = bf.models.merge_directions(problem)
        assert list(merged.groups) == [0, 1, 2, 0, 2, 2]
        expected = problem.model.features(problem.data.X)[:, [0, 1, 2]]
        assert np.array_equal(merged.mirror.X, expected)
        beta = problem.model.effective(problem.start)
        np.testing.assert_allclose(
            merged.mirror.beta0, [beta[[0, 3]].sum(), beta[1], beta[[2, 4, 5]].sum()], rtol=1e-14
        )

    def test_groups_of_one_are_the_plain_reduction(self):
        model, ds, params = setting(9)
        problem = Problem(model, ds, SquareLoss("sum"), params)
        merged, plain = bf.models.merge_directions(problem), bf.models.mirror(problem)
        assert list(merged.groups) == list(range(8))
        np.testing.assert_allclose(merged.r, (params.a**2 - params.b**2) / 2, rtol=1e-14)
        assert np.array_equal(merged.mirror.X, plain.X)
        np.testing.assert_allclose(merged.mirror.beta0, plain.beta0, rtol=1e-13)
        point = np.linspace(-1, 2, 8)
        np.testing.assert_allclose(
            merged.mirror.potential.grad(point), plain.potential.grad(point), rtol=1e-13
        )

    def test_groups_of_very_different_size(self):
        """A group at 1e-170 beside one of size one: neither its r nor its features are lost."""
        model = FixedDirections([[1.0, 0.0], [0.0, 1.0]])
        params = FixedDirectionsParams(np.array([1.0, 1e-170]), np.zeros(2))
        problem = Problem(model, bf.Dataset(np.eye(2), [1.0, 1.0]), SquareLoss(), params)
        log_r = bf.models.merge_directions(problem).mirror.potential.potential.log_alpha
        np.testing.assert_allclose(log_r, 2 * np.log(params.a) - np.log(2), rtol=1e-14)

    def test_half_lines_merge(self):
        """Neurons on one edge of the cone stay on a half-line together; on both edges they span the
        whole line."""
        e = np.array([[1.0, 0.0]])
        ds = bf.Dataset([[1.0, 0.0]], [0.5])
        same = Problem(
            FixedDirections(np.repeat(e, 2, 0)), ds, SquareLoss(), ([1.0, 2.0], [-1.0, -2.0])
        )
        merged = bf.models.merge_directions(same)
        assert (
            merged.r[0] == 0
            and list(merged.mirror.potential.half_lines(1)) == [-1]
            and merged.mirror.beta0[0] == -5
        )
        both = bf.models.merge_directions(
            Problem(
                FixedDirections(np.repeat(e, 2, 0)), ds, SquareLoss(), ([1.0, 2.0], [1.0, -2.0])
            )
        )
        assert both.r[0] == pytest.approx(4.0) and list(both.mirror.potential.half_lines(1)) == [0]

    @pytest.mark.parametrize(
        "loss", [SquareLoss("half"), SquareLoss("sum")], ids=lambda loss: loss.normalisation
    )
    def test_ws_diagonal_network_is_a_pair_at_half_speed(self, loss):
        """Non-negative inputs, directions e_i twice, a = (w₊, w₋), b = (w₊, −w₋): r = 2w₊w₋, the
        same limit, β(2t) = β_W(t)."""
        rng = np.random.default_rng(10)
        n, d = 3, 5
        ds = bf.Dataset(rng.uniform(0, 1, (n, d)), rng.standard_normal(n))
        w = bf.models.DiagonalParams(rng.uniform(0.3, 1.0, d), rng.uniform(0.3, 1.0, d))
        params = FixedDirectionsParams(np.concatenate(w), np.concatenate([w.plus, -w.minus]))
        model = FixedDirections(np.vstack([np.eye(d), np.eye(d)]))
        merged = bf.models.merge_directions(Problem(model, ds, loss, params))
        np.testing.assert_allclose(merged.r, 2 * w.plus * w.minus, rtol=1e-14)
        assert list(merged.groups) == [*range(d), *range(d)]
        np.testing.assert_allclose(merged.mirror.beta0, w.plus**2 - w.minus**2, atol=1e-15)
        times = np.array([0.1, 0.5, 2.0, 6.0])
        diagonal = bf.gradient_flow(bf.DiagonalNetwork(2), ds, loss, w, times=times, rtol=1e-11)
        for method in ("dual", "weights"):
            flow = bf.gradient_flow(
                model, ds, loss, params, times=2 * times, rtol=1e-11, method=method
            )
            np.testing.assert_allclose(flow.states.a, np.hstack(diagonal.states), atol=1e-8)
            beta = model.effective(flow.states)
            np.testing.assert_allclose(
                beta[:, :d] + beta[:, d:],
                bf.DiagonalNetwork(2).effective(diagonal.states),
                atol=1e-8,
                rtol=0,
            )
        end = bf.bregman_projection(
            merged.mirror.potential, merged.mirror.X, merged.mirror.y, merged.mirror.beta0
        )
        np.testing.assert_allclose(
            end.value, bf.limit(bf.DiagonalNetwork(2), ds, start=w).value, atol=1e-10
        )


class TestUnreachableLabels:
    def problem(self, y=(-1.0, 2.0)):
        """Non-negative features, every neuron with b = a > 0: only non-negative combinations can be
        reached."""
        model = FixedDirections(unit(np.array([[1.0, 0.2], [0.3, 1.0], [1.0, 1.0]])))
        ds = bf.Dataset([[1.0, 0.5], [0.2, 1.0]], np.array(y))
        a = np.array([0.5, 0.8, 0.6])
        return model, ds, FixedDirectionsParams(a, a.copy())

    def test_outside_the_orthant(self):
        from scipy.optimize import nnls

        model, ds, params = self.problem()
        X, beta0 = model.features(ds.X), model.effective(params)
        best = nnls(X, ds.y)[0]
        with pytest.raises(
            bf.errors.InfeasibleError, match="labels out of reach with the signs"
        ) as caught:
            bf.limit(model, ds, start=params)
        g = caught.value.certificate
        assert ds.y @ g > 0 and np.all(X.T @ g <= 1e-9)
        with pytest.raises(bf.errors.InfeasibleError, match="out of reach"):
            bf.bregman_projection(bf.potentials.Entropy(), X, ds.y, beta0)
        limit = bf.limits.mirror_limit(
            bf.models.mirror(Problem(model, ds, SquareLoss(), params)).potential, X, ds.y, beta0
        )
        np.testing.assert_allclose(X @ limit.value, X @ best, atol=1e-12)
        assert (
            limit.stats["infimum"] == pytest.approx(0.5 * np.sum((X @ best - ds.y) ** 2), rel=1e-12)
            and best.any()
        )
        flow = bf.gradient_flow(model, ds, SquareLoss(), params)
        assert flow.result is bf.Result.INFEASIBLE
        assert flow.loss[-1] == pytest.approx(limit.stats["infimum"], rel=1e-8)
        # the excess is 1e-10 of the start and quadratic about the limit, so that β is known to 1e-5
        np.testing.assert_allclose(model.effective(flow.final), limit.value, atol=1e-4)

    def test_inside_the_orthant_all_agree(self):
        model, ds, params = self.problem()
        X, beta0 = model.features(ds.X), model.effective(params)
        ds = bf.Dataset(ds.X, X @ [0.7, 0.1, 0.4])
        limit = bf.limit(model, ds, start=params)
        np.testing.assert_allclose(
            bf.limits.mirror_limit(bf.potentials.Entropy(), X, ds.y, beta0).value,
            limit.value,
            atol=1e-10,
        )
        flow = bf.gradient_flow(model, ds, SquareLoss(), params)
        assert flow.result is bf.Result.CONVERGED
        np.testing.assert_allclose(model.effective(flow.final), limit.value, atol=1e-8)

    def test_inconsistent_labels(self):
        """More samples than neurons: no limit with Xβ = y; flow and mirror_limit go to the
        least-squares fit."""
        model, _, params = setting(11, m=3)
        ds = bf.data.hypercube(6, 6, key=4)
        X = model.features(ds.X)
        with pytest.raises(bf.errors.InconsistentError):
            bf.limit(model, ds, start=params)
        best = np.linalg.lstsq(X, ds.y, rcond=None)[0]
        form = bf.models.mirror(Problem(model, ds, SquareLoss(), params))
        limit = bf.limits.mirror_limit(form.potential, form.X, form.y, form.beta0)
        np.testing.assert_allclose(limit.value, best, atol=1e-11)
        flow = bf.gradient_flow(model, ds, SquareLoss(), params)
        assert flow.result is bf.Result.STATIONARY
        np.testing.assert_allclose(model.effective(flow.final), best, atol=1e-8)


def test_rank_deficient_features_flow_but_have_no_bounds():
    """A repeated sample: the flow and its limit are those of the distinct samples with weights; all
    linear bounds vanish."""
    model, ds, params = setting(12, n=3)
    twice = bf.Dataset(np.vstack([ds.X, ds.X[:1]]), np.append(ds.y, ds.y[0]))
    flow = bf.gradient_flow(model, twice, SquareLoss(), params)
    assert flow.result.success and flow.loss[-1] < 1e-15
    np.testing.assert_allclose(
        model.effective(flow.final), bf.limit(model, ds, start=params).value, atol=1e-8
    )
    bounds = bf.diagnostics.convergence_bounds(Problem(model, twice, SquareLoss(), params), flow)
    assert bounds.inverse_norm == np.inf
    assert bounds.kappa1 == bounds.kappa2 == bounds.sharp_rate == 0
    assert bounds.asymptotic_rate < 1e-25  # zero up to the square of rounding
    assert np.all(bounds.linear(np.array([1.0, 1e9])) == bounds.start_divergence)


class TestBadInput:
    OUTSIDE = FixedDirectionsParams(
        np.array([1.0, 0.5, 2.0, 0.1]), np.array([0.0, 0.7, -2.0, -0.3])
    )

    def outside(self):
        rng = np.random.default_rng(0)
        return FixedDirections(unit(rng.standard_normal((4, 3)))), bf.data.hypercube(2, 3)

    @pytest.mark.parametrize(
        "use",
        [
            lambda model, ds, params: bf.gradient_flow(model, ds, SquareLoss(), params),
            lambda model, ds, params: bf.gradient_flow(
                model, ds, SquareLoss(), params, method="dual"
            ),
            lambda model, ds, params: bf.gradient_flow(
                model, ds, SquareLoss(), params, method="weights"
            ),
            lambda model, ds, params: bf.limit(model, ds, start=params),
            lambda model, ds, params: bf.models.merge_directions(
                Problem(model, ds, SquareLoss(), params)
            ),
            lambda model, ds, params: bf.models.mirror(Problem(model, ds, SquareLoss(), params)),
        ],
        ids=["flow", "dual", "weights", "limit", "merge", "mirror"],
    )
    def test_outside_the_cone_names_the_neurons(self, use):
        with pytest.raises(
            RefusedError,
            match=r"R/lemA2: a² ≥ b² fails: neurons 1 and 3 are outside the cone.*kink of ReLU",
        ):
            use(*self.outside(), self.OUTSIDE)

    def test_many_neurons_are_counted(self):
        model, ds, _ = setting()
        params = FixedDirectionsParams(np.ones(8), np.full(8, 2.0))
        with pytest.raises(RefusedError, match=r"8 neurons \(0, 1, 2, 3, 4, …\) are outside"):
            bf.gradient_flow(model, ds, SquareLoss(), params)

    def test_rows_that_are_not_unit(self):
        rows = np.eye(4)
        rows[1], rows[3] = 2 * rows[1], 0.5 * rows[3]
        with pytest.raises(
            InputError,
            match=r"directions: directions 1 and 3 are not unit \(‖θ_1‖ = 2\); pass normalise=True",
        ):
            FixedDirections(rows)
        assert np.array_equal(FixedDirections(rows, normalise=True).directions, np.eye(4))
        with pytest.raises(InputError, match=r"direction 0 is not unit"):
            FixedDirections([[1.0 + 1e-8, 0.0]])
        FixedDirections([[1.0 + 1e-10, 0.0]])

    @pytest.mark.parametrize("normalise", [False, True])
    def test_zero_directions(self, normalise):
        with pytest.raises(InputError, match=r"directions: direction 1 is zero"):
            FixedDirections([[1.0, 0.0], [0.0, 0.0]], normalise=normalise)

    def test_normalise_at_extreme_scales(self):
        made = FixedDirections([[3e-200, 4e-200], [3e200, 4e200]], normalise=True)
        np.testing.assert_allclose(made.directions, [[0.6, 0.8]] * 2, rtol=4 * EPS)

    def test_zero_neuron_cannot_be_split(self):
        with pytest.raises(InputError, match=r"W: neuron 1 is zero and without direction"):
            bf.models.split_network([[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0])

    @pytest.mark.parametrize(
        "make, words",
        [
            (lambda: FixedDirections([[1.0, np.nan]]), r"directions: entry \(0, 1\) is nan"),
            (lambda: FixedDirections([1.0, 0.0]), r"directions: .*matrix.*\(2,\)"),
            (lambda: FixedDirections(np.zeros((0, 3))), r"directions: .*\(0, 3\)"),
            (lambda: FixedDirections([["a", "b"]]), r"directions: expected real numbers"),
            (lambda: FixedDirections(np.eye(3)).init(0.1, dim=4), r"dim: 4 .* dimension 3"),
            (
                lambda: FixedDirections(np.eye(3)).init([0.1, 0.2]),
                r"scale: .*length 3, found shape \(2,\)",
            ),
            (
                lambda: FixedDirections(np.eye(3)).init(0.0),
                r"scale: found 0, needs a positive number",
            ),
            (lambda: FixedDirections(np.eye(3)).init(-1.0), r"scale: found -1"),
            (lambda: FixedDirections(np.eye(3)).potential(), r"scale: give exactly one"),
            (
                lambda: bf.models.split_network(np.eye(3), [1.0, 2.0]),
                r"b: expected length 3, found 2",
            ),
            (lambda: bf.models.split_network([[np.inf, 1.0]], [1.0]), r"W: entry \(0, 0\) is inf"),
            (lambda: bf.models.random_network(0, 3, 1.0), r"width: .*at least 1"),
            (lambda: bf.models.random_network(3, 2.5, 1.0), r"dim: expected an integer"),
            (lambda: bf.models.random_network(3, 2, -1.0), r"scale: expected a positive"),
            (lambda: bf.models.random_network(3, 2, np.nan), r"scale: expected a positive"),
            (
                lambda: bf.models.random_network(3, 2, 1.0, law="cauchy"),
                r"law: expected one of 'uniform', 'gaussian'",
            ),
            (lambda: bf.models.random_network(3, 2, 1.0, key=-1), r"key: .*at least 0"),
            (lambda: bf.models.merge_directions("no"), r"problem: expected Problem, found str"),
        ],
    )
    def test_malformed(self, make, words):
        with pytest.raises(InputError, match=words):
            make()

    @pytest.mark.parametrize(
        "params, words",
        [
            (
                ([1.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
                r"start\.a: must be positive; neuron 1 is not\. Where a < 0, flip θ and a",
            ),
            (
                ([1.0, -1.0, -2.0], [0.0, 0.0, 0.0]),
                r"start\.a: must be positive; neurons 1 and 2 are not",
            ),
            (([1.0, 1.0], [0.0, 0.0, 0.0]), r"start\.a: expected length 3, found 2"),
            (([1.0, 1.0, 1.0], [0.0, np.nan, 0.0]), r"start\.b: entry \(1,\) is nan"),
            (([1.0, 1.0, 1.0],), r"start: expected FixedDirectionsParams\(a, b\), found tuple"),
            (3.0, r"start: expected FixedDirectionsParams\(a, b\), found float"),
        ],
    )
    def test_parameters(self, params, words):
        ds = bf.data.hypercube(2, 3)
        for use in (
            lambda: bf.gradient_flow(FixedDirections(np.eye(3)), ds, SquareLoss(), params),
            lambda: bf.limit(FixedDirections(np.eye(3)), ds, start=params),
            lambda: Problem(FixedDirections(np.eye(3)), ds, SquareLoss(), params),
        ):
            with pytest.raises(InputError, match=words):
                use()

    def test_inputs_of_another_dimension(self):
        model = FixedDirections(np.eye(3))
        with pytest.raises(InputError, match=r"X: inputs have dimension 4, the directions 3"):
            bf.gradient_flow(model, bf.data.hypercube(2, 4), SquareLoss(), model.init(1.0))

    def test_merging_needs_this_model_and_a_square_loss(self):
        ds = bf.data.hypercube(2, 3)
        diagonal = Problem(
            bf.DiagonalNetwork(2), ds, SquareLoss(), bf.DiagonalNetwork(2).init(1.0, dim=3)
        )
        with pytest.raises(
            InputError, match=r"problem\.model: expected FixedDirections, found DiagonalNetwork"
        ):
            bf.models.merge_directions(diagonal)
        model = FixedDirections(np.eye(3))
        with pytest.raises(InputError, match=r"problem\.loss: expected SquareLoss, found object"):
            bf.models.merge_directions(Problem(model, ds, object(), model.init(1.0)))
        with pytest.raises(
            RefusedError, match=r"mirror: the dual flow needs a square loss, found object"
        ):
            bf.models.mirror(Problem(model, ds, object(), model.init(1.0)))
