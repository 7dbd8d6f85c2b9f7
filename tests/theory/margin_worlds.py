"""Worlds for the claims of theory/margin."""

import margin_training_worlds as training

WORLDS = training.WORLDS
FEWER = {**training.FEWER}
CONSISTENT = {**training.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
