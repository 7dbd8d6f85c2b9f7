"""Worlds for the claims of theory/since."""

import since_average_worlds
import since_law_worlds
import since_line_worlds
import since_margin_worlds
import since_parametrisation_worlds
import since_relu_worlds
import since_saddle_worlds
import since_separable_worlds

PARTS = (
    since_average_worlds,
    since_saddle_worlds,
    since_law_worlds,
    since_line_worlds,
    since_margin_worlds,
    since_relu_worlds,
    since_parametrisation_worlds,
    since_separable_worlds,
)
"""Modules of worlds, one for each topic."""
WORLDS = [world for part in PARTS for world in part.WORLDS]
FEWER = {name: why for part in PARTS for name, why in part.FEWER.items()}
CONSISTENT = {name: why for part in PARTS for name, why in part.CONSISTENT.items()}
"""Claims whose examples are at best consistent, and what is missing."""
