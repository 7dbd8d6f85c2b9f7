"""Every potential against mpmath, at points where naive formulas lose all their digits."""

import mpmath as mp
import numpy as np
import pytest

from biasflow.potentials import DepthPotential, Entropy, Euclidean, Hypentropy, ScaledPotential

EPS = float(np.finfo(float).eps)
LEAST = 1e-290  # below it results are subnormal, and carry fewer digits by construction
NEAR = (1e-12, 1e-9, 1e-6, 1e-3, 0.1, 0.7, 1.0)


@pytest.fixture(autouse=True)
def precision():
    """D_φ at relative distance 1e-12 cancels 24 digits of β·η, and α = 1e-100 next to β = 1e100
    another 400."""
    with mp.workdps(700):
        yield


def close(measured, exact, size=1.0, ulps=8.0) -> None:
    """|measured − exact| ≤ ulps·eps·max(1, size)·|exact|."""
    if 0 < abs(exact) < LEAST or abs(exact) > 1e300:
        return
    error = abs(mp.mpf(float(measured)) - exact)
    bound = ulps * EPS * max(1.0, float(size)) * abs(exact)
    assert error <= bound, (
        f"found {float(measured)!r}, exact {mp.nstr(exact, 20)}: {mp.nstr(error / bound, 4)} "
        "times the bound"
    )


class HypentropyReference:
    def __init__(self, alpha):
        self.alpha = mp.mpf(alpha)

    def grad(self, x):
        return mp.asinh(x / self.alpha)

    def value(self, x):
        return x * self.grad(x) - mp.sqrt(x * x + self.alpha**2) + self.alpha

    def divergence(self, x, x0):
        return self.value(x) - self.value(x0) - self.grad(x0) * (x - x0)


SIZES = (1e-120, 1e-20, 1e-3, 0.5, 3.7, 1e4, 1e90)


@pytest.mark.parametrize("alpha", [1e6, 30.0, 1.0, 1e-2, 1e-10, 1e-40, 1e-100])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hypentropy(alpha, sign):
    potential, exact = Hypentropy(alpha), HypentropyReference(alpha)
    for size in SIZES:
        x = mp.mpf(sign * size)
        eta = exact.grad(x)
        amplification = abs(eta)  # x moves by |η| times its own error where x = α·sinh η
        close(potential.grad(sign * size), eta, 1.0)
        close(potential.value(sign * size), exact.value(x), amplification)
        close(potential.hessian_diag(sign * size), 1 / mp.sqrt(x * x + exact.alpha**2))
        h = float(eta)
        if abs(h) < 1e-280:
            continue
        close(potential.grad_conjugate(h), exact.alpha * mp.sinh(h), amplification)
        close(potential.conjugate(h), exact.alpha * 2 * mp.sinh(mp.mpf(h) / 2) ** 2, amplification)
        close(potential.hessian_conjugate_diag(h), exact.alpha * mp.cosh(h), amplification)


@pytest.mark.parametrize("alpha", [1e6, 1.0, 1e-2, 1e-40, 1e-100])
def test_hypentropy_divergence_of_near_far_and_opposite_points(alpha):
    potential, exact = Hypentropy(alpha), HypentropyReference(alpha)
    for size in SIZES:
        for other in (
            *(size * (1 + t) for t in NEAR),
            size * (1 - 1e-7),
            37 * size,
            size / 53,
            -size,
            -size * 1e-9,
            0.0,
        ):
            for x, x0 in ((size, other), (other, size)):
                # the distance x − x0 is exact up to one rounding of x: 1 + t itself is a float
                amplification = max(abs(exact.grad(mp.mpf(x))), abs(exact.grad(mp.mpf(x0))))
                close(
                    potential.divergence(x, x0),
                    exact.divergence(mp.mpf(x), mp.mpf(x0)),
                    amplification,
                    ulps=16,
                )


@pytest.mark.parametrize("log_alpha", [-750.0, -2300.0, -23000.0])
def test_hypentropy_below_float_range(log_alpha):
    """α itself is zero in floats. There η = log 2|β| − log α to far below rounding, and β =
    ½·exp(log α + η)."""
    potential = Hypentropy(log_alpha=log_alpha)
    with mp.workdps(60):
        for size in (1e-300, 1e-8, 1.0, 1e5):
            x = mp.mpf(size)
            eta = mp.log(2 * x) - mp.mpf(log_alpha)
            close(potential.grad(size), eta)
            close(potential.value(size), x * eta - x)
            close(potential.hessian_diag(size), 1 / x)
            h = float(eta)
            back = mp.exp(mp.mpf(log_alpha) + mp.mpf(h)) / 2
            for method in (
                potential.grad_conjugate,
                potential.conjugate,
                potential.hessian_conjugate_diag,
            ):
                close(method(h), back, abs(h))
            for other, amplification in (
                (size * (1 + 1e-9), 1.0),
                (1.5 * size, 1.0),
                (3 * size, abs(eta)),
            ):
                y = mp.mpf(other)  # α vanishes against both: Kullback–Leibler
                close(potential.divergence(other, size), y * mp.log(y / x) - y + x, amplification)
            close(potential.divergence(size, -size), 2 * x * eta)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_half_line(sign):
    for potential in (Hypentropy(0.0, sign=sign), *([Entropy()] if sign > 0 else [])):
        for size in (1e-120, 1e-5, 0.5, 0.9, 1 - 1e-7, 1.0, 1 + 1e-9, 1.1, 2.0, 50.0, 1e80):
            x = mp.mpf(size)
            log_x = mp.log(x)
            close(potential.grad(sign * size), sign * log_x)
            close(potential.value(sign * size), x * log_x - x + 1, abs(log_x), ulps=16)
            close(potential.hessian_diag(sign * size), 1 / x)
            h = float(log_x)
            close(potential.grad_conjugate(sign * h), sign * mp.exp(h), abs(h))
            close(potential.conjugate(sign * h), mp.expm1(h), abs(h))
            close(potential.hessian_conjugate_diag(sign * h), mp.exp(h), abs(h))
            for other in (*(size * (1 + t) for t in NEAR), 37 * size, size / 53):
                y = mp.mpf(other)
                close(
                    potential.divergence(sign * other, sign * size),
                    y * mp.log(y / x) - y + x,
                    4 + abs(log_x),
                )
        assert potential.divergence(0.0, sign * 2.0) == 2.0


def test_euclidean():
    potential = Euclidean()
    for x in (-3.25, 1e-9, 7.0):
        assert potential.grad(x) == potential.grad_conjugate(x) == x
        close(potential.value(x), mp.mpf(x) ** 2 / 2)
        close(potential.conjugate(x), mp.mpf(x) ** 2 / 2)
        close(
            potential.divergence(x * (1 + 1e-9), x), (mp.mpf(x * (1 + 1e-9)) - mp.mpf(x)) ** 2 / 2
        )
        assert potential.hessian_diag(x) == potential.hessian_conjugate_diag(x) == 1.0


def test_scaled():
    potential, exact = ScaledPotential(0.3, Hypentropy(1e-10)), HypentropyReference(1e-10)
    c = mp.mpf(0.3)
    for size in (1e-12, 0.5, 1e4):
        x = mp.mpf(size)
        eta = exact.grad(x)
        close(potential.grad(size), c * eta)
        close(potential.value(size), c * exact.value(x), abs(eta))
        close(potential.hessian_diag(size), c / mp.sqrt(x * x + exact.alpha**2))
        h = float(c * eta)
        close(potential.grad_conjugate(h), exact.alpha * mp.sinh(h / c), abs(h / c))
        close(potential.conjugate(h), c * exact.alpha * 2 * mp.sinh(h / c / 2) ** 2, abs(h / c))
        close(potential.hessian_conjugate_diag(h), exact.alpha * mp.cosh(h / c) / c, abs(h / c))
        close(
            potential.divergence(size * 1.001, size),
            c * exact.divergence(mp.mpf(size * 1.001), x),
            abs(eta),
            ulps=16,
        )


class DepthReference:
    def __init__(self, depth, log_alpha):
        self.p = mp.mpf(depth) / (depth - 2)
        self.unit = mp.exp(depth * mp.mpf(log_alpha))

    def beta(self, slack):
        """β > 0 with 1 − z = slack."""
        return self.unit * (slack**-self.p - (2 - slack) ** -self.p)

    def conjugate(self, slack):
        a = self.p - 1
        return self.unit * (slack**-a + (2 - slack) ** -a - 2) / a

    def weight(self, slack):
        return self.unit * self.p * (slack ** (-self.p - 1) + (2 - slack) ** (-self.p - 1))

    def slack(self, beta):
        """The slack at β > 0, by Newton on log β as a function of log slack."""
        s = (beta / self.unit + 2) ** (-1 / self.p)
        for _ in range(200):
            change = mp.log(self.beta(s) / beta) * self.beta(s) / (self.weight(s) * s)
            s *= mp.exp(change) if s * mp.exp(change) < 1 else mp.sqrt(1 / s)
            if abs(change) < mp.mpf(10) ** -90:
                return s
        raise AssertionError("the reference did not converge")

    def value(self, beta):
        s = self.slack(beta)
        return beta * (1 - s) - self.conjugate(s)


DEPTHS = (3, 4, 5, 10, 50)


def depth_amplification(depth, log_alpha, slack) -> float:
    """Rounding of log slack and of D·log α is what every result inherits: the bound is a few eps
    times their size."""
    return max(1.0, abs(float(mp.log(slack))), abs(depth * log_alpha))


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("log_unit", [41.0, 3.0, 0.0, -5.0, -60.0, -230.0])
def test_depth_potential(depth, log_unit):
    log_alpha = log_unit / depth
    potential = DepthPotential(depth, log_scale=log_alpha)
    with mp.workdps(120 if log_unit > -100 else 300):
        exact = DepthReference(depth, log_alpha)
        for size in (1e-6, 1e-2, 0.3, 1.0, 20.0, 1e6):
            b = mp.mpf(size)
            s = exact.slack(b)
            amplification = depth_amplification(depth, log_alpha, s)
            close(potential.slack(size), s, amplification)
            close(potential.grad(size), 1 - s, amplification)
            close(potential.grad(-size), s - 1, amplification)
            close(potential.value(size), b * (1 - s) - exact.conjugate(s), amplification)
            close(potential.hessian_diag(size), 1 / exact.weight(s), amplification)
            z = float(1 - s)
            if z >= 1:
                continue
            t = 1 - mp.mpf(z)
            close(potential.grad_conjugate(z), exact.beta(t), amplification)
            close(potential.conjugate(z), exact.conjugate(t), amplification)
            close(potential.hessian_conjugate_diag(z), exact.weight(t), amplification)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("log_unit", [41.0, 0.0, -5.0, -60.0])
def test_depth_divergence_of_near_far_and_opposite_points(depth, log_unit):
    log_alpha = log_unit / depth
    potential = DepthPotential(depth, log_scale=log_alpha)
    with mp.workdps(120):
        exact = DepthReference(depth, log_alpha)
        for size in (1e-6, 0.3, 1e6):
            x0 = mp.mpf(size)
            s0 = exact.slack(x0)
            v0 = x0 * (1 - s0) - exact.conjugate(s0)
            for other in (*(size * (1 + t) for t in NEAR), size * (1 - 1e-7), 37 * size, size / 53):
                x = mp.mpf(other)
                amplification = depth_amplification(depth, log_alpha, s0)
                v = exact.value(x)
                # just outside the quadrature's range (ratio e) two or three digits cancel; hence 64
                close(
                    potential.divergence(other, size),
                    v - v0 - (1 - s0) * (x - x0),
                    amplification,
                    ulps=64,
                )
                close(
                    potential.divergence(-other, size),
                    v - v0 + (1 - s0) * (x + x0),
                    amplification,
                    ulps=16,
                )


@pytest.mark.parametrize("depth", DEPTHS)
def test_depth_potential_below_float_range(depth):
    """At log α = −2300/D and below, slack = (α^D/β)^{1/p}(1 + …) with corrections far below
    rounding."""
    for log_unit in (-2300.0, -23000.0):
        log_alpha = log_unit / depth
        potential, p = DepthPotential(depth, log_scale=log_alpha), depth / (depth - 2)
        for size in (1e-6, 1.0, 1e5):
            point = potential.at(np.array(size))
            expected = (depth * mp.mpf(log_alpha) - mp.log(size)) / p
            close(point.log_slack, expected)
            back = point.moved(np.array(0.0))
            close(back.beta, mp.mpf(size), abs(expected))
            assert potential.value(size) == pytest.approx(
                size, rel=8 * EPS + 3 * float(mp.exp(expected))
            )
