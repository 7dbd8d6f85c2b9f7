"""Claims: what the papers' statements say about the reader's data, judged one after the other."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.problems import Dataset, Problem
from ..._numerics.deadlines import Deadline
from ...errors import InputError
from ...losses import SmoothMargin, SquareLoss
from ...models import DiagonalNetwork, TwoLayer, TwoLayerParams, augmented
from ..patience import abandoned
from ..scene import Choice, Exponent, Integer, Part, Preset, Scene, State, Table, rounded, script

if TYPE_CHECKING:
    from ...theory import Claim, Evidence, Verdict

EVIDENCE_S, EACH_S = 4.0, 5.0
"""Seconds that evidence for a claim may take, and after which its judgement is broken off."""
ALL_S, SECONDS = 60.0, 90.0
"""Seconds after which no further claim is taken up, and for a whole request."""
RING_S = 0.05
"""Between two looks whether the time is over or nobody waits any more."""
LAST = ("R/lemA1", "W/descent", "W/limit", "W/sec3")
"""Claims that look at many flows, and take the longest."""
LABELS = {
    "relu": "a ReLU network fits the labels (B)",
    "margin": "a ReLU network separates two classes (C)",
    "diagonal": "a diagonal network fits the labels (W, R)",
}
PERPENDICULAR = ((0.8, 0.6, 1.0), (-0.6, 0.8, -0.6))

FIELDS = {
    "about": Choice("What is trained", "Statements are about one of these.", LABELS, "relu"),
    "log10_scale": Exponent(
        "Size of the first weights",
        "Some statements are about small ones, some about large ones.",
        -300.0,
        1.0,
        -7.0,
        0.1,
        "size",
    ),
    "rows": Table(
        "Samples: inputs, the label last",
        "For classes the sign of the label counts.",
        ((-1e3, 1e3),),
        1,
        24,
        PERPENDICULAR,
        9,
    ),
    "width": Integer("Neurons", "Of ReLU networks; even ones for classes.", 2, 40, 12),
    "key": Integer("Draw of the start", "Another number, another random start.", 0, 9999, 0),
}


def checked(state: State) -> None:
    """An input beside each label; labels that say something."""
    rows = state["rows"]
    if len(rows[0]) < 2:
        raise InputError("rows: expected at least two columns, the label last")
    labels = [row[-1] for row in rows]
    if state["about"] == "margin":
        if not all(labels):
            raise InputError("rows: a label is zero, which is in neither class")
        if len({label > 0 for label in labels}) < 2:
            raise InputError("rows: every label has the same sign; two classes are needed")
    elif not any(labels):
        raise InputError("rows: every label is zero; nothing is to be learnt")


def problem_of(state: State) -> Problem:
    """B's network, C's from a start of mirror images, or W's and R's."""
    rows, size = np.array(state["rows"]), 10.0 ** state["log10_scale"]
    X, y, width = rows[:, :-1], rows[:, -1], state["width"]
    if state["about"] == "diagonal":
        return Problem(DiagonalNetwork(2), Dataset(X, y), SquareLoss("half"), scale=size)
    if state["about"] == "relu":
        model = TwoLayer(width, X.shape[1])
        start = model.init(size / np.sqrt(width), key=state["key"])
        return Problem(model, Dataset(X, y), SquareLoss("half-mean"), start)
    half = TwoLayer(max(width // 2, 1), X.shape[1] + 1)
    model = TwoLayer(2 * half.width, half.dim)
    a, W = half.init(size / np.sqrt(model.width), key=state["key"], balanced=False)
    start = TwoLayerParams(np.concatenate([a, -a]), np.concatenate([W, W]))
    return Problem(model, Dataset(augmented(X), np.sign(y)), SmoothMargin(), start)


def parts(state: State) -> Iterator[Part]:
    """Which claims speak about these data, then a verdict on each, those that need no flow
    first."""
    from ...theory import Evidence

    evidence = Evidence(problem_of(state), time_s=EVIDENCE_S)
    spoken = speaking(evidence)
    yield "limit", {"claims": [named(each) for each in spoken], "silent": silent(spoken)}
    end = time.monotonic() + ALL_S
    for statement in spoken:
        if time.monotonic() > end:
            yield "over", {"said": f"the others were not judged within {ALL_S:g} seconds"}
            return
        yield "verdict", verdict_part(statement, judged(statement, evidence))


def speaking(evidence: Evidence) -> list[Claim]:
    """Claims of whose kind the problem is, those that need no flow first."""
    from ...theory import REGISTER, Kind

    quick = (Kind.ASSUMPTION, Kind.STATIC, Kind.EXISTENCE, Kind.UNIQUENESS)
    found = [
        REGISTER.offer(id).value
        for id in REGISTER.ids
        if speaks(REGISTER.offer(id).value, evidence)
    ]
    return sorted(found, key=lambda each: 2 * (each.id in LAST) + (each.kind not in quick))


def speaks(statement: Claim, evidence: Evidence) -> bool:
    try:
        return all(each.test(evidence) is None for each in statement.hypotheses if each.structural)
    except Exception:  # a test that needs what an earlier one has refused
        return False


def silent(spoken: list[Claim]) -> int:
    from ...theory import claims

    return len(claims()) - len(spoken)


def judged(statement: Claim, evidence: Evidence) -> Verdict:
    """The verdict; evidence is shared, so that a flow is followed once."""
    from ...theory import Status, Verdict
    from ...theory.judgement import judge

    evidence.deadline = Deadline(EVIDENCE_S)
    try:
        with at_most(EACH_S):
            return judge(statement, evidence)
    except TimeoutError as late:  # the alarm rang while the verdict was written down
        return Verdict(statement, (), (), Status.INCONCLUSIVE, str(late))


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Break off what runs longer, or what nobody waits for any more, where the system has an alarm
    and this is the thread that hears it. What judges takes the error for an open question; the
    alarm rings again for whoever took it for something to be tried once more."""
    end = time.monotonic() + seconds
    heard = threading.current_thread() is threading.main_thread()
    if not (heard and hasattr(signal, "setitimer")):
        yield
        return

    def ring(*_: Any) -> None:
        if abandoned.is_set() or time.monotonic() >= end:
            raise TimeoutError(f"not judged within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, min(RING_S, seconds), RING_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def named(statement: Claim) -> dict[str, str]:
    from ...theory.claim_words import title_of

    return {"id": statement.id, "title": title_of(statement), "source": statement.reference}


def verdict_part(statement: Claim, verdict: Verdict) -> dict[str, Any]:
    """A verdict in numbers and in words, with the claim's page."""
    from ...theory import Explanation

    page = Explanation(statement, verdict)
    return {
        **named(statement),
        "status": str(verdict.status),
        "kind": str(statement.kind),
        "meaning": verdict.status.meaning,
        "why": verdict.why,
        "sharpness": None if verdict.sharpness is None else rounded(verdict.sharpness, 3),
        "checks": [
            {
                "quantity": each.quantity,
                "measured": rounded(each.measured, 4),
                "relation": each.relation,
                "bound": rounded(each.bound, 4),
                "slack": rounded(each.slack, 3),
                "error": rounded(each.error, 2),
                "status": str(each.status),
            }
            for each in verdict.checks
        ],
        "page": [
            {
                "heading": section.heading,
                "items": [[item.term or "", item.text] for item in section.items],
            }
            for section in page.sections
        ],
    }


def as_python(state: State) -> str:
    """A script that judges the same claims on the same problem."""
    size, width, key = f"10.0 ** {state['log10_scale']}", state["width"], state["key"]
    lines = [
        f"rows = np.array({state['rows']})",
        f"X, y, size = rows[:, :-1], rows[:, -1], {size}",
    ]
    if state["about"] == "diagonal":
        lines += [
            "model, data = bf.DiagonalNetwork(2), bf.Dataset(X, y)",
            'problem = bf.Problem(model, data, bf.SquareLoss("half"), scale=size)',
        ]
    elif state["about"] == "relu":
        lines += [
            f"model, data = bf.TwoLayer({width}, X.shape[1]), bf.Dataset(X, y)",
            f"start = model.init(size / np.sqrt({width}), key={key})",
            'problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start)',
        ]
    else:
        half = max(width // 2, 1)
        lines += [
            f"half = bf.TwoLayer({half}, X.shape[1] + 1)",
            f"a, W = half.init(size / np.sqrt({2 * half}), key={key}, balanced=False)",
            "start = bf.models.TwoLayerParams(np.concatenate([a, -a]), np.concatenate([W, W]))",
            "data = bf.data.with_bias(bf.Dataset(X, np.sign(y)))",
            f"model = bf.TwoLayer({2 * half}, X.shape[1] + 1)",
            "problem = bf.Problem(model, data, bf.SmoothMargin(), start)",
        ]
    lines += [
        "for id in bf.claims():",
        f"    verdict = bf.verify(id, problem, time_s={EVIDENCE_S})",
        '    if verdict.status != "does not apply":',
        "        print(id, verdict.status, verdict.why)",
    ]
    return script(lines)


def warm() -> None:
    """A few verdicts, with a flow and its witness: code that is loaded within the seconds of a
    claim would cost it its witness."""
    from ...theory import REGISTER, Evidence

    evidence = Evidence(problem_of(CLAIMS.read({"width": 4})), time_s=EVIDENCE_S)
    for id in ("B/assumption-1", "B/lem13", "B/eq8", "B/prop2", "B/eq9"):
        judged(REGISTER.offer(id).value, evidence)


def sensed() -> list[list[float]]:
    """Six samples of a sparse vector in eight dimensions."""
    X = np.random.default_rng(2).standard_normal((6, 8))
    return np.round(np.column_stack([X, X[:, 0] - 0.8 * X[:, 1]]), 4).tolist()


CROSSED = [[0.5, 0.5, 1.0], [-0.5, -0.5, 1.0], [0.5, -0.5, -1.0], [-0.5, 0.5, -1.0]]

CLAIMS = Scene(
    "claims",
    "Claims",
    "Papers state theorems about training. Which of them speak about these data, and are they true "
    "here?",
    "Every statement of the papers is a program: it looks whether its conditions hold for the data "
    "and the network chosen here, computes both sides by routes that do not lean on the statement, "
    "and says how much room is left (slack) and by which factor a bound could be tightened "
    "(sharpness, 1: not at all). Click one to read what it says, in words and in symbols.",
    FIELDS,
    parts,
    as_python,
    SECONDS,
    (
        Preset("Perpendicular inputs, a small start", "B, Theorem 1", {}),
        Preset(
            "Inputs that are not perpendicular",
            "B, §5",
            {"rows": [[1.0, 0.2, 1.0], [0.5, 1.0, -0.5], [-0.4, 0.9, 0.3]]},
        ),
        Preset(
            "Two classes, exclusive or",
            "C",
            {"about": "margin", "rows": CROSSED, "log10_scale": 0.0},
        ),
        Preset(
            "Six samples, eight unknowns",
            "W and R",
            {"about": "diagonal", "rows": sensed(), "log10_scale": -2.0},
        ),
    ),
    checked,
    warm,
    "Columns are inputs, the last one is the label; at most 8 inputs. Of more than 24 rows, 24 are "
    "taken.",
)
