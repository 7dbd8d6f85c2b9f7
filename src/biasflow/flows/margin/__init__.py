"""The margin flow of C: two-layer networks under exponential and logistic losses, followed to any
norm."""

from .margin_flow import check, integrate_margin, refusal

__all__ = ["check", "integrate_margin", "refusal"]
