"""Worlds for the claims of theory/relu."""

import relu_equation_worlds as equation
import relu_flow_worlds as flow
import relu_landscape_worlds as landscape
import relu_ordinary_worlds as ordinary
import relu_remark_worlds as remark

WORLDS = landscape.WORLDS + flow.WORLDS + ordinary.WORLDS + remark.WORLDS + equation.WORLDS
FEWER: dict[str, str] = {
    "B/assumption-3": "a start without neurons in one cone, or in the other: there are two"
}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
