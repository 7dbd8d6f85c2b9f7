"""Diagonal networks of depth two on separable data, to any norm."""

from .separable_flow import (
    DirectionPath,
    check,
    direction_path,
    integrate_separable,
    needs_separation,
    refusal,
)

__all__ = [
    "DirectionPath",
    "check",
    "direction_path",
    "integrate_separable",
    "needs_separation",
    "refusal",
]
