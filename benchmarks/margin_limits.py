"""Max margins against what computes them elsewhere: gradient ascent for γ₁ (C, fig. 1), a
quadratic-program solver for γ₂.

γ₁: 300 000 iterations of the paper's gradient ascent on the smooth margin (m = 500, d = 2, step
0.5/√(t+1)), by our own compiled `bf.training.margin_ascent`; all are run for n = 100; for larger n,
and with --quick, a part, and its time is extrapolated. γ₂: the same hard-margin problem by cvxpy
with Clarabel at its default tolerance.
"""

from __future__ import annotations

import time
import warnings

from timing import arguments, best_of, exponent, missing, table

ITERATIONS, WIDTH, STEP = 300_000, 500, 0.5


def ascent(data, iterations):
    """Seconds per iteration of C's compiled ascent on both layers, and the best margin."""
    import biasflow as bf

    biased = bf.data.with_bias(data)
    model = bf.TwoLayer(WIDTH, biased.d)
    start = model.init(WIDTH**-0.5, balanced=False)
    bf.training.margin_ascent(biased, start, 10)  # compiles, or loads what was compiled
    began = time.process_time()
    run = bf.training.margin_ascent(
        biased, start, iterations, bf.training.InverseRootStep(STEP), records=2
    )
    return (time.process_time() - began) / iterations, float(run.stats["best_margin"][-1])


def quadratic_program(K, y):
    """γ₂ by Clarabel, min ½‖Bᵀα‖² − Σα over α ≥ 0, and the seconds; the margin of the classifier
    that comes out."""
    import cvxpy as cp
    import numpy as np

    start = time.process_time()
    values, vectors = np.linalg.eigh(K)
    B = y[:, None] * (vectors * np.sqrt(np.maximum(values, 0.0)))
    alpha = cp.Variable(y.size, nonneg=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cp.Problem(cp.Minimize(0.5 * cp.sum_squares(B.T @ alpha) - cp.sum(alpha))).solve(
            solver=cp.CLARABEL
        )
    p = np.maximum(alpha.value, 0.0)
    seconds = time.process_time() - start
    p /= np.sum(p)
    w = B.T @ p
    length = float(np.linalg.norm(w))
    return length, float(np.min(B @ w)) / length, seconds


def first_table(quick):
    import biasflow as bf

    rows, spent, sizes = [], [], (100,) if quick else (100, 200, 400)
    warm = bf.data.clusters(10, 2, 2, key=0)
    bf.limits.f1_max_margin(warm.X, warm.y)  # compiles, or loads what was compiled
    for n in sizes:
        data = bf.data.clusters(n, 2, 4, key=2)
        ours, limit = best_of(
            1 if quick else 3, lambda data=data: bf.limits.f1_max_margin(data.X, data.y)
        )
        spent.append(ours)
        done = 2_000 if quick else ITERATIONS if n == 100 else 10_000
        each, margin = ascent(data, done)
        rows.append(
            [
                str(n),
                f"{ours:.2f}",
                f"{limit.objective:.6f}",
                f"{limit.stats['relative_gap']:.0e}",
                f"{ITERATIONS * each:.1f}",
                f"{done}",
                f"{margin / limit.objective:.3f}" if done == ITERATIONS else "-",
                f"{ITERATIONS * each / ours:.0f}x",
            ]
        )
    columns = ["n", "ours s", "γ₁", "gap", "ascent s", "run", "margin/γ₁", "ratio"]
    note = (
        f"gap: certified, relative. ascent s: for {ITERATIONS} iterations, from those run; "
        "margin/γ₁: the best iterate."
    )
    if not quick:
        note += f"\nOurs grows like n^({exponent(sizes, spent)})."
    table("γ₁, d = 2, k = 4, against compiled gradient ascent with m = 500", columns, rows, note)


def second_table(quick):
    import biasflow as bf

    rows = []
    for n, d in ((100, 2),) if quick else ((100, 2), (256, 14), (500, 2), (1000, 14)):
        data = bf.data.clusters(n, d, 4 if d == 2 else 3, key=2)
        K = bf.limits.arc_cosine_kernel(data.X)
        ours, limit = best_of(3, lambda K=K, data=data: bf.limits.kernel_max_margin(K, data.y))
        quadratic_program(K[:5, :5], data.y[:5])  # imports and first-use costs
        upper, lower, seconds = quadratic_program(K, data.y)
        gap = limit.certificate.dual / limit.objective - 1
        theirs = (upper - lower) / upper
        rows.append(
            [
                str(n),
                str(d),
                f"{1e3 * ours:.1f}",
                f"{gap:.0e}",
                f"{1e3 * seconds:.0f}",
                f"{theirs:.0e}",
                f"{seconds / ours:.0f}x",
            ]
        )
    columns = ["n", "d", "ours ms", "gap", "Clarabel ms", "gap", "ratio"]
    note = (
        "Same kernel matrix; gap: 1 − margin/norm of the classifier returned. Building the "
        "problem is part of Clarabel's time."
    )
    table("γ₂ (arc-cosine kernel) against cvxpy + Clarabel", columns, rows, note)


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    first_table(quick)
    if not missing("cvxpy", "Clarabel for γ₂"):
        second_table(quick)


if __name__ == "__main__":
    main()
