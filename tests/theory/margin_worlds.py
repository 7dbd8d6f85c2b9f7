"""Worlds for the claims of theory/margin."""

import margin_static_worlds

WORLDS = margin_static_worlds.WORLDS
FEWER = {**margin_static_worlds.FEWER}
CONSISTENT = {**margin_static_worlds.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
