"""Errors: each names the argument, what was found and what is needed."""

from __future__ import annotations

from typing import Any


class BiasflowError(Exception):
    """Base of every error raised on purpose by biasflow."""


class InputError(BiasflowError, ValueError):
    """An argument is malformed: wrong shape, not finite, out of range."""


class ScaleError(InputError):
    """An initialisation scale is not positive, or does not fit in a float."""


class DomainError(InputError):
    """A point lies outside the domain of a potential, or a sign is missing where α is zero."""


class AssumptionError(InputError):
    """A theorem's hypothesis fails on the data given."""

    def __init__(self, hypothesis: str, message: str) -> None:
        super().__init__(f"{hypothesis}: {message}")
        self.hypothesis = hypothesis


class InconsistentError(InputError):
    """No β solves Xβ = y."""


class InfeasibleError(InputError):
    """No β with the required signs solves Xβ = y; `certificate` is a Farkas vector g.

    With s the signs where α is zero: s_i⟨x_i, g⟩ ≤ 0 there, ⟨x_i, g⟩ = 0 elsewhere, ⟨y, g⟩ > 0,
    so that Xβ = y would give 0 < ⟨y, g⟩ = ⟨β, Xᵀg⟩ ≤ 0.
    """

    def __init__(self, message: str, certificate: Any) -> None:
        super().__init__(message)
        self.certificate = certificate


class DataFileError(InputError):
    """Files of a data set are missing, damaged, or not what they should be."""


class RefusedError(InputError):
    """A method named by the user cannot treat the problem; the message is its reason."""


class MissingExtraError(BiasflowError, ImportError):
    """What was asked for needs a package that is not installed; the message names the extra."""


class UnknownNameError(InputError):
    """No claim, figure, preset or option of that name; the nearest matches are in the message."""


class ConvergenceError(BiasflowError, RuntimeError):
    """A solver gave up; `partial` holds what it had."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial


def unknown(kind: str, name: Any, known: list[str]) -> UnknownNameError:
    """An error that suggests the nearest known names. name: whatever was given for one."""
    import difflib

    if not isinstance(name, str):
        return UnknownNameError(
            f"no {kind} named {name!r:.80}; expected a text such as {known[0]!r}"
        )
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; known: {', '.join(known)}"
    return UnknownNameError(f"no {kind} named {name!r}{hint}")
