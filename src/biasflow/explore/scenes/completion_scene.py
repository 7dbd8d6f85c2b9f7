"""Completion (W): some entries of a matrix are seen; what gradient flow on UVᵀ fills in."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index
from ..._core.problems import Problem
from ...errors import BiasflowError, InputError
from ...losses import SquareLoss
from ...models import MatrixFactorisation
from ..patience import DrawingPatience, drawn_flow, got_there
from ..scene import (
    LOG10,
    Exponent,
    Part,
    Preset,
    Scene,
    State,
    Table,
    bracketed,
    even_in_loss,
    rounded,
    script,
)

LARGEST = 8
"""Rows and columns that a page draws."""
FLOW_RTOL = 1e-4
"""Errors below a pixel."""
FLOW_S, SECONDS = 2.0, 10.0
"""Seconds for a flow, and for a whole request."""
LEARNT = 1e-5
"""Share of the first loss at which a film ends."""
FRAMES = {False: 30, True: 80}
"""Moments of the flow that is shown while the rest is computed, and of all of it."""
EXPONENTS = (1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0, -9.0, -12.0)
"""Of α, at which the norms of what is filled in are computed."""


def planted(u: list[float], v: list[float]) -> tuple[tuple[float, ...], ...]:
    """A matrix of rank one."""
    return tuple(tuple(round(a * b, 3) for b in v) for a in u)


def mask(*rows: str) -> tuple[tuple[float, ...], ...]:
    """x for entries that are seen."""
    return tuple(tuple(float(each == "x") for each in row) for row in rows)


PLANTED = planted([1.0, -0.6, 0.8, 0.4, -1.2], [1.0, 0.5, -0.8, 1.2, -0.4])
SEEN = mask("x.xxx", "...x.", ".x.xx", "xx..x", ".xxx.")
FIELDS = {
    "log10_alpha": Exponent(
        "Scale of the start, α",
        "U and V start at α. Small: the rich regime. Large: the kernel regime. It ends at 1e-12: "
        "smaller weights are lost in the rounding of those that have grown beside them.",
        -12.0,
        1.0,
        -3.0,
        0.1,
        "α",
    ),
    "matrix": Table(
        "Matrix",
        "Its values; those that are not seen are not told to the network.",
        ((-9.0, 9.0),),
        2,
        LARGEST,
        PLANTED,
        LARGEST,
    ),
    "seen": Table(
        "Seen entries",
        "1 for seen, 0 for hidden.",
        ((0.0, 1.0),),
        2,
        LARGEST,
        SEEN,
        LARGEST,
    ),
}


def checked(state: State) -> None:
    """A mask of the matrix's shape, with something to see that is not zero."""
    matrix, seen = np.array(state["matrix"]), np.array(state["seen"])
    if matrix.shape != seen.shape:
        raise InputError(f"seen: expected the matrix's shape {matrix.shape}, found {seen.shape}")
    if matrix.shape[1] < 2:
        raise InputError("matrix: expected at least two columns")
    if not np.all((seen == 0) | (seen == 1)):
        raise InputError("seen: expected 0 or 1 for every entry")
    if not np.any(matrix[seen == 1]):
        raise InputError("seen: at least one seen entry must not be zero")


def entries_of(state: State) -> tuple[tuple[int, int], tuple[Index, Index, Array]]:
    """The shape; rows, columns and values of what is seen."""
    matrix = np.array(state["matrix"])
    rows, cols = np.nonzero(np.array(state["seen"]))
    shape = (matrix.shape[0], matrix.shape[1])
    return shape, (rows, cols, matrix[rows, cols])


def parts(state: State) -> Iterator[Part]:
    """Both completions of least norm, the flow, then norms at every scale."""
    yield "limit", limit_part(state)
    yield from flow_parts(state)
    yield from norms_parts(state)


def problem_of(state: State, alpha: float) -> Problem:
    """UVᵀ with twice as many columns as it needs, from W's start at which it is zero."""
    from ...data import from_entries

    shape, entries = entries_of(state)
    model = MatrixFactorisation(shape, 2 * max(shape))
    start = model.init(alpha, law="identity")
    return Problem(model, from_entries(shape, *entries), SquareLoss("sum"), start)


def limit_part(state: State) -> dict[str, Any]:
    """The completions of least nuclear and of least Frobenius norm, with the proof of the first."""
    from ...limits import min_frobenius_norm, min_nuclear_norm

    shape, entries = entries_of(state)
    nuclear, frobenius = min_nuclear_norm(shape, *entries), min_frobenius_norm(shape, *entries)
    return {
        "nuclear": rounded(nuclear.value, 4),
        "frobenius": rounded(frobenius.value, 4),
        "nuclear_norm": rounded(nuclear.objective),
        "frobenius_norm": rounded(frobenius.objective),
        "singular": rounded(np.linalg.svd(nuclear.value, compute_uv=False), 4),
        "proof": bracketed(nuclear.certificate),
        "hidden_error": [hidden_error(state, each.value) for each in (nuclear, frobenius)],
    }


def hidden_error(state: State, found: Array) -> float | None:
    """Root mean square of what is filled in, against the hidden entries; None where there are none,
    or where all are zero, as in a table that a reader brings: they are not known."""
    matrix, hidden = np.array(state["matrix"]), np.array(state["seen"]) == 0
    if not np.any(matrix[hidden]):
        return None
    return float(rounded(np.sqrt(np.mean((found - matrix)[hidden] ** 2)), 4))


def flow_parts(state: State) -> Iterator[Part]:
    """The flow until its first singular value has grown, then all of it."""
    problem = problem_of(state, 10.0 ** state["log10_alpha"])
    for t1 in (first_end(state), None):
        try:
            flow = drawn_flow(problem, DrawingPatience(FLOW_S), t1=t1, rtol=FLOW_RTOL)
        except BiasflowError as error:
            yield "flow", {"times": [], "said": f"no flow: {error}"}
            return
        yield "flow", flow_part(state, flow, t1 is None)


def first_end(state: State) -> float:
    """Twice as long as the largest singular value of what is seen needs to grow to size one: under
    the sum of squares its factors grow at the rate 2σ."""
    seen = np.where(np.array(state["seen"]) == 1, np.array(state["matrix"]), 0.0)
    rate = 2 * float(np.linalg.norm(seen, 2))
    return 2 * (1.0 + max(0.0, -state["log10_alpha"] * LOG10)) / rate


def flow_part(state: State, flow: Any, last: bool) -> dict[str, Any]:
    """The matrix, its singular values and the loss at moments of the flow."""
    problem = flow.problem
    # the flow saves few steps: its dense output has those between
    many = np.unique([np.linspace(a, b, 6) for a, b in pairwise(flow.times)])
    losses = np.array([loss_at(problem, flow.at(t)) for t in many])
    times = even_in_loss(many, losses, FRAMES[last], LEARNT)
    matrices = np.stack([problem.model.effective(flow.at(t)) for t in times])
    end = problem.model.effective(flow.final)
    return {
        "times": rounded(times, 6),
        "matrix": rounded(matrices.transpose(1, 2, 0), 4),
        "singular": rounded(np.linalg.svd(matrices, compute_uv=False).T, 4),
        "loss": rounded([loss_at(problem, flow.at(t)) for t in times], 4),
        "norm": rounded(np.linalg.norm(end, "nuc")),
        "hidden_error": hidden_error(state, end),
        "last": last,
        "said": "" if got_there(flow) else f"The flow {flow.result.value}.",
    }


def loss_at(problem: Problem, params: Any) -> float:
    return float(problem.loss(problem.model(params, problem.data.X), problem.data.y))


def norms_parts(state: State) -> Iterator[Part]:
    """Nuclear and Frobenius norms of where the flow ends, from the kernel to the rich regime."""
    key = tuple(map(tuple, state["matrix"])), tuple(map(tuple, state["seen"]))
    found: list[tuple[float | None, float | None]] = []
    for exponent in EXPONENTS:
        found.append(ending_norms(*key, exponent))
        nuclear, frobenius = zip(*found, strict=True)
        yield (
            "norms",
            {
                "log10_alpha": list(EXPONENTS[: len(found)]),
                "nuclear": list(nuclear),
                "frobenius": list(frobenius),
            },
        )


@lru_cache(128)
def ending_norms(matrix: Any, seen: Any, exponent: float) -> tuple[float | None, float | None]:
    problem = problem_of({"matrix": matrix, "seen": seen}, 10.0**exponent)
    try:
        flow = drawn_flow(problem, DrawingPatience(FLOW_S), rtol=FLOW_RTOL)
    except BiasflowError:
        return None, None
    if not got_there(flow):
        return None, None
    end = problem.model.effective(flow.final)
    return rounded(np.linalg.norm(end, "nuc")), rounded(np.linalg.norm(end))


def as_python(state: State) -> str:
    """The scene as a script that prints its numbers and draws its flow."""
    return script(
        [
            f"matrix = np.array({state['matrix']})",
            f"seen = np.array({state['seen']}) == 1",
            "rows, cols = np.nonzero(seen)",
            "entries = (rows, cols, matrix[rows, cols])",
            "nuclear = bf.limits.min_nuclear_norm(matrix.shape, *entries)",
            "frobenius = bf.limits.min_frobenius_norm(matrix.shape, *entries)",
            'print("least nuclear norm", nuclear.objective, nuclear.certificate)',
            'print("least Frobenius norm", frobenius.objective)',
            "model = bf.MatrixFactorisation(matrix.shape, 2 * max(matrix.shape))",
            "data = bf.data.from_entries(matrix.shape, *entries)",
            f'start = model.init(10.0 ** {state["log10_alpha"]}, law="identity")',
            'problem = bf.Problem(model, data, bf.SquareLoss("sum"), start)',
            "flow = bf.gradient_flow(problem, rtol=1e-4, time_s=60)",
            "end = model.effective(flow.final)",
            'print("filled in", end, sep="\\n")',
            'print("nuclear norm", np.linalg.norm(end, "nuc"), "Frobenius", np.linalg.norm(end))',
            "size = np.max(np.abs(matrix))",
            "figure, axes = plt.subplots(1, 3)",
            'shown = {"seen": np.where(seen, matrix, np.nan), "network": end}',
            'shown["least nuclear norm"] = nuclear.value',
            "for axis, (title, values) in zip(axes, shown.items()):",
            '    axis.imshow(values, cmap="RdBu", vmin=-size, vmax=size)',
            "    axis.set_title(title)",
            'figure.savefig("completion.png")',
            'flow.plot().savefig("its_training.png")',
        ]
    )


def warm() -> None:
    """The first state: nothing here is compiled, but much is loaded."""
    for name, _ in parts(COMPLETION.start):
        if name == "norms":
            return


COMPLETION = Scene(
    "completion",
    "Completion",
    "Some entries of a matrix are seen. What does training fill in for the others?",
    "The matrix is a product of two factors, and every entry that is not seen can be anything. "
    "From a large start nothing is filled in: hidden entries stay near zero, the least Frobenius "
    "norm. From a small start singular values grow one after the other, and the network finds a "
    "simple matrix behind what it sees, one of few singular values: often, but not always, that of "
    "least nuclear norm. Click entries to show or hide them.",
    FIELDS,
    parts,
    as_python,
    SECONDS,
    (
        Preset("Rank one, a small start", "W, Figure 3", {"log10_alpha": -4.0}),
        Preset("Rank one, a large start", "W, Figure 3", {"log10_alpha": 1.0}),
        Preset(
            "One entry too few",
            "ours",
            {"matrix": [[1.0, 1.0], [1.0, 1.0]], "seen": [[1, 1], [1, 0]], "log10_alpha": -4.0},
        ),
        Preset(
            "A diagonal: nothing to infer",
            "ours",
            {
                "matrix": np.diag([1.0, 0.8, 0.6]).tolist(),
                "seen": np.eye(3).tolist(),
                "log10_alpha": -4.0,
            },
        ),
    ),
    checked,
    warm,
    "A matrix of at most 8 by 8, without a header; empty cells are hidden entries. Where the "
    "largest entry is not between 0.09 and 9, all are divided by a power of ten.",
)
