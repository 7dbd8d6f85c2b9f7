"""Double precision in JAX, whatever the process was set to."""

from __future__ import annotations

from typing import Any


def jax_in_double() -> Any:
    """A context in which JAX computes in float64."""
    import jax

    # a function of the package's own from 0.8 on
    enable_x64: Any = getattr(jax, "enable_x64", None)
    older: Any = jax.experimental
    return enable_x64(True) if enable_x64 is not None else older.enable_x64()
