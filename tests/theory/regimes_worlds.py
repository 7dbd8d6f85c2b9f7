"""Worlds for the claims of theory/regimes."""

import regimes_linear_worlds as linear
import regimes_recipe_worlds as recipe

WORLDS = linear.WORLDS + recipe.WORLDS
FEWER = {**linear.FEWER, **recipe.FEWER}
CONSISTENT = {**linear.CONSISTENT, **recipe.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
