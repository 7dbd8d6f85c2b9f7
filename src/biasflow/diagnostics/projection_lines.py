"""max_v min_k |⟨v, δ_k⟩| over unit vectors v, the best line to project onto, by branch and bound
over signs.

A node knows the signs s_k of ⟨v, δ_k⟩ for a few pairs S. For weights c ≥ 0 on them with Σc = 1
every unit v with these signs has min_k |⟨v, δ_k⟩| ≤ Σ_S c_k⟨v, s_kδ_k⟩ ≤ ‖Σ_S c_ks_kδ_k‖: a bound,
whatever the weights. The best are those of the point nearest to zero in the hull of the s_kδ_k; v
along it has ⟨v, s_kδ_k⟩ ≥ the bound on S, with equality where c_k > 0. A pair that v brings closer
than the bound is on one side or on the other: two nodes, both with smaller bounds. Pairs without
weight may be forgotten, for the bound does not need them. Bounds fall along every path and belong
to finitely many sets S, so that the search ends: where no pair is closer, v is the best of its
signs.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from .._core.arguments import Array, Index, Mask
from .projection_cells import EPS, Found

MOST_NODES, MOST_PRODUCTS = 250_000, 2.5e8
"""Nodes, and nodes times pairs, looked at before the bracket is left as it is: a quarter of a
minute at most."""
DIVE_EVERY = 6
"""Turns after which a node is followed down, some ten nodes deep."""
LEAF = 1e-12
"""Share of the bound by which no pair is closer at a leaf."""


class _Node(NamedTuple):
    """A bound, the signed pairs that prove it, the next pair, and by how much it is closer."""

    minus_bound: float
    number: int
    signed: Index
    next_pair: int
    closer: float


def line_bracket(differences: Array, known: float, gap: float) -> Found:
    """The bracket from a lower bound that is known, to a relative gap or until nodes are too many.
    differences (K, d), none zero.

    The node of the largest bound comes next; every so often it is followed down to a line that no
    pair improves, for the sake of the lower bound.
    """
    search = _Search(differences, known, gap)
    heap, turns = search.started(), 0
    while heap and -heap[0].minus_bound > search.enough and search.looked < search.most:
        node: _Node | None = heapq.heappop(heap)
        turns += 1
        while node is not None:
            children = sorted(search.halves(node))
            dives = children and turns % DIVE_EVERY == 0
            node = children.pop(0) if dives else None
            for child in children:
                heapq.heappush(heap, child)
    open_bound = -heap[0].minus_bound if heap else 0.0
    frame = None if search.best is None else search.best[:, None]
    return Found(search.lower, max(open_bound, search.closed, search.lower), frame)


class _Search:
    """What is known so far: the best line, and the largest bound of what was closed."""

    def __init__(self, differences: Array, known: float, gap: float) -> None:
        self.differences, self.lower, self.gap = differences, known, gap
        self.lengths = np.linalg.norm(differences, axis=1)
        both = np.vstack([differences, -differences])
        self.signed = np.column_stack([both, np.ones(len(both))])
        """(s·δ_k, 1), those of the sign +1 first."""
        self.most = min(MOST_NODES, MOST_PRODUCTS / len(differences))
        self.best: Array | None = None
        self.closed, self.looked = 0.0, 0

    @property
    def enough(self) -> float:
        """The bound up to which nothing is searched."""
        return self.lower * (1 + self.gap)

    def started(self) -> list[_Node]:
        """The shortest pair; its sign is that of v."""
        return self._open(np.argmin(self.lengths, keepdims=True), np.inf)

    def halves(self, node: _Node) -> list[_Node]:
        """What is left of a node with its next pair on either side."""
        bound = -node.minus_bound
        if node.closer <= LEAF * bound:
            self.closed = max(self.closed, bound)
            return []
        sides = node.next_pair, node.next_pair + len(self.differences)
        return [child for k in sides for child in self._open(np.append(node.signed, k), bound)]

    def _open(self, signed: Index, before: float) -> list[_Node]:
        """The node of these pairs after a look at its line, none where that closes it; before: a
        bound that is known."""
        self.looked += 1
        bound, line, used = self._nearest(signed)
        bound = min(bound, before)
        if line is None or bound <= self.enough:
            self.closed = max(self.closed, bound)
            return []
        distances = np.abs(self.differences @ line)
        least = float(distances.min())
        if least > self.lower:
            self.lower, self.best = least, line
        # the pair for which v must turn farthest
        pair = int(np.argmax((bound - distances) / self.lengths))
        return [_Node(-bound, self.looked, signed[used], pair, bound - float(distances[pair]))]

    def _nearest(self, signed: Index) -> tuple[float, Array | None, Mask]:
        """‖Σc_ks_kδ_k‖ at weights that all but make it least, rounded upwards, its direction, and
        which weights are positive; no direction where zero is as near as rounding tells, or no
        weights were found.

        min ‖Σc_ks_kδ_k‖² + (Σc − 1)² over c ≥ 0 has the same c up to its length. A sum of m
        products rounds by m·u of their sizes, u = EPS/2; so does Σc, by which it is divided.
        """
        rows = self.signed[signed]
        count, d = len(rows), rows.shape[1] - 1
        target = np.zeros(d + 1)
        target[d] = 1.0
        try:
            weights = nnls(rows.T, target)[0]
        except RuntimeError:  # too many iterations
            return np.inf, None, signed >= 0
        sums = weights @ rows
        nearest, total = sums[:d], float(sums[d])
        lengths = self.lengths[signed % len(self.lengths)]
        doubt = (count + d + 4) * EPS * float(weights @ lengths)
        size = float(np.sqrt(nearest @ nearest))
        bound = (size + doubt) / total * (1 + (count + 4) * EPS)
        return bound, nearest / size if size > doubt else None, weights > 0
