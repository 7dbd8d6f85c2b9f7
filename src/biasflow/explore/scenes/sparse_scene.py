"""Sparse regression (W, R): coefficients of a diagonal network against time, and where they end."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..._core.arguments import Array
from ..._core.problems import Dataset, Problem
from ...errors import BiasflowError, InputError
from ...limits import min_l1, min_l2
from ...losses import SquareLoss
from ...models import DiagonalNetwork
from ..patience import DrawingPatience, Patience, check_waiting, drawn_flow, got_there
from ..scene import (
    LOG10,
    Exponent,
    Frozen,
    Integer,
    Number,
    Part,
    Preset,
    Scene,
    State,
    Table,
    bracketed,
    even_in_loss,
    frozen,
    rounded,
    script,
    thawed,
)

LIMIT_S = 60.0
"""Seconds for a limit and for bounds, which take milliseconds."""
NO_STEP = -4.0
"""The exponent of the step size at which gradient flow is meant, and no descent is shown."""
LEARNT = 1e-4
"""Share of the first loss at which a film ends: what comes later is slow, and the limit is drawn
beside it."""
FITTED = 1e-9
"""Residual of a least-squares fit, relative to the labels, up to which it is rounding."""
ONE_FIT = (
    "These samples leave no choice: one set of coefficients fits them, and every start ends there. "
    "With fewer samples than coefficients there is a choice."
)
FRAMES = 160
"""Moments of the flow that a page gets."""
FLOW_RTOL, DEEP_RTOL = 1e-5, 1e-4
"""Errors below a pixel."""
SHORT_OF_END = "It is shown as far as it came; the limit needs no flow."
FLOW_S, DEEP_S, SECONDS = 3.0, 4.0, 10.0
"""Seconds for a flow, for one of depth above two, which has no compiled code, and for a whole
request."""
STRETCH, STRETCHES = 3.0, 12
"""A deep flow is integrated to an end, shown, and then to one so many times as far, so often at
most."""
LONGEST_REST = 13.0
"""Decades of time that a deep flow may rest for: its jumps take a time of about one, and a float
holds no more than both."""
STEPS = 2000
"""Steps of gradient descent: a second of a core at most."""
SCALES = np.concatenate([np.linspace(1.0, -4.0, 11), [-6.0, -10.0, -20.0, -60.0, -300.0]])
"""Exponents of α at which the curve of norms is computed."""
SCALES_A_PART = 4


def fields() -> dict[str, Any]:
    """A start with three coefficients that matter among twenty, seen through twelve samples."""
    truth = tuple((value,) for value in [1.0, -0.8, 0.6] + [0.0] * 17)
    return {
        "log10_alpha": Exponent(
            "Scale of the start, α",
            "All weights start at α. Large: the kernel regime. Small: the rich regime.",
            -300.0,
            1.0,
            -4.0,
            0.1,
            "α",
        ),
        "depth": Integer("Depth", "Layers of the network: β = w₊^D − w₋^D.", 2, 5, 2),
        "truth": Table(
            "True coefficients",
            "Drag a stem to change what the labels are made of.",
            ((-3.0, 3.0),),
            2,
            40,
            truth,
        ),
        "samples": Integer(
            "Samples",
            "Fewer samples than coefficients: infinitely many of them fit the labels.",
            1,
            40,
            12,
        ),
        "noise": Number("Noise of the labels", "Its standard deviation.", 0.0, 1.0, 0.0, 0.01),
        "key": Integer("Draw of the inputs", "Another number, other random inputs.", 0, 9999, 2),
        "log10_step": Exponent(
            "Step size of gradient descent",
            "Off: gradient flow, the limit of small steps. Larger steps end where a smaller α "
            "would.",
            NO_STEP,
            0.0,
            NO_STEP,
            0.05,
            "γ",
            NO_STEP,
        ),
        "table": Table(
            "Your data",
            "A row for each sample, the label last.",
            ((-1e6, 1e6),),
            1,
            40,
            None,
            41,
            True,
        ),
    }


def checked(state: State) -> None:
    """Rows need a label beside their inputs; labels that are all zero leave nothing to learn."""
    table = state["table"]
    if table is not None:
        if len(table[0]) < 2:
            raise InputError("table: expected at least two columns, the label last")
        if not any(row[-1] for row in table):
            raise InputError("table: every label is zero; nothing is to be learnt")
    elif not any(value for (value,) in state["truth"]) and not state["noise"]:
        raise InputError("truth: every coefficient is zero; nothing is to be learnt")


def data_of(state: State) -> tuple[Dataset, str]:
    """The table, or random inputs with labels made of the true coefficients; a sentence where no
    coefficients fit them, or only one choice of them does.

    Where none do, training sees of the labels what can be fitted, and the loss is what is above its
    least value.
    """
    data = drawn_data(state) if state["table"] is None else table_data(state["table"])
    fitted, size = fit_of(data), float(np.max(np.abs(data.y)))
    single = np.linalg.matrix_rank(data.X) == data.d
    if np.max(np.abs(fitted - data.y)) <= FITTED * size:
        return data, ONE_FIT if single else ""
    if np.max(np.abs(fitted)) <= FITTED * size:
        raise InputError(
            "table: no combination of the columns follows the labels at all; nothing is learnt"
        )
    said = "No coefficients fit all of these labels: training heads for their least-squares fit"
    if single:
        said += ", which is one only, whatever the start; with fewer samples there is a choice"
    return Dataset(data.X, fitted, truth=data.truth), f"{said}."


def drawn_data(state: State) -> Dataset:
    truth, n = np.array(state["truth"])[:, 0], state["samples"]
    X = np.random.default_rng(state["key"]).standard_normal((n, len(truth)))
    noise = np.random.default_rng([state["key"], 1]).standard_normal(n)
    return Dataset(X, X @ truth + state["noise"] * noise, truth=truth)


def table_data(rows: list[list[float]]) -> Dataset:
    table = np.array(rows)
    return Dataset(table[:, :-1], table[:, -1])


def fit_of(data: Dataset) -> Array:
    """What can be fitted of the labels."""
    return data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]


def parts(state: State) -> Iterator[Part]:
    """Data, the limit, the flow, the saddle path, bounds, descent, and norms at every scale."""
    (data, said), depth, exponent = data_of(state), state["depth"], state["log10_alpha"]
    yield (
        "data",
        {
            "labels": rounded(data.y),
            "truth": None if data.truth is None else rounded(data.truth),
            "shape": [data.n, data.d],
            "said": said,
        },
    )
    model = DiagonalNetwork(depth)
    yield "limit", limit_part(model, data, exponent)
    problem = Problem(model, data, SquareLoss("half"), scale=10.0**exponent)
    if depth > 2:
        yield from deep_flow_parts(problem, exponent)
    else:
        yield from shallow_flow_parts(problem, exponent, state["log10_step"])
    yield from norms_parts(data, depth)


def limit_part(model: DiagonalNetwork, data: Dataset, exponent: float) -> dict[str, Any]:
    """Where gradient flow ends, with its proof, between the interpolators of least ℓ2 and ℓ1
    norm."""
    from ...flows import limit

    found = limit(model, data, log_scale=exponent * LOG10, time_s=LIMIT_S)
    rich, kernel = ends_of(frozen(data))
    return {
        "beta": rounded(found.value),
        **norms(found.value),
        "l1_end": {"beta": rounded(rich), **norms(rich)},
        "l2_end": {"beta": rounded(kernel), **norms(kernel)},
        "error": distance(found.value, data),
        "l1_error": distance(rich, data),
        "l2_error": distance(kernel, data),
        "proof": bracketed(found.certificate),
        "residual": rounded(found.certificate.residual, 2),
        "source": found.source,
    }


def norms(beta: Array) -> dict[str, float]:
    return {"l1": rounded(np.sum(np.abs(beta))), "l2": rounded(np.linalg.norm(beta))}


def distance(beta: Array, data: Dataset) -> float | None:
    """‖β − β*‖, where the true coefficients are known."""
    return None if data.truth is None else rounded(np.linalg.norm(beta - data.truth))


def shallow_flow_parts(problem: Problem, exponent: float, log10_step: float) -> Iterator[Part]:
    """The flow of two layers until its first coefficient has grown, then all of it, with its path
    of saddles and its bounds; gradient descent where a step is given."""
    flow, patience = None, Patience(FLOW_S)
    for t1 in (shallow_first_end(problem, exponent), None):
        try:
            flow = drawn_flow(problem, patience, t1=t1, rtol=FLOW_RTOL, method="compiled")
            said = "" if got_there(flow) else f"The flow {flow.result.value}. {SHORT_OF_END}"
            part = flow_part(flow, said)
        except BiasflowError as error:
            flow, part = None, {**NO_FLOW, "said": f"no flow: {error}"}
        yield "flow", {**part, "last": t1 is None or flow is None}
        if flow is None:
            break
    yield "saddles", saddles_part(problem.data, exponent)
    if flow is not None:
        yield "bounds", bounds_part(problem, flow, np.array(part["times"]))
    if log10_step > NO_STEP:
        yield "descent", descent_part(problem, 10.0**log10_step)


def deep_flow_parts(problem: Problem, exponent: float) -> Iterator[Part]:
    """The flow of more layers, in growing stretches.

    By the weights: in the dual a coordinate that has grown is what is left of the distance to a
    wall at α^(2−D)/(D(D−2)), which cancels.
    """
    depth = problem.model.depth
    rest = -(depth - 2) * exponent
    if rest > LONGEST_REST:
        said = (
            f"no flow: at depth {depth} it rests for a time of about 1e{rest:.0f} and then jumps "
            "within a time of about one, and no float holds both; the limit needs no flow"
        )
        yield "flow", {**NO_FLOW, "said": said}
        return
    patience, goal = DrawingPatience(DEEP_S), LEARNT * problem.first_loss
    t1, shown = deep_first_end(problem, exponent), None
    for _ in range(STRETCHES):
        try:
            flow = drawn_flow(problem, patience, t1=t1, rtol=DEEP_RTOL, method="weights")
        except BiasflowError as error:
            yield "flow", {**NO_FLOW, "said": f"no flow: {error}"}
            return
        if shown is None or flow.times[-1] > shown.times[-1]:
            shown = flow
        left = shown.loss[-1] > goal
        stopped = left and not got_there(flow)
        said = f"The flow {flow.result.value}. {SHORT_OF_END}" if stopped else ""
        yield "flow", flow_part(shown, said)
        if stopped or not left:
            return
        t1 = STRETCH * t1


def shallow_first_end(problem: Problem, exponent: float) -> float:
    """Twice as long as the fastest weight needs to grow to size one: d/dt log w = 2|∇|."""
    force = float(np.max(np.abs(problem.data.X.T @ problem.data.y)))
    return (1.0 + max(0.0, -exponent * LOG10)) / force


def deep_first_end(problem: Problem, exponent: float) -> float:
    """Twice as long as the fastest weight needs to grow to size one: d/dt w^(2−D) = −D(D−2)|∇|."""
    depth, data = problem.model.depth, problem.data
    force = float(np.max(np.abs(data.X.T @ data.y)))
    return 2 * max(1.0, 10.0 ** (-(depth - 2) * exponent)) / (depth * (depth - 2) * force)


NO_FLOW: dict[str, Any] = {"times": [], "beta": [], "loss": []}


def flow_part(flow: Any, said: str) -> dict[str, Any]:
    """Coefficients and loss at moments of the flow."""
    problem = flow.problem
    times = even_in_loss(flow.times, flow.loss, FRAMES, LEARNT)
    betas = np.stack([problem.model.effective(flow.at(t)) for t in times])
    return {
        "times": rounded(times, 6),
        "beta": rounded(betas.T, 4),
        "loss": rounded([problem.loss(problem.data.X @ b, problem.data.y) for b in betas], 4),
        "said": said,
    }


def saddles_part(data: Dataset, exponent: float) -> dict[str, Any]:
    """The path of jumps that the flow follows as α → 0, at the times that it has for this α:
    τ·log(1/(2α²))/4 under ½‖·‖²."""
    from ...flows import saddle_path

    stretch = (-np.log(2.0) - 2 * exponent * LOG10) / 4
    if stretch <= 0:
        return {"times": [], "beta": [], "said": "for α above 0.7 there are no saddles to rest at"}
    try:
        path = saddle_path(data.X, data.y)
    except BiasflowError as error:
        return {"times": [], "beta": [], "said": f"no path of saddles: {error}"}
    return {
        "times": rounded(stretch * path.times, 6),
        "beta": rounded(path.states.T, 4),
        "said": "",
    }


def bounds_part(problem: Problem, flow: Any, times: Array) -> dict[str, Any]:
    """R's bound on the loss, ½D₀/t, and the sharper ‖ν*‖²/(2t²), at the flow's moments."""
    from ...diagnostics import convergence_bounds

    try:
        found = convergence_bounds(problem, flow, time_s=LIMIT_S)
    except BiasflowError as error:
        return {"objective": [], "sharp": [], "said": f"no bounds: {error}"}
    with np.errstate(divide="ignore"):
        objective, sharp = found.objective(times), found.sharp_objective(times)
    return {"objective": rounded(objective, 4), "sharp": rounded(sharp, 4), "said": ""}


def descent_part(problem: Problem, step: float) -> dict[str, Any]:
    """Where descent with this step ends, and the α from which the flow would end about there."""
    from ...training import effective_limit

    try:
        found, params = effective_limit(
            problem.model, problem.data, problem.loss, problem.start, step, STEPS
        )
    except BiasflowError as error:
        return {"said": f"{error}"}
    log_alpha = np.log(problem.start.plus) + found.stats["log_gain"] / 2
    alpha = np.exp(log_alpha)
    reached = problem.model.effective(params)
    loss = float(problem.loss(problem.data.X @ reached, problem.data.y))
    return {
        "beta": rounded(found.value),
        **norms(found.value),
        "alpha": rounded(float(np.exp(np.mean(log_alpha))), 4),
        "alphas": rounded(alpha, 4),
        "steps": int(found.stats["steps"]),
        "loss": rounded(loss, 3),
        "said": "",
    }


def norms_parts(data: Dataset, depth: int) -> Iterator[Part]:
    """ℓ1 and ℓ2 norms of the limit from the kernel to the rich regime, a few scales at a time."""
    found: list[tuple[float, float]] = []
    for exponent in SCALES:
        check_waiting()
        found.append(limit_norms(frozen(data), depth, float(exponent)))
        if len(found) % SCALES_A_PART == 0 or len(found) == len(SCALES):
            l1, l2 = zip(*found, strict=True)
            exponents = rounded(SCALES[: len(found)])
            yield "norms", {"log10_alpha": exponents, "l1": list(l1), "l2": list(l2)}


@lru_cache(8)
def ends_of(key: Frozen) -> tuple[Array, Array]:
    """The interpolators of least ℓ1 and least ℓ2 norm: they do not depend on α."""
    inputs, labels = thawed(key)
    return min_l1(inputs, labels).value, min_l2(inputs, labels).value


@lru_cache(256)
def limit_norms(key: Frozen, depth: int, exponent: float) -> tuple[float, float]:
    from ...flows import limit

    inputs, labels = thawed(key)
    data, model = Dataset(inputs, labels), DiagonalNetwork(depth)
    try:
        beta = limit(model, data, log_scale=exponent * LOG10, time_s=LIMIT_S).value
    except BiasflowError:
        return (None, None)  # type: ignore[return-value]
    return rounded(np.sum(np.abs(beta))), rounded(np.linalg.norm(beta))


def as_python(state: State) -> str:
    """The scene as a script that prints its numbers and draws its flow."""
    if state["table"] is not None:
        made = f"rows = np.array({state['table']})\ndata = bf.Dataset(rows[:, :-1], rows[:, -1])"
    else:
        truth = [value for (value,) in state["truth"]]
        made = (
            f"truth = np.array({truth})\n"
            f"X = np.random.default_rng({state['key']})"
            f".standard_normal(({state['samples']}, {len(truth)}))\n"
            f"noise = np.random.default_rng([{state['key']}, 1])"
            f".standard_normal({state['samples']})\n"
            f"data = bf.Dataset(X, X @ truth + {state['noise']} * noise, truth=truth)"
        )
    if data_of(state)[1] not in ("", ONE_FIT):
        made += (
            "\n# nothing fits all labels: training sees of them what can be fitted\n"
            "fit = data.X @ np.linalg.lstsq(data.X, data.y, rcond=None)[0]\n"
            "data = bf.Dataset(data.X, fit, truth=data.truth)"
        )
    lines = [
        made,
        f"model, alpha = bf.DiagonalNetwork(depth={state['depth']}), 10.0 ** "
        f"{state['log10_alpha']}",
        'problem = bf.Problem(model, data, bf.SquareLoss("half"), scale=alpha)',
        "limit = bf.limit(model, data, log_scale=np.log(alpha))",
        "print(limit)",
        'print("l1 norm", np.sum(np.abs(limit.value)), "l2 norm", np.linalg.norm(limit.value))',
        'for norm in ("l1", "l2"):',
        '    print(f"least {norm} norm", bf.min_norm(data, norm=norm).objective)',
    ]
    options = (
        f'rtol={FLOW_RTOL}, time_s={FLOW_S}, method="compiled"'
        if state["depth"] == 2
        else f'rtol={DEEP_RTOL}, time_s=60, method="weights", throw=False'
    )
    lines += [f"flow = bf.gradient_flow(problem, {options})"]
    lines += ["print(flow)"]
    if state["depth"] == 2:
        lines += ["print(bf.saddle_path(data.X, data.y))"]
        lines += ["print(bf.diagnostics.convergence_bounds(problem, flow))"]
    if state["depth"] == 2 and state["log10_step"] > NO_STEP:
        lines += [
            f"step = 10.0 ** {state['log10_step']}",
            "descent, _ = bf.training.effective_limit("
            f"model, data, problem.loss, problem.start, step, {STEPS})",
            'effective = alpha * np.exp(np.mean(descent.stats["log_gain"]) / 2)',
            'print("effective alpha", effective)',
        ]
    lines += ['flow.plot().savefig("sparse_regression.png")']
    return script(lines)


def warm() -> None:
    """The first state, at two depths, and a step of descent: this compiles the dual flow."""
    for change in ({"log10_step": -3.0}, {"depth": 3, "log10_alpha": 0.0}):
        for name, _ in parts(SPARSE.read(change)):
            if name == "norms":
                break


SPARSE = Scene(
    "sparse",
    "Sparse regression",
    "Fewer samples than unknowns: infinitely many coefficients fit. Which does training pick?",
    "Nothing but the size of the start decides. Move α: from a large start, training ends at the "
    "coefficients of least ℓ2 norm, a little of everything; from a small one at those of least ℓ1 "
    "norm, few and large. On the way there it rests at saddles, one coefficient after the other.",
    fields(),
    parts,
    as_python,
    SECONDS,
    (
        Preset("Rich: a small start", "W, Figure 1", {"log10_alpha": -4.0}),
        Preset("Kernel: a large start", "W, Figure 1", {"log10_alpha": 1.0}),
        Preset("In between", "W, Theorem 1", {"log10_alpha": -0.6}),
        Preset(
            "Saddle to saddle: α = 1e-100", "W, §4; Pesme and Flammarion", {"log10_alpha": -100.0}
        ),
        Preset("Depth three, rich sooner", "W, Figure 3", {"depth": 3, "log10_alpha": -1.0}),
        Preset(
            "Large steps make it sparser",
            "W; Even et al. 2023",
            {"log10_alpha": -1.0, "log10_step": -1.6},
        ),
        Preset("Noisy labels", "W, Figure 1", {"noise": 0.1, "log10_alpha": -3.0}),
    ),
    checked,
    warm,
    "Columns are features, the last one is the label; all are centred and scaled. At most 40 "
    "features; of more than 40 rows, 40 are taken.",
)
