"""Worlds for the claims of theory/regimes."""

import regimes_deeper_worlds as deeper
import regimes_depth_two_worlds as depth_two
import regimes_kernel_worlds as kernel
import regimes_recipe_worlds as recipe

WORLDS = kernel.WORLDS + depth_two.WORLDS + deeper.WORLDS + recipe.WORLDS
FEWER = {**kernel.FEWER, **depth_two.FEWER, **deeper.FEWER, **recipe.FEWER}
CONSISTENT = {**kernel.CONSISTENT, **depth_two.CONSISTENT, **deeper.CONSISTENT, **recipe.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
