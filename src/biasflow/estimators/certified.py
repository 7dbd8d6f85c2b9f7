"""What the estimators share: a warning where a certificate leaves something open."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .._core.results import Certificate, Limit
from ..errors import ConvergenceError

PROOFS = ("exact", "closed-form")
"""Kinds of certificates that say what the number is."""


def as_far_as_found(solve: Callable[[], Limit[Any]]) -> Limit[Any]:
    """The limit, or the point at which its solver stopped: a 'bound' then."""
    try:
        return solve()
    except ConvergenceError as stopped:
        if not isinstance(stopped.partial, Limit):
            raise
        found = stopped.partial
        return dataclasses.replace(
            found, certificate=dataclasses.replace(found.certificate, kind="bound")
        )


def warn_of_bound(estimator: Any, what: str, certificate: Certificate, advice: str) -> None:
    """A ConvergenceWarning where the certificate brackets the number only."""
    if certificate.kind not in PROOFS:
        warnings.warn(
            f"{type(estimator).__name__}: {what} is only known to lie in "
            f"[{certificate.lower:.4g}, {certificate.upper:.4g}]; {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )
