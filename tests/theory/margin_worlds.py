"""Worlds for the claims of theory/margin."""

import margin_static_worlds as static
import margin_training_worlds as training

WORLDS = static.WORLDS + training.WORLDS
FEWER = {**static.FEWER, **training.FEWER}
CONSISTENT = {**static.CONSISTENT, **training.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
