"""When the tangent kernel turned to the labels, beside when the loss fell: silent alignment
(Atanasov, Bordelon and Pehlevan 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._core.arguments import Array, Index
from .measures import Estimate, jackknifed, label_alignment, left_out, loss
from .views import Pair

FEWEST_TIMES = 3
"""Checkpoints, the start among them, below which nothing happened before anything else."""
HALF = 0.5


@dataclass(frozen=True)
class AlignmentTime:
    """When the label alignment rose, and when the loss fell.

    rise, fall: the times at which the alignment had made half of its largest rise, and the loss
    half of its fall; linear between checkpoints, whose distance is in the error. lead: the share of
    the rise that was there when half of the fall was: one where the kernel aligned while the loss
    stood still. gain: the largest rise; null: the same with labels that were shuffled, mean and
    standard deviation over shuffles. reason: why no time can be told, or nothing.
    """

    rise: Estimate
    fall: Estimate
    lead: Estimate
    gain: Estimate
    null: Estimate
    reason: str = ""

    @property
    def silent(self) -> bool:
        """Whether more than half of the rise came before half of the fall, by two errors, and by
        more than the checkpoints are apart."""
        return not self.reason and self.lead.low > HALF and self.rise.high < self.fall.low

    def describe(self) -> str:
        """In a sentence."""
        if self.reason:
            return f"When the kernel turned to the labels cannot be told: {self.reason}."
        order = (
            "before the loss fell (silent alignment)"
            if self.silent
            else "after the loss fell"
            if self.lead.high < HALF and self.rise.low > self.fall.high
            else "as the loss fell, as far as these checkpoints can tell"
        )
        return (
            f"The kernel turned to the labels {order}: half of the rise of its alignment was there "
            f"at time {self.rise}, half of the fall of the loss at {self.fall}; by then the "
            f"alignment had made {self.lead} of its rise."
        )


def alignment_time(
    times: Array, start: Pair, later: Sequence[Pair], keys: int
) -> AlignmentTime | None:
    """From the pairs of the first checkpoint with itself and with the later ones; None without
    labels."""
    if start.labels is None:
        return None
    pairs, n = (start, *later), len(start.labels)
    everything: Index = np.arange(n)
    gain, null = _rises(pairs, keys)
    if len(pairs) < FEWEST_TIMES:
        return _untold(gain, null, f"{len(pairs)} checkpoints; give three or more")
    whole = _curves(pairs, everything)
    if not np.all(np.isfinite(whole)):
        return _untold(gain, null, "the loss or the alignment is not defined at a checkpoint")
    if gain.low <= 0 or gain.value <= null.value + 2 * np.nan_to_num(null.error):
        words = f"the alignment rose by {gain}, with shuffled labels by {null}"
        return _untold(gain, null, words)
    if whole[1, 0] <= np.min(whole[1]):
        return _untold(gain, null, "the loss did not fall")
    without = [_curves(pairs, np.delete(everything, part)) for part in left_out(n)]
    rises, falls, leads = (
        jackknifed(told(times, whole), [told(times, one) for one in without])
        for told in (_rise, _fall, _lead)
    )
    return AlignmentTime(_spaced(rises, times), _spaced(falls, times), leads, gain, null)


def _untold(gain: Estimate, null: Estimate, reason: str) -> AlignmentTime:
    unknown = Estimate(float("nan"), float("nan"))
    return AlignmentTime(unknown, unknown, unknown, gain, null, reason)


def _curves(pairs: Sequence[Pair], kept: Index) -> Array:
    """Alignment and loss through time, (2, checkpoints)."""
    return np.array([[measure(p, kept) for p in pairs] for measure in (label_alignment, loss)])


def _rises(pairs: Sequence[Pair], keys: int) -> tuple[Estimate, Estimate]:
    """The largest rise of the alignment, and the same for shuffled labels."""
    labels = pairs[0].labels
    assert labels is not None
    everything: Index = np.arange(len(labels))

    def risen(kept: Index, given: Array) -> float:
        along = [label_alignment(replace(p, labels=given), kept) for p in pairs]
        return float(np.max(along) - along[0])

    own = jackknifed(
        risen(everything, labels),
        [risen(np.delete(everything, part), labels) for part in left_out(len(labels))],
    )
    shuffled = [
        risen(everything, np.random.default_rng(key).permutation(labels))
        for key in range(1, keys + 1)
    ]
    spread = float(np.std(shuffled, ddof=1)) if keys > 1 else float("nan")
    return own, Estimate(float(np.mean(shuffled)), spread)


def _rise(times: Array, curves: Array) -> float:
    alignment = curves[0]
    return _passage(times, (alignment - alignment[0]) / (np.max(alignment) - alignment[0]))


def _fall(times: Array, curves: Array) -> float:
    lost = curves[1]
    return _passage(times, (lost[0] - lost) / (lost[0] - np.min(lost)))


def _lead(times: Array, curves: Array) -> float:
    alignment = curves[0]
    there = np.interp(_fall(times, curves), times, alignment)
    return float((there - alignment[0]) / (np.max(alignment) - alignment[0]))


def _passage(times: Array, done: Array) -> float:
    """When a share first reaches a half, linearly between checkpoints."""
    k = int(np.argmax(done >= HALF))
    share = (HALF - done[k - 1]) / (done[k] - done[k - 1])
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def _spaced(time: Estimate, times: Array) -> Estimate:
    """With the distance of the checkpoints around it in the error: anywhere between them, a
    standard deviation of 1/√12 of that."""
    k = int(np.clip(np.searchsorted(times, time.value), 1, len(times) - 1))
    return Estimate(time.value, float(np.hypot(time.error, (times[k] - times[k - 1]) / 12**0.5)))
