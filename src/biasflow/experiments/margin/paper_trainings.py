"""What the runs behind C/fig2 are: data, starts and step sizes as in C's text, or as in the
authors' code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import one_of
from ..._core.problems import Dataset
from ..._core.results import Trajectory
from ..._numerics.deadlines import RECORDED_S
from ...data import clusters, with_bias
from ...limits import f1_max_margin, f2_max_margin
from ...models import TwoLayerParams
from ...training import InverseRootStep, Proposition7Step, StepRule, margin_ascents

if TYPE_CHECKING:
    import xarray

KINDS = ("both", "output", "kernel", "gamma")
STREAM = 7
"""Start of the random stream of the networks, apart from that of the data."""
STEPS: Mapping[tuple[str, str], StepRule] = {
    ("paper", "both"): InverseRootStep(0.5),
    ("paper", "output"): Proposition7Step(),
    ("code", "both"): InverseRootStep(0.5, offset=2),
    ("code", "output"): InverseRootStep(0.5, offset=2, with_norm=True),
}
"""C's text gives ½/√(t+1) for both layers and Proposition 7; the code counts from one, and has
½·β(t)/√(t+2) for the output."""
UNKNOWN = {
    "test_error": np.nan,
    "margin": np.nan,
    "last_margin": np.nan,
    "log_norm": np.nan,
    "lower": np.nan,
    "upper": np.nan,
    "believed": np.nan,
}


def point(
    curve: str,
    seed: int,
    preset: str,
    n: int,
    d: int,
    m: int,
    k: int,
    steps: int,
    tests: int,
    dtype: str,
    effort: int,
) -> xarray.Dataset:
    """One run. curve: what is computed, and which of n, d, m differs from the setting, as in 'both
    n=32'.

    both, output: the network after training that layer, or both. kernel: the exact F2 max margin.
    gamma: bounds on γ₁; effort: in how many rounds. preset: 'paper' or 'code'.
    """
    setting = {
        "curve": curve,
        "seed": seed,
        "preset": preset,
        "n": n,
        "d": d,
        "m": m,
        "k": k,
        "steps": steps,
    }
    return batch([{**setting, "tests": tests, "dtype": dtype, "effort": effort}])[0]


def batch(settings: Sequence[Mapping[str, Any]]) -> list[xarray.Dataset]:
    """Many runs; those to be trained alike, on data of one shape, go through one call."""
    import xarray

    cases = [read_curve(setting) for setting in settings]
    found: list[dict[str, float]] = [{} for _ in cases]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, case in enumerate(cases):
        shape = [case[name] for name in ("kind", "preset", "n", "d", "m", "steps", "dtype")]
        groups.setdefault(tuple(shape), []).append(place)
    for (kind, *_), places in groups.items():
        values = COMPUTE[kind]([cases[place] for place in places])
        for place, value in zip(places, values, strict=True):
            found[place] = value
    return [xarray.Dataset({**UNKNOWN, **values}) for values in found]


def read_curve(setting: Mapping[str, Any]) -> dict[str, Any]:
    """The setting with what its curve says: 'both n=32' is kind 'both' and n = 32."""
    kind, _, varied = setting["curve"].partition(" ")
    name, _, value = varied.partition("=")
    return {
        **setting,
        "kind": one_of("curve", kind, KINDS),
        **({name: int(value)} if varied else {}),
    }


def samples(case: Mapping[str, Any], draw: int = 0) -> Dataset:
    """Training data, or with draw 1 the test set, without the bias column."""
    n = case["n"] if draw == 0 else case["tests"]
    return clusters(n, case["d"], case["k"], key=case["seed"], draw=draw, preset=case["preset"])


def start(case: Mapping[str, Any], dim: int) -> TwoLayerParams:
    """The network before training, in the coordinates of the plain sum: C's weights over √m, output
    weights r/m.

    paper: (a_j, w_j) uniform on {−1, 1} × the sphere, as in Theorem 5; code: all weights standard
    normal. Output layer: a = 0.
    """
    rng = np.random.default_rng([STREAM, case["seed"], case["m"]])
    W, a = rng.standard_normal((case["m"], dim)), rng.standard_normal(case["m"])
    if case["preset"] == "paper":
        W, a = W / np.linalg.norm(W, axis=1)[:, None], np.sign(a)
    if case["kind"] == "output":
        return TwoLayerParams(np.zeros(case["m"]), W)
    return TwoLayerParams(a / np.sqrt(case["m"]), W / np.sqrt(case["m"]))


def _trained(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    case = cases[0]
    data = [with_bias(samples(each)) for each in cases]
    runs = [(each, start(case, each.d)) for case, each in zip(cases, data, strict=True)]
    rule = STEPS[case["preset"], case["kind"]]
    trained = margin_ascents(
        runs, case["steps"], rule, training=case["kind"], dtype=case["dtype"], records=8
    )
    return [
        _of_run(run, with_bias(samples(each, draw=1)))
        for each, run in zip(cases, trained, strict=True)
    ]


def _of_run(run: Trajectory, test: Dataset) -> dict[str, float]:
    stats, (a, W) = run.stats, run.final
    return {
        "test_error": error_rate(np.maximum(test.X @ W.T, 0.0) @ a, test),
        "margin": float(stats["best_margin"][-1]),
        "last_margin": float(stats["margin"][-1]),
        "log_norm": float(stats["log_norm"][-1]),
    }


def error_rate(outputs: Any, test: Dataset) -> float:
    """P(y·f(x) < 0) on the test set, zeros counted as half."""
    signs = test.y * np.sign(outputs)
    return float(np.mean(signs < 0) + 0.5 * np.mean(signs == 0))


def _kernel(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    values = []
    for case in cases:
        data, test = samples(case), samples(case, draw=1)
        limit = f2_max_margin(data.X, data.y, time_s=RECORDED_S)
        values.append(
            {"test_error": error_rate(limit.value(test.X), test), "margin": limit.objective}
        )
    return values


def _gamma(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    values = []
    for case in cases:
        data = samples(case)
        limit = f1_max_margin(data.X, data.y, time_s=float(case["effort"]))
        bounds = {
            "lower": limit.objective,
            "upper": limit.certificate.dual,
            "believed": limit.stats["heuristic_upper"],
        }
        values.append({"margin": limit.objective, **bounds})
    return values


COMPUTE = {"both": _trained, "output": _trained, "kernel": _kernel, "gamma": _gamma}
