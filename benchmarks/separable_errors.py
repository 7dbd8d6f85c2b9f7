"""Whether the error that the flow on separable data states covers the truth.

In the weights by raw gradients at moderate norms, and against the same march with a tenth of
its tolerance at log-norms of 1e5, on seeds that nothing was tuned on:

    python benchmarks/separable_errors.py [first seed] [number] [seconds for each half]
"""

import sys
import time
import warnings

import numpy as np
from timing import tell_machine

import biasflow as bf

SCALES = (1e-3, 0.1, 1.0, 30.0)
"""α of flows that weights can follow."""
WIDE = (1e-300, 1e-3, 1.0, 1e8)
"""α of flows to log-norms of 1e5."""


def drawn(seed: int) -> bf.Dataset:
    """Separable data of one of five kinds."""
    rng = np.random.default_rng((411, seed))
    kind = seed % 5
    n, d = [(6, 10), (5, 9), (30, 3), (1, 6), (9, 8)][kind]
    X = rng.standard_normal((n, d))
    if kind == 1:
        X = X * 10.0 ** rng.uniform(-1, 1, d)
    truth = rng.standard_normal(d)
    y = np.where(X @ truth > 0, 1.0, -1.0)
    if kind == 4:
        X, y = np.vstack([X, X[:3]]), np.append(y, y[:3])
    return bf.Dataset(X, y)


def at_moderate_norms(seed: int) -> list[float]:
    """Errors over stated errors of β at four times."""
    loss = (bf.ExponentialLoss(), bf.LogisticLoss())[seed // 5 % 2]
    scale = SCALES[seed // 10 % 4]
    data = drawn(seed)
    unit = 1 / float(np.max(np.sum(data.X**2, axis=1)))
    times = unit * np.array([0.1, 3.0, 100.0, 1e4]) / min(scale, 1.0)
    problem = bf.Problem(bf.DiagonalNetwork(2), data, loss, scale=scale)
    flow = bf.gradient_flow(problem, times=times, method="separable")
    true = bf.gradient_flow(problem, times=times, method="weights", rtol=1e-11)
    apart = np.max(
        np.abs(problem.model.effective(flow.states) - problem.model.effective(true.states)), axis=1
    )
    return list(np.maximum(apart - true.predictor_error, 0) / flow.predictor_error)


def at_large_norms(seed: int) -> list[float]:
    """Distances of the last direction from that of a tighter march, over the stated error."""
    data = drawn(seed)
    if seed % 2:
        rng = np.random.default_rng((412, seed))
        data = bf.Dataset(data.X * 10.0 ** rng.uniform(-6, 6, data.d), data.y)
    scale = WIDE[seed // 10 % 4]
    problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.ExponentialLoss(), scale=scale)
    found = []
    for log_norm in (60.0, 1e5):
        if log_norm <= 2 * np.log(scale) + np.log(2 * data.d):
            continue
        one = bf.flows.direction_path(problem, log_norm)
        two = bf.flows.direction_path(problem, log_norm, rtol=1e-7)
        apart = float(np.sum(np.abs(one.directions[-1] - two.directions[-1])))
        found.append(max(apart - two.error[-1], 0.0) / one.error[-1])
    return found


def table(name: str, measure, seeds: range, time_s: float) -> None:
    ratios, failed, began = [], [], time.monotonic()
    for seed in seeds:
        if time.monotonic() - began > time_s:
            print(f"  out of time: seeds {seeds.start} to {seed - 1} of {seeds.stop - 1}")
            break
        try:
            ratios += measure(seed)
        except bf.errors.BiasflowError as reason:
            failed.append(f"{seed}: {reason}")
    shares = np.quantile(ratios, [0.5, 0.9, 1.0])
    print(
        f"{name:24} {len(ratios):4} comparisons, error over stated error: median {shares[0]:.2g}, "
        f"90% {shares[1]:.2g}, worst {shares[2]:.2g}; above one: {np.sum(np.array(ratios) > 1)}"
    )
    for line in failed:
        print("  gave up at", line)


if __name__ == "__main__":
    first, number = map(int, sys.argv[1:3]) if len(sys.argv) > 2 else (1000, 120)
    seeds, time_s = range(first, first + number), float(sys.argv[3]) if len(sys.argv) > 3 else 150.0
    warnings.simplefilter("error")
    tell_machine()
    table("weights, by raw gradients", at_moderate_norms, seeds, time_s)
    table("log-norms to 1e5", at_large_norms, seeds, time_s)
