"""Worlds for the claims of theory/mirror."""

import mirror_limit_worlds as limits
import mirror_network_worlds as networks
import mirror_sample_worlds as samples

WORLDS = limits.WORLDS + networks.WORLDS + samples.WORLDS
FEWER = {**limits.FEWER, **networks.FEWER, **samples.FEWER}
CONSISTENT = {**limits.CONSISTENT, **networks.CONSISTENT, **samples.CONSISTENT}
"""Claims whose examples are at best consistent, and what is missing."""
