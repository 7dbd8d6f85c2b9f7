"""The interpolant of least ∫√(1+t²)|f″| as a taut string.

The tangent of f at t, as a point γ(t) = (f′(t), tf′(t) − f(t)) of the plane of lines, moves by dγ =
(1, t)df′: the norm is the length of γ. That f passes through a sample says that γ lies on the line
L_i = {(m, c) : c = x_im − y_i} at the "time" x_i; chords are the corners S_i = L_i ∩ L_{i+1}. From
L_i to L_{i+1} the shortest way is straight, with one kink at its direction (1, τ), where it bends
one way, x_i ≤ τ ≤ x_{i+1}, and leads through S_i elsewhere. So f is a chord wherever the labels
change between convex and concave; in a convex run γ crosses each L_i between S_{i−1} and S_i and is
reflected there, arctan τ_{i−1} + arctan τ_i = 2 arctan x_i, or touches a corner. Unfolded at every
L_i the corners become a zigzag and γ a taut string through its edges, which the funnel algorithm
(Lee & Preparata 1984) finds in O(n). The ends of γ are free on L_0 and L_{n−1}: a string that ends
on such a line is half of one through the line and its mirror image.

For n ≥ 3 there is one minimiser: every one has its kinks where the multiplier ψ, linear between
inputs, touches the strictly convex √(1+t²) or its negative, once inside a piece and then not at its
ends, or at inputs. So bends at inputs give the kinks one by one, unless all pieces have theirs
inside; then the string would meet both L_0 and L_{n−1} at right angles, at τ = −1/x_0 > 0 before
x_1 and at τ = −1/x_{n−1} < 0 after x_{n−2}, which cannot be.
"""

from __future__ import annotations

import itertools
import math
from collections import deque
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..._core.arguments import Array, Index
from ..._numerics.exact_sums import root_sum_bounds
from .line_samples import LineSamples


@dataclass(frozen=True, eq=False)
class TautPath:
    """slopes: f′ at every input, σ_i (n,); any such numbers make an interpolant. tightness: ψ(x_i)
    over √(1+x_i²) (n,), ψ the multiplier of bends; NaN where labels do not bend, and any small one
    will do."""

    slopes: tuple[Fraction, ...]
    tightness: Array


def taut_path(samples: LineSamples) -> TautPath:
    """The shortest γ, for n ≥ 2 samples."""
    n, signs = samples.n, samples.signs
    if n > 2 and samples.x[-2] * samples.x[-1] < -1:  # the free end is treated as a beginning
        other = taut_path(samples.mirrored)
        return TautPath(tuple(-slope for slope in other.slopes[::-1]), other.tightness[::-1])
    sigma = [samples.slopes[max(i - 1, 0)] for i in range(n)]
    tight = np.full(n, np.nan)
    tight[[0, -1]] = 0.0
    for sign, own in itertools.groupby(range(1, n - 1), key=lambda i: signs[i]):
        run = list(own)
        if sign:
            _pull(samples, run, sign, sigma, tight)
    return TautPath(tuple(sigma), tight)


def _pull(
    samples: LineSamples, run: list[int], sign: int, sigma: list[Fraction], tight: Array
) -> None:
    """Fills σ and the tightness at inputs `run`, which bend one way: a string from the chord before
    them, or from L_0, to the chord after."""
    x, bends = samples.x, samples.bends
    squares = [bends[i] ** 2 * (1 + x[i] ** 2) for i in run]
    unit = root_sum_bounds([max(squares)])[1]
    lengths = np.array([math.sqrt(square / unit**2) for square in squares])
    # turns alternate: left at the second corner
    turns = np.array([_angle(x[i], x[i + 1]) for i in run[:-1]])
    turns[1::2] *= -1
    angles = np.concatenate([[0.0], np.cumsum(turns)])
    along = np.column_stack([np.cos(angles), np.sin(angles)])
    corners = np.concatenate([np.zeros((1, 2)), np.cumsum(lengths[:, None] * along, axis=0)])
    free = run[0] == 1 and x[0] * x[1] < -1
    if free:
        back = -np.array([math.cos(_angle(x[0], x[1])), math.sin(_angle(x[0], x[1]))])
        string = _string_from_line(corners, back)
    else:
        string = [(j, corners[j]) for j in _string(corners, np.arange(len(corners)))]
    for (p, begin), (q, end) in itertools.pairwise(string):
        direction = (end - begin) / np.hypot(*(end - begin))
        for edge in range(p + 1, q + 1):  # from corner edge − 1 to corner edge, on L_{run[edge−1]}
            i = run[edge - 1]
            tight[i] = sign * float(np.clip(direction @ along[edge - 1], -1.0, 1.0))
            share = 0.0 if edge == p + 1 else 1.0 if edge == q else None
            if share is None or (p < 0 and edge < q):
                share = _crossing(corners[edge - 1], corners[edge], begin, direction)
            sigma[i] = samples.slopes[i - 1] + Fraction(share) * bends[i]
    if free and string[0][0] < 0:
        moved = (
            Fraction(float(np.hypot(*string[0][1]))) * unit / root_sum_bounds([1 + x[0] ** 2])[1]
        )
        sigma[0] = samples.slopes[0] - sign * moved


def _angle(x: Fraction, z: Fraction) -> float:
    """arctan z − arctan x, to its own digits."""
    rise, run = z - x, 1 + x * z
    if run == 0:
        return math.pi / 2
    try:
        acute = math.atan(float(rise / abs(run)))
    except OverflowError:
        acute = math.pi / 2
    return acute if run > 0 else math.pi - acute


def _crossing(one: Array, other: Array, begin: Array, direction: Array) -> float:
    """How far from one corner to the other a straight string crosses."""
    before, after = _cross(direction, one - begin), _cross(direction, other - begin)
    return float(np.clip(before / (before - after), 0.0, 1.0)) if before != after else 0.0


def _string_from_line(corners: Array, back: Array) -> list[tuple[int, Array]]:
    """The string from the line through corner 0 along `back` to the last corner: the second half of
    one from its mirror image. It begins at corner 0, or, numbered −1, where it leaves the line."""
    far = 2 * float(np.sum(np.hypot(*np.diff(corners, axis=0).T))) * back
    images = 2 * np.outer(corners @ back, back) - corners
    r = len(corners) - 1
    numbers = np.concatenate([-np.arange(r, 0, -1) - 1, [0, -1], np.arange(1, r + 1)])
    points = np.concatenate([images[:0:-1], corners[:1], far[None], corners[1:]])
    sides = np.concatenate([np.arange(r, 0, -1), [0, 1], np.arange(1, r + 1)])
    taut = [int(numbers[j]) for j in _string(points, sides)]
    real = [j for j in taut if j >= 0]
    if real[0] == 0:
        return [(j, corners[j]) for j in real]
    leaves = float(corners[real[0]] @ back) * back
    return [(-1, leaves), *((j, corners[j]) for j in real)]


def _string(points: Array, sides: Index) -> list[int]:
    """The shortest path from the first point to the last that keeps those of even sides on its left
    and the others on its right (Lee & Preparata 1984): numbers of the points it touches."""
    parents = [-1] * len(points)
    funnel, apex = deque([0]), 0  # from the left to the right, by way of the apex
    for new in range(1, len(points)):
        left = sides[new] % 2 == 0
        end, turn = (0, 1.0) if left else (-1, -1.0)
        step = 1 if left else -1
        while len(funnel) > 1:
            last, inner = funnel[end], funnel[end + step]
            # at the apex the other side is in the way, before it a turn to the wrong side
            begin, tip = (
                (last, inner) if apex == (0 if left else len(funnel) - 1) else (inner, last)
            )
            ahead = points[tip] - points[begin]
            blocked = turn * _cross(ahead, points[new] - points[last]) < 0
            if not blocked:
                break
            if left:
                funnel.popleft()
                apex = max(apex - 1, 0)
            else:
                funnel.pop()
                apex = min(apex, len(funnel) - 1)
        parents[new] = funnel[end]
        if left:
            funnel.appendleft(new)
            apex += 1
        else:
            funnel.append(new)
    touched = [len(points) - 1]
    while touched[-1]:
        touched.append(parents[touched[-1]])
    return touched[::-1]


def _cross(v: Array, w: Array) -> float:
    return float(v[0] * w[1] - v[1] * w[0])
