import numpy as np
import pytest

from biasflow.errors import DomainError, InputError, ScaleError
from biasflow.potentials import DepthPotential, Entropy, Euclidean, Hypentropy, ScaledPotential


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: Hypentropy(), InputError, ("alpha", "exactly one", "log_alpha")),
        (lambda: Hypentropy(1.0, log_alpha=0.0), InputError, ("alpha", "exactly one", "log_alpha")),
        (lambda: Hypentropy(-1.0), ScaleError, ("alpha", "-1", "positive")),
        (lambda: Hypentropy([1.0, -2.0]), ScaleError, ("alpha", "-2", "positive")),
        (lambda: Hypentropy(1e-310), ScaleError, ("alpha", "log_alpha")),
        (lambda: Hypentropy(np.nan), InputError, ("alpha", "nan", "finite")),
        (lambda: Hypentropy(np.inf), InputError, ("alpha", "inf", "finite")),
        (lambda: Hypentropy(log_alpha=-np.inf), InputError, ("log_alpha", "inf", "finite")),
        (lambda: Hypentropy(1j), InputError, ("alpha", "real", "complex")),
        (lambda: Hypentropy("small"), InputError, ("alpha", "real")),
        (lambda: Hypentropy(np.ones((2, 2))), InputError, ("alpha", "(2, 2)")),
        (lambda: Hypentropy(0.0, sign=0.5), DomainError, ("sign", "+1")),
        (lambda: Hypentropy([0.0, 1.0], sign=[0.0, 1.0]), DomainError, ("sign", "+1")),
        (lambda: Hypentropy([0.0, 1.0], sign=[1.0, 1.0, 1.0]), InputError, ("sign", "shape")),
        (lambda: Hypentropy(0.0, sign=np.nan), InputError, ("sign", "finite")),
        (lambda: DepthPotential(2, 1.0), InputError, ("depth", "3", "2")),
        (lambda: DepthPotential(3.5, 1.0), InputError, ("depth", "integer", "3.5")),
        (lambda: DepthPotential(True, 1.0), InputError, ("depth", "integer")),
        (lambda: DepthPotential(3), InputError, ("scale", "exactly one")),
        (lambda: DepthPotential(3, 1.0, log_scale=0.0), InputError, ("scale", "exactly one")),
        (lambda: DepthPotential(3, 0.0), ScaleError, ("scale", "positive", "log_scale")),
        (lambda: DepthPotential(3, -1.0), ScaleError, ("scale", "positive")),
        (lambda: DepthPotential(3, 1e-400), ScaleError, ("scale", "log_scale")),
        (lambda: DepthPotential(3, 5e-324), ScaleError, ("scale", "log_scale")),
        (lambda: DepthPotential(3, np.ones((2, 2))), InputError, ("scale", "(2, 2)")),
        (lambda: ScaledPotential(0.0, Euclidean()), InputError, ("factor", "positive")),
        (lambda: ScaledPotential(-2.0, Euclidean()), InputError, ("factor", "positive")),
        (lambda: ScaledPotential(np.nan, Euclidean()), InputError, ("factor", "finite")),
        (
            lambda: Hypentropy(0.0).grad_conjugate([1.0]),
            DomainError,
            ("alpha", "sign", "log_alpha"),
        ),
        (
            lambda: Hypentropy(0.0, sign=1.0).grad([1.0, -2.0]),
            DomainError,
            ("beta", "1", "-2", "half-line"),
        ),
        (lambda: Entropy().value([-1.0]), DomainError, ("beta", "half-line")),
        (
            lambda: DepthPotential(3, 1.0).grad_conjugate([0.0, 1.0]),
            DomainError,
            ("eta", "(−1, 1)"),
        ),
        (lambda: DepthPotential(3, 1.0).conjugate(-1.5), DomainError, ("eta", "1.5")),
        (lambda: Hypentropy([1.0, 2.0]).grad([1.0, 2.0, 3.0]), InputError, ("alpha", "2", "(3,)")),
        (
            lambda: DepthPotential(3, [1.0, 2.0]).grad([1.0, 2.0, 3.0]),
            InputError,
            ("scale", "2", "(3,)"),
        ),
        (lambda: Hypentropy(1.0).grad([1.0, np.nan]), InputError, ("beta", "(1,)", "nan")),
        (lambda: Hypentropy(1.0).conjugate([np.inf]), InputError, ("eta", "inf")),
        (lambda: Hypentropy(1.0).divergence([1.0], [np.nan]), InputError, ("beta0", "nan")),
        (lambda: Euclidean().value([1j]), InputError, ("beta", "complex")),
        (lambda: Euclidean().value(np.array([object()])), InputError, ("beta", "object")),
        (lambda: Euclidean().value([[1.0, 2.0], [3.0]]), InputError, ("beta", "real")),
    ],
)
def test_refused_with_a_message_that_names_the_argument(make, error, words):
    with pytest.raises(error) as caught:
        make()
    message = str(caught.value)
    assert message.startswith(words[0])
    for word in words:
        assert word in message, message
    assert isinstance(caught.value, ValueError)


def test_arrays_are_taken_by_value_and_any_real_type_is_accepted():
    alpha = np.array([1.0, 2.0])
    potential = Hypentropy(alpha)
    alpha[:] = -1.0
    assert np.array_equal(potential.alpha, [1.0, 2.0])
    assert Hypentropy(1).grad([1, 2]).dtype == np.float64
    assert Hypentropy(np.float32(0.5)).grad(np.arange(3)).shape == (3,)
