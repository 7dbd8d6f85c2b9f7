"""What a claim is in plain words."""

from typing import NamedTuple


class Words(NamedTuple):
    """title: the claim on one line. says: the statement in words. means: what follows from it for
    somebody who trains such a model."""

    title: str
    says: str
    means: str
