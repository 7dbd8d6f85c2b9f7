"""Calls as users of 0.1 make them: names, positional order, keywords, method strings, result
attributes, `stats` keys.

They work until 1.0. A rename keeps the old call, with a `DeprecationWarning` that names the new
one; no line here may change.
"""

import subprocess
import sys

import numpy as np
import pytest

import biasflow as bf

X = np.random.default_rng(0).normal(size=(4, 7))
Y = np.random.default_rng(1).normal(size=4)
PLANE = np.array([[1.0, 0.2], [0.8, -0.5], [-1.0, 0.4], [-0.7, -0.9]])
SIGNS = np.array([1.0, 1.0, -1.0, -1.0])

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def diagonal(scale=0.1):
    model = bf.DiagonalNetwork(2)
    return model, bf.Dataset(X, Y), model.init(scale, dim=7)


def test_the_first_example():
    ds = bf.data.sparse_regression(n=20, d=50, sparsity=3, noise_var=0.01, key=0)
    model = bf.DiagonalNetwork(depth=2)
    traj = bf.gradient_flow(model, ds, bf.SquareLoss("sum"), params0=model.init(scale=1e-3, dim=50))
    limit = bf.limit(model, ds, scale=1e-3)
    assert str(bf.compare(traj, limit))
    assert traj.result.success and traj.final.plus.shape == (50,)
    np.testing.assert_allclose(model.effective(traj.final), limit.value, atol=1e-6)


@pytest.mark.parametrize("kind", ["half", "sum", "half-mean"])
def test_square_losses(kind):
    factor = {"half": 0.5, "sum": 1.0, "half-mean": 0.5 / 4}[kind]
    assert bf.SquareLoss(kind)(np.zeros(4), Y) == pytest.approx(factor * Y @ Y)


def test_losses_on_margins():
    assert bf.ExponentialLoss()(np.zeros(2), np.array([1.0, -1.0])) == pytest.approx(1.0)
    assert bf.LogisticLoss()(np.zeros(2), np.array([1.0, -1.0])) == pytest.approx(np.log(2))
    for loss in (bf.ExponentialLoss(), bf.LogisticLoss()):
        assert np.isfinite(bf.SmoothMargin(loss)(np.array([1.0, -2.0]), np.array([1.0, -1.0])))
    assert bf.CrossEntropyLoss()(np.zeros((2, 3)), np.array([0, 2])) == pytest.approx(np.log(3))


POTENTIALS = {
    "hypentropy": lambda: bf.Hypentropy(alpha=0.1),
    "hypentropy of a vector": lambda: bf.Hypentropy(np.full(7, 0.1)),
    "hypentropy by logarithm": lambda: bf.Hypentropy(log_alpha=-3.0),
    "half a hypentropy": lambda: bf.Hypentropy(
        alpha=np.array([0.1, 0.0, 1, 1, 1, 1, 1]), sign=np.ones(7)
    ),
    "euclidean": lambda: bf.Euclidean(),
    "depth": lambda: bf.DepthPotential(3, scale=0.2),
    "depth by logarithm": lambda: bf.DepthPotential(4, log_scale=-2.0),
    "scaled": lambda: bf.ScaledPotential(0.5, bf.Hypentropy(0.3)),
}


@pytest.mark.parametrize("make", POTENTIALS.values(), ids=POTENTIALS.keys())
def test_potentials_have_their_methods(make):
    potential, b, b0 = make(), np.linspace(0.1, 0.7, 7), np.full(7, 0.2)
    dual = potential.grad(b)
    np.testing.assert_allclose(potential.grad_conjugate(dual), b, rtol=1e-8)
    product = potential.hessian_diag(b) * potential.hessian_conjugate_diag(dual)
    np.testing.assert_allclose(product, 1.0, rtol=1e-6)
    fenchel = np.sum(potential.value(b)) + np.sum(potential.conjugate(dual))
    assert fenchel == pytest.approx(b @ dual, rel=1e-8)
    assert (
        np.sum(potential.divergence(b, b0)) == pytest.approx(bf.bregman(potential, b, b0))
        and bf.bregman(potential, b, b0) > 0
    )


def test_the_entropy_lives_on_positive_vectors():
    assert bf.Entropy().grad(np.ones(3)).shape == (3,)


def check_limit(limit):
    assert np.isfinite(limit.objective) and limit.value is not None
    certificate = limit.certificate
    assert (
        np.isfinite(certificate.primal)
        and np.isfinite(certificate.dual)
        and isinstance(certificate.kind, str)
    )
    return limit


def test_limits_of_regression():
    model, ds, start = diagonal()
    by_start = check_limit(bf.limit(model, ds, bf.SquareLoss(), params0=start))
    by_scale = bf.limit(model, ds, scale=0.1)
    by_logarithm = bf.limit(model, ds, log_scale=np.log(0.1))
    projected = check_limit(bf.bregman_projection(bf.Hypentropy(alpha=0.02), X, Y, beta0=None))
    for other in (by_scale, by_logarithm):
        np.testing.assert_allclose(other.value, by_start.value, atol=1e-9)
    assert projected.value.shape == (7,)
    least = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(check_limit(bf.min_l2(X, Y)).value, least, atol=1e-10)
    assert check_limit(bf.min_l1(X, Y)).objective <= np.abs(least).sum()


def test_limits_of_matrices_and_kernels():
    rows, cols = np.array([0, 0, 1]), np.array([0, 1, 1])
    assert check_limit(
        bf.min_nuclear_norm((2, 2), rows, cols, np.array([1.0, 2.0, 3.0]))
    ).value.shape == (2, 2)
    K = X @ X.T
    np.testing.assert_allclose(K @ check_limit(bf.kernel_interpolator(K, Y)).value, Y, atol=1e-9)
    assert check_limit(bf.kernel_max_margin(PLANE @ PLANE.T, SIGNS)).objective > 0


def test_limits_of_networks():
    found = check_limit(bf.min_norm_interpolator(PLANE[:3], np.array([1.0, -0.5, 0.3])))
    params = found.value
    assert isinstance(params, bf.TwoLayerParams) and params.W.shape == (params.a.size, 2)
    assert found.objective == pytest.approx(np.sum(params.a**2) + np.sum(params.W**2), rel=1e-6)
    assert (
        bf.variation_norm(params) > 0
        and bf.kkt_residual(params, bf.Dataset(PLANE[:3], [1.0, -0.5, 0.3])) >= 0
    )
    start = bf.TwoLayer(4, 2).init(1.0, key=1)
    orthogonal = bf.Dataset(np.eye(2), [1.0, -0.5])
    assert check_limit(bf.saddle_limit(orthogonal, start)).value.W.shape[1] == 2
    assert bf.early_alignment(orthogonal, start) is not None


def test_max_margins():
    signed = SIGNS[:, None] * PLANE
    for margin in (bf.l1_max_margin, bf.l2_max_margin):
        assert check_limit(margin(signed)).objective > 0
    found = check_limit(bf.f1_max_margin(PLANE, SIGNS, gap=1e-9, time_s=60, key=0))
    particles = found.value
    assert isinstance(particles, bf.Particles) and particles.directions.shape[1] == 3
    assert np.sum(np.exp(particles.log_masses)) == pytest.approx(1.0)
    ones = np.column_stack([PLANE, np.ones(4)])
    active = np.maximum(ones @ particles.directions.T, 0)
    f = 0.5 * active @ (np.exp(particles.log_masses) * particles.signs)
    assert np.min(SIGNS * f) == pytest.approx(found.objective, rel=1e-6)
    assert check_limit(bf.f2_max_margin(PLANE, SIGNS)).objective > 0
    assert check_limit(bf.interclass_distance(PLANE, SIGNS, 1)).objective > 0


def check_flow(flow):
    assert flow.times[0] == 0 and len(flow.times) == len(flow.loss) == len(flow.error)
    assert flow.result.success and "method" in flow.stats
    assert flow.final is not None and flow.at(float(flow.times[-1])) is not None
    return flow


def test_mirror_flows():
    flow = check_flow(
        bf.mirror_flow(bf.Hypentropy(0.1), X, Y, None, None, bf.SquareLoss("half"), None)
    )
    np.testing.assert_allclose(X @ flow.final, Y, atol=1e-6)
    times = np.array([0.0, 0.5, 1.0])
    saved = bf.mirror_flow(bf.Euclidean(), X, Y, beta0=np.zeros(7), t1=1.0, times=times)
    np.testing.assert_array_equal(saved.times, times)


@pytest.mark.parametrize("method", [None, "dual", "compiled", "weights"])
def test_gradient_flows_by_method(method):
    model, ds, start = diagonal()
    flow = check_flow(
        bf.gradient_flow(model, ds, bf.SquareLoss("half"), start, None, 1e-8, None, method, True)
    )
    assert method in (None, flow.stats["method"])
    np.testing.assert_allclose(X @ model.effective(flow.final), Y, atol=1e-6)


def test_gradient_flows_of_every_model():
    square, ds = bf.SquareLoss("half"), bf.Dataset(X, Y)
    fixed = bf.FixedDirections(np.eye(7)[:6])
    check_flow(bf.gradient_flow(fixed, ds, square, fixed.init(0.5), t1=0.5))
    two = bf.TwoLayer(5, 2, activation="relu")
    plane = bf.Dataset(PLANE, SIGNS)
    check_flow(
        bf.gradient_flow(two, plane, bf.SquareLoss("half-mean"), two.init(0.1, key=0), t1=1.0)
    )
    check_flow(bf.gradient_flow(two, plane, bf.LogisticLoss(), two.init(0.1, key=0), t1=1.0))
    signed = bf.SignedTwoLayer(4, 2)
    check_flow(
        bf.gradient_flow(signed, plane, bf.ExponentialLoss(), signed.init(0.5, key=0), t1=1.0)
    )
    deep = bf.DeepNetwork((2, 3, 1))
    check_flow(bf.gradient_flow(deep, plane, bf.SquareLoss("half"), deep.init(0.5, key=0), t1=0.5))
    factors = bf.MatrixFactorisation((2, 2), 4)
    entries = bf.data.completion((2, 2), rank=1, observed=3, key=0)
    check_flow(bf.gradient_flow(factors, entries, square, factors.init(0.5, key=0), t1=0.5))


@pytest.mark.parametrize(
    "model",
    [bf.DiagonalNetwork(3), bf.TwoLayer(3, 7), bf.SignedTwoLayer(3, 7), bf.DeepNetwork((7, 2, 1))],
)
def test_models(model):
    start = (
        model.init(0.3, dim=7, key=0)
        if isinstance(model, bf.DiagonalNetwork)
        else model.init(0.3, key=0)
    )
    assert np.shape(model(start, X)) == (4,) and model.homogeneity >= 1
    kernel = bf.tangent_kernel(model, start, X)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-12)


def test_gradient_descent():
    model, ds, start = diagonal()
    run = bf.gradient_descent(model, ds, bf.SquareLoss("half"), start, 1e-3, 50)
    minibatches = bf.gradient_descent(
        model, ds, bf.SquareLoss("half"), start, stepsize=1e-3, steps=50, batch=2
    )
    assert run.loss[-1] < run.loss[0] and len(minibatches.loss) == len(run.loss)


def test_paths_of_vanishing_starts():
    path = bf.saddle_path(X, Y)
    assert path.times[0] == 0 and not np.any(path.states[0]) and np.all(np.isfinite(path.times))
    np.testing.assert_allclose(X @ path.final, Y, atol=1e-9)


def test_claims_figures_and_tools():
    assert "W/thm1" in bf.claims() and "W/fig1" in bf.figures()
    verdict = bf.verify("W/thm1", key=0)
    assert verdict.status == "holds"
    model, ds, start = diagonal()
    flow = bf.gradient_flow(model, ds, bf.SquareLoss("half"), start)
    assert (
        bf.verify("W/thm1", bf.Problem(model, ds, bf.SquareLoss("half"), start)).status == "holds"
    )
    assert bf.commuting_defect(model, start) is not None
    assert len(bf.phases(flow)) >= 1
    assert bf.time_to(flow, loss=0.5 * flow.loss[0]) is not None


def double(x: int) -> "object":
    import xarray

    return xarray.Dataset({"v": 2.0 * x})


def test_sweeps_of_a_function_of_ones_own():
    np.testing.assert_array_equal(bf.sweep(double, bf.Grid({"x": (1, 2, 3)})).v, [2.0, 4.0, 6.0])


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "figure",
        "reproduce",
        "verify",
        "sweep run",
        "sweep status",
        "sweep collect",
        "sweep clean",
        "data fetch",
        "doctor",
    ],
)
def test_commands(command):
    done = subprocess.run(
        [sys.executable, "-m", "biasflow", *command.split(), "--help"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_effort_and_keys_by_position():
    np.testing.assert_array_equal(
        bf.data.sparse_regression(4, 9, 2, 0.1, 7).X, bf.data.sparse_regression(4, 9, 2, key=7).X
    )
    assert bf.data.hypercube(3, 5, 1).X.shape == (3, 5)
    assert bf.data.orthonormal(3, 5, 1).X.shape == (3, 5)
    assert bf.data.completion((3, 3), 1, 5, 2).n == 5
    assert bf.data.gaussian_teacher(4, 5, 2, 1).n == 4
    assert bf.data.circle_teacher(6, 3, 1, True).n == 6
    assert bf.data.cluster_classes(2, 1, "code").shape == (4,)
    assert check_limit(bf.f1_max_margin(PLANE, SIGNS, 1e-6, 30.0, 1)).objective > 0
    model, ds, start = diagonal()
    run = bf.gradient_descent(model, ds, bf.SquareLoss("half"), start, 1e-3, 20, 2, 3)
    limit, _ = bf.effective_limit(model, ds, bf.SquareLoss("half"), start, 1e-3, 20, None, 0)
    assert run.problem.params0 is run.problem.start and limit.value.shape == (7,)
    assert bf.verify("W/thm1", None, 0).status == "holds"
    assert bf.Evidence(run.problem, None, 5.0).problem is run.problem
