"""The margin flow of C: two-layer networks under exponential and logistic losses, followed to any norm."""

from .driver import check_cap, integrate_margin, refusal

__all__ = ["check_cap", "integrate_margin", "refusal"]
