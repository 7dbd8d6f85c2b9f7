"""Claims in plain words, for readers who do not have the papers open."""

from __future__ import annotations

from .margin.margin_words import WORDS as MARGIN
from .mirror.mirror_words import WORDS as MIRROR
from .plain_words import Words
from .regimes.regime_words import WORDS as REGIMES
from .relu.relu_words import WORDS as RELU
from .since.since_words import WORDS as SINCE
from .verdicts import Claim

WORDS: dict[str, Words] = MIRROR | RELU | MARGIN | REGIMES | SINCE


def title_of(claim: Claim) -> str:
    """A claim in a few words; its statement where nobody has written them."""
    words = WORDS.get(claim.id)
    return claim.statement if words is None else words.title
