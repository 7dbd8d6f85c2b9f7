"""The command line: `biasflow list | figure | verify | reproduce | doctor`."""

from .commands import app, main

__all__ = ["app", "main"]
