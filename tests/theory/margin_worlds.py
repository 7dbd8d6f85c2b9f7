"""Worlds for the claims of theory/margin."""

import margin_population_worlds as population
import margin_remark_worlds as remark
import margin_static_worlds as static
import margin_training_worlds as training

WORLDS = static.WORLDS + training.WORLDS + population.WORLDS + remark.WORLDS
FEWER = {**static.FEWER, **training.FEWER, **population.FEWER, **remark.FEWER}
CONSISTENT = {
    **static.CONSISTENT,
    **training.CONSISTENT,
    **population.CONSISTENT,
    **remark.CONSISTENT,
}
"""Claims whose examples are at best consistent, and what is missing."""
