"""Worlds for the claims of theory/regimes."""

from worlds import World

WORLDS: tuple[World, ...] = ()
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
