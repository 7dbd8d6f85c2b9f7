"""Worlds for the claims of theory/margin."""

import margin_population_worlds as population
import margin_static_worlds as static
import margin_training_worlds as training

WORLDS = static.WORLDS + training.WORLDS + population.WORLDS
FEWER = {**static.FEWER, **training.FEWER, **population.FEWER}
CONSISTENT = {**static.CONSISTENT, **training.CONSISTENT, **population.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
