"""Rank and eigenvalues of the tangent kernel, through the checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core.arguments import Array, Index
from .measures import Estimate, centred, jackknifed, left_out
from .views import View

LEADING = 10
"""Eigenvalues that are told one by one."""


@dataclass(frozen=True)
class KernelSpectrum:
    """shares: for every checkpoint, the first included, the leading eigenvalues of the centred
    kernel as shares of its trace, with their standard errors over inputs. ranks: of the kernel
    itself, eigenvalues above n·2⁻⁵² of the largest; a number of these inputs, without an error.
    null: the shares of untrained networks of other seeds, mean and standard deviation."""

    times: tuple[float, ...]
    shares: tuple[tuple[Estimate, ...], ...]
    ranks: tuple[int, ...]
    null: tuple[Estimate, ...]

    def table(self) -> str:
        """One row an eigenvalue, one column a checkpoint, and the null reference."""
        heads = ["eigenvalue", *(f"time {time:g}" for time in self.times), "other seed"]
        rows = [
            [str(k + 1), *(str(at[k]) for at in self.shares), str(self.null[k])]
            for k in range(len(self.null))
        ]
        rows.append(["rank", *map(str, self.ranks), ""])
        widths = [max(len(row[c]) for row in (heads, *rows)) for c in range(len(heads))]
        return "\n".join(
            "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True)).rstrip()
            for row in (heads, *rows)
        )


def kernel_spectrum(times: Array, seen: Sequence[View], others: Sequence[View]) -> KernelSpectrum:
    """From what is seen at every checkpoint, and of untrained networks of other seeds."""
    drawn = np.array([_shares(view.kernel) for view in others])
    spread = np.std(drawn, axis=0, ddof=1) if len(drawn) > 1 else np.full(drawn.shape[1], np.nan)
    null = tuple(Estimate(float(m), float(s)) for m, s in zip(drawn.mean(0), spread, strict=True))
    return KernelSpectrum(
        tuple(float(time) for time in times),
        tuple(_with_errors(view.kernel) for view in seen),
        tuple(_rank(view.kernel) for view in seen),
        null,
    )


def _with_errors(K: Array) -> tuple[Estimate, ...]:
    everything: Index = np.arange(len(K))
    whole = _shares(K)
    parts = [np.delete(everything, part) for part in left_out(len(K))]
    without = np.array([_shares(K[np.ix_(kept, kept)], len(whole)) for kept in parts])
    return tuple(jackknifed(value, without[:, k].tolist()) for k, value in enumerate(whole))


def _shares(K: Array, count: int | None = None) -> Array:
    """The leading eigenvalues over the trace, the largest first; zeros where there are fewer."""
    count = min(LEADING, len(K)) if count is None else count
    values = np.maximum(sl.eigvalsh(centred(K))[::-1][:count], 0.0)
    total = float(np.trace(centred(K)))
    shares: Array = np.zeros(count)
    if total > 0:
        shares[: len(values)] = values / total
    return shares


def _rank(K: Array) -> int:
    values = sl.eigvalsh(K)
    return int(np.sum(values > len(K) * np.finfo(float).eps * values[-1])) if values[-1] > 0 else 0
