"""Worlds for the claims of theory/mirror."""

import mirror_flow_worlds as flow
import mirror_sample_worlds as samples

WORLDS = flow.WORLDS + samples.WORLDS
FEWER = {**flow.FEWER, **samples.FEWER}
CONSISTENT = {**flow.CONSISTENT, **samples.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
