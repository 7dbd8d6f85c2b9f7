"""What every Legendre potential satisfies, on random points."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from biasflow.potentials import (
    DepthPotential,
    Entropy,
    Euclidean,
    Hypentropy,
    ScaledPotential,
    Separable,
    bregman,
)

EPS = float(np.finfo(float).eps)
D = 5

SIGNS = np.array([1.0, 1.0, -1.0, 1.0, -1.0])
MIXED = Hypentropy([0.0, 1e-100, 0.0, 3.0, 0.0], sign=SIGNS)
FREE = {
    "euclidean": Euclidean(),
    "hypentropy 1e6": Hypentropy(1e6),
    "hypentropy 1": Hypentropy(1.0),
    "hypentropy 1e-100": Hypentropy(1e-100),
    "hypentropy e^-23000": Hypentropy(log_alpha=-23000.0),
    "hypentropy vector": Hypentropy([1e-100, 1e-5, 1.0, 1e5, 1e100]),
    "depth 3": DepthPotential(3, 1.0),
    "depth 5": DepthPotential(5, 0.1),
    "depth 50": DepthPotential(50, [0.5, 0.9, 1.0, 1.1, 2.0]),
    "own hypentropy": Separable(lambda beta: np.arcsinh(beta / 0.01)),
    "own euclidean": Separable(lambda beta: beta),
    "own power": Separable(lambda beta: beta * (beta**2 + 1e-4) ** -0.25),
    "scaled": ScaledPotential([0.5, 1.0, 2.0, 3.0, 1e3], Hypentropy(1e-3)),
}
CONFINED = {
    "entropy": (Entropy(), np.ones(D)),
    "own entropy": (Separable(np.log, domain="positive"), np.ones(D)),
    "own negative entropy": (
        Separable(lambda beta: -np.log(-beta), domain="negative"),
        -np.ones(D),
    ),
    "hypentropy with zeros": (MIXED, np.where(MIXED.alpha == 0, SIGNS, 0.0)),
}
POTENTIALS = {**{name: (potential, np.zeros(D)) for name, potential in FREE.items()}, **CONFINED}
every_potential = pytest.mark.parametrize("name", POTENTIALS)

sizes = st.floats(-8, 8).map(lambda e: 10.0**e)
points = st.lists(st.tuples(sizes, st.sampled_from([-1.0, 1.0])), min_size=D, max_size=D)
fast = settings(max_examples=40, deadline=None)


def place(raw, sides) -> np.ndarray:
    """A point with the prescribed sign wherever there is one."""
    return np.array([size * (side or sign) for (size, sign), side in zip(raw, sides, strict=True)])


def unit(eta) -> float:
    """Results inherit the rounding of η: eps·max(1, |η|). 100 covers the sums, the powers and log
    D·α of the deep potentials."""
    return 100 * EPS * max(1.0, float(np.max(np.abs(eta))))


@every_potential
@given(raw=points)
@fast
def test_mirror_maps_invert(name, raw):
    potential, sides = POTENTIALS[name]
    beta = place(raw, sides)
    eta = potential.grad(beta)
    # elsewhere 1 − |η| has lost digits
    inner = np.abs(eta) < 0.999 if name.startswith("depth") else np.isfinite(eta)
    slack = np.min(1 - np.abs(eta[inner]), initial=1.0) if name.startswith("depth") else 1.0
    back = potential.grad_conjugate(np.where(inner, eta, 0.0))
    np.testing.assert_allclose(back[inner], beta[inner], rtol=unit(eta) / slack)
    point = potential.at(beta)
    again = point.moved(np.zeros(D))
    depth_digits = (
        1 + np.max(np.abs(np.log(np.abs(beta) / 1e-10))) if name.startswith("depth") else 1.0
    )
    np.testing.assert_allclose(again.beta, beta, rtol=unit(eta) * depth_digits)
    np.testing.assert_allclose(potential.hessian_diag(beta) * point.weight(), 1.0, rtol=4 * EPS)


@every_potential
@given(raw=points)
@fast
def test_fenchel_equality(name, raw):
    potential, sides = POTENTIALS[name]
    point = potential.at(place(raw, sides))
    pairing = point.beta * point.eta
    scale = np.abs(pairing) + np.abs(point.value()) + np.abs(point.conjugate())
    assert np.all(np.abs(point.value() + point.conjugate() - pairing) <= unit(point.eta) * scale)


@every_potential
@given(raw=points, other=points)
@fast
def test_divergence_is_positive_and_vanishes_only_on_the_diagonal(name, raw, other):
    potential, sides = POTENTIALS[name]
    b1, b0 = place(raw, sides), place(other, sides)
    terms = potential.at(b1).divergence(potential.at(b0))
    assert np.all(terms >= 0)
    assert bregman(potential, b1, b1) == 0.0
    nearby = b0 * (1 + 1e-6)
    assert np.all(potential.at(nearby).divergence(potential.at(b0)) > 0)
    far = np.abs(np.log(np.abs(b1 / b0))) > 1e-3
    assert np.all(terms[far] > 0)


@every_potential
@given(raw=points, other=points)
@fast
def test_gradient_is_monotone(name, raw, other):
    potential, sides = POTENTIALS[name]
    b1, b0 = place(raw, sides), place(other, sides)
    change = potential.at(b1).minus(potential.at(b0))
    assert np.all(change * np.sign(b1 - b0) >= 0)
    np.testing.assert_allclose(
        change,
        potential.grad(b1) - potential.grad(b0),
        atol=unit(potential.grad(b1)) + unit(potential.grad(b0)),
    )


@every_potential
@given(raw=points, second=points, third=points)
@example(  # β/β₀ just above 1/e near zero, where a Newton step once fell short of its root
    raw=[(1.0, -1.0)] * 5,
    second=[(10.0**-1.390625, -1.0)] * 5,
    third=[(0.10941138105771858, -1.0)] * 5,
)
@fast
def test_three_point_identity(name, raw, second, third):
    """D(a,c) = D(a,b) + D(b,c) + ⟨∇φ(b) − ∇φ(c), a − b⟩, up to rounding of its largest term."""
    potential, sides = POTENTIALS[name]
    a, b, c = (potential.at(place(p, sides)) for p in (raw, second, third))
    terms = np.array(
        [a.divergence(c), -a.divergence(b), -b.divergence(c), -b.minus(c) * (a.beta - b.beta)]
    )
    digits = max(unit(p.eta) for p in (a, b, c))
    scale = np.max(np.abs(terms), axis=0) + sum(
        np.abs(p.beta * p.eta) + np.abs(p.conjugate()) for p in (a, b, c)
    )
    assert np.all(np.abs(np.sum(terms, axis=0)) <= 4 * digits * scale)


@given(raw=points, other=points, factor=st.floats(1e-3, 1e3))
@fast
def test_scaled_is_factor_times(raw, other, factor):
    inner = Hypentropy(0.01)
    scaled = ScaledPotential(factor, inner)
    b1, b0 = place(raw, np.zeros(D)), place(other, np.zeros(D))
    for measured, expected in (
        (scaled.value(b1), factor * inner.value(b1)),
        (scaled.grad(b1), factor * inner.grad(b1)),
        (scaled.divergence(b1, b0), factor * inner.divergence(b1, b0)),
        (scaled.hessian_diag(b1), factor * inner.hessian_diag(b1)),
        (scaled.conjugate(factor * inner.grad(b1)), factor * inner.conjugate(inner.grad(b1))),
    ):
        np.testing.assert_allclose(measured, expected, rtol=unit(inner.grad(b1)))


@every_potential
@given(raw=points)
@fast
def test_gradient_is_the_derivative(name, raw):
    """Central differences over h = 1e-4·|β|: the error is h²/6 of the third derivative, relative
    1e-7, rounding 1e-11."""
    potential, sides = POTENTIALS[name]
    beta = place(raw, sides)
    step = 1e-4 * np.abs(beta)
    plus, minus = potential.at(beta + step), potential.at(beta - step)
    slope = plus.minus(minus) / (2 * step)
    np.testing.assert_allclose(slope, potential.hessian_diag(beta), rtol=1e-6)


def test_sums_run_over_the_last_axis_only():
    potential, beta = Hypentropy(0.5), np.linspace(-2, 2, 12).reshape(3, 4)
    assert potential.value(beta).shape == (3,)
    np.testing.assert_allclose(
        potential.value(beta), [potential.value(row) for row in beta], rtol=1e-15
    )
    assert potential.grad(beta).shape == (3, 4)


def test_hypentropy_interpolates_between_its_ends():
    """Φ_α ~ ‖β‖²/(2α) for large α (relative correction β²/(12α²)); ~ ‖β‖₁·log(1/α) for small α
    (correction 1/log α)."""
    beta = np.array([0.3, -2.0, 1.1])
    assert Hypentropy(1e5).value(beta) * 1e5 == pytest.approx(0.5 * beta @ beta, rel=1e-9)
    assert Hypentropy(log_alpha=-1e6).value(beta) / 1e6 == pytest.approx(
        np.sum(np.abs(beta)), rel=1e-5
    )


def test_vector_alpha_is_coordinatewise():
    alpha, beta = np.array([1e-100, 1e-3, 1.0, 0.0, 0.0]), np.array([1.0, -2.0, 0.0, 0.5, -0.25])
    sign = np.array([0.0, 7.0, 0.0, 1.0, -1.0])  # read only where alpha is zero
    potential = Hypentropy(alpha, sign=sign)
    single = [Hypentropy(a, sign=s if a == 0 else None) for a, s in zip(alpha, sign, strict=True)]
    assert np.array_equal(
        potential.grad(beta), [p.grad(b) for p, b in zip(single, beta, strict=True)]
    )
    assert potential.value(beta) == pytest.approx(
        sum(float(p.value(b)) for p, b in zip(single, beta, strict=True)), rel=8 * EPS
    )
    np.testing.assert_allclose(
        potential.grad_conjugate(potential.grad(beta)), beta, rtol=1000 * EPS
    )
    assert list(potential.half_lines(5)) == [0, 0, 0, 1, -1]


def test_depth_three_by_hand():
    """D = 3: h(z) = (1−z)^{−3} − (1+z)^{−3}; at z = ½ this is 8 − 8/27."""
    assert DepthPotential(3, 1.0).grad(8 - 8 / 27) == pytest.approx(0.5, rel=8 * EPS)
    assert DepthPotential(3, 2.0).grad(8 * (8 - 8 / 27)) == pytest.approx(0.5, rel=8 * EPS)
    assert DepthPotential(4, 1.0).grad(4 - 4 / 9) == pytest.approx(0.5, rel=8 * EPS)


def test_depth_point_below_float_range_moves_by_finite_steps():
    """A slack of e^{−766} is zero in floats; its logarithm moves all the same."""
    point = DepthPotential(3, log_scale=-766.0).at(np.array([1.0, -1.0]))
    assert np.all(point.slack < 1e-300)
    np.testing.assert_allclose(point.moved(np.zeros(2)).beta, [1.0, -1.0], rtol=3000 * EPS)
    inward = point.moved(np.array([-1e-5, 1e-5]))
    np.testing.assert_allclose(inward.log_slack, np.log(1e-5), rtol=8 * EPS)
    assert np.array_equal(point.moved(np.array([1e-5, -1e-5])).beta, [np.inf, -np.inf])
