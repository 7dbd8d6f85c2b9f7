"""The margin flow of C: two-layer networks under exponential and logistic losses, followed to any norm."""

from .driver import integrate_margin, refusal

__all__ = ["integrate_margin", "refusal"]
