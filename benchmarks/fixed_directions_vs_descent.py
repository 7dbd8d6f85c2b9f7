"""Networks with fixed directions: the dual flow against compiled gradient descent, and against SciPy on the weights.

(1) R's setting of Figure 3 (n = 10, d = 100, m = 20, α = 1e-4). R runs gradient descent with step 1e-4 until the objective is
zero to machine precision and takes its end for the limit. Here that loop is compiled by Numba and runs until its loss is 1e-20
of its start, like the dual flow. Accuracy: the largest |β − β*| over the coordinates, β* the certified Bregman projection.
(2) R's setting of Figure 6 (m = 1000): SciPy integrates the 2000 weights until the same time, with the analytic right-hand side;
every method runs at several tolerances. Error: the largest |β − reference| over all saved times and coordinates, the reference
a dual flow at rtol 1e-12. For every accuracy of the dual flow the table takes the fastest SciPy run at least as accurate.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from timing import arguments, best_of, table

STEP = 1e-4
"""R's step size."""
CONVERGED = 1e-20
MOST_STEPS = 200_000_000
DUAL_TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
SCIPY_TOLERANCES = {"RK45": (1e-4, 1e-6, 1e-8), "DOP853": (1e-4, 1e-6, 1e-8, 1e-10), "LSODA": (1e-4, 1e-6, 1e-8, 1e-10)}
IMPLICIT_LIMIT = 20.0
"""SciPy's own implicit methods factor a 2000 × 2000 matrix again and again: they get this many seconds, then count as slower."""
SAVED = 60


def compiled_descent() -> Any:
    import numpy as np
    from numba import njit

    @njit(fastmath=True)
    def descend(X, y, a, b, step, target, most):
        n, m = X.shape
        a, b, slope = a.copy(), b.copy(), np.empty(m)
        steps, loss = 0, np.inf
        while steps < most:
            slope[:] = 0.0
            loss = 0.0
            for i in range(n):
                residual = -y[i]
                for j in range(m):
                    residual += X[i, j] * a[j] * b[j]
                loss += 0.5 * residual * residual
                for j in range(m):
                    slope[j] += residual * X[i, j]
            if loss <= target:
                break
            for j in range(m):
                a[j], b[j] = a[j] - step * slope[j] * b[j], b[j] - step * slope[j] * a[j]
            steps += 1
        return a, b, steps, loss

    return descend


def against_descent(seeds: range) -> None:
    import numpy as np

    import biasflow as bf
    from biasflow.experiments.mirror.convergence import SETTING3, random_problem

    descend, rows, ratios, gains = compiled_descent(), [], [], []
    for seed in seeds:
        problem = random_problem(**SETTING3, seed=seed)
        X, y, start = problem.model.features(problem.data.X), problem.data.y, problem.params0
        descend(X, y, *start, STEP, 0.0, 1)  # compiles
        best = bf.limit(problem.model, problem.data, params0=start)
        exact, solving = best.value, best_of(3, lambda p=problem: bf.limit(p.model, p.data, params0=p.params0))[0]
        ours, flow = best_of(3, lambda p=problem: bf.gradient_flow(p.model, p.data, p.loss, p.params0))
        target = CONVERGED * flow.loss[0]
        theirs, (a, b, steps, loss) = best_of(1, partial(descend, X, y, *start, STEP, target, MOST_STEPS))
        error, theirs_error = np.max(np.abs(problem.model.effective(flow.final) - exact)), np.max(np.abs(a * b - exact))
        ratios.append((theirs / ours, theirs / (ours - flow.stats["error_seconds"]), theirs / solving))
        gains.append(theirs_error / error)
        cells = [
            f"{seed}",
            f"{flow.times[-1]:.0f}",
            f"{ours:.3f}",
            f"{error:.0e}",
            f"{steps / 1e6:.1f}M",
            f"{loss / flow.loss[0]:.0e}",
        ]
        rows.append(
            [*cells, f"{theirs:.2f}", f"{theirs_error:.0e}", f"{ratios[-1][0]:.0f}x", f"{ratios[-1][2]:.0f}x", f"{gains[-1]:.0e}"]
        )
    columns = [
        "seed",
        "t",
        "flow s",
        "error",
        "GD steps",
        "GD loss",
        "GD s",
        "GD error",
        "faster",
        "limit alone",
        "more accurate",
    ]
    median = np.median(ratios, axis=0)
    problem = random_problem(**SETTING3, seed=seeds[0])
    X, start = problem.model.features(problem.data.X), problem.params0
    target = CONVERGED * float(problem.loss(problem.model(start, problem.data.X), problem.data.y))
    slower, (a, b, _, _) = best_of(1, partial(descend, X, problem.data.y, *start, STEP / 10, target, MOST_STEPS))
    smaller = np.max(np.abs(a * b - bf.limit(problem.model, problem.data, params0=start).value))
    note = (
        f"Medians: flow {median[0]:.0f}x faster ({median[1]:.0f}x without its error estimate), limit alone {median[2]:.0f}x;"
        f" limit of the flow {np.median(gains):.0e} times more accurate (least {np.min(gains):.0e}).\n"
        f"Descent's error is the step's: seed {seeds[0]} with step 1e-5: {slower:.2f} s, error {smaller:.0e}."
    )
    table("Dual flow until its loss is 1e-20 of its start, and Numba's gradient descent with step 1e-4", columns, rows, note)


def against_scipy(n: int, m: int, seed: int, quick: bool) -> None:
    import numpy as np
    from scipy.integrate import solve_ivp

    import biasflow as bf
    from biasflow.experiments.mirror.convergence import SETTING6, random_problem

    problem = random_problem(**{**SETTING6, "n": n, "m": m}, seed=seed)
    X, y, start, model = problem.model.features(problem.data.X), problem.data.y, problem.params0, problem.model
    until_converged, whole = best_of(3, lambda: bf.gradient_flow(model, problem.data, problem.loss, start))
    solving = best_of(3, lambda: bf.limit(model, problem.data, params0=start))[0]
    end = float(whole.times[-1])
    times = np.append(np.geomspace(1e-3 * end, end, SAVED)[:-1], end)
    reference = model.effective(bf.gradient_flow(model, problem.data, problem.loss, start, times=times, rtol=1e-12).states)
    scale = float(np.max(start.a))

    def descent(t, w):
        slope = X.T @ (X @ (w[:m] * w[m:]) - y)
        return np.concatenate([-slope * w[m:], -slope * w[:m]])

    def dual(rtol):
        flow = bf.gradient_flow(model, problem.data, problem.loss, start, times=times, rtol=rtol)
        return float(np.max(np.abs(model.effective(flow.states) - reference))), flow.stats["error_seconds"]

    def weights(method, rtol):
        run = solve_ivp(descent, (0, end), np.concatenate(start), method=method, rtol=rtol, atol=rtol * scale, t_eval=times)
        return float(np.max(np.abs((run.y[:m] * run.y[m:]).T - reference))) if run.status == 0 else np.inf

    peers = []
    for method, tolerances in SCIPY_TOLERANCES.items():
        for rtol in tolerances[:2] if quick else tolerances:
            seconds, error = best_of(1 if method == "LSODA" else 2, lambda k=method, r=rtol: weights(k, r))
            peers.append((seconds, error, method, rtol))
    rows = [[method, f"{rtol:.0e}", f"{seconds:.2f}", f"{error:.0e}"] for seconds, error, method, rtol in peers]
    note = "; ".join(implicit(method, descent, np.concatenate(start), end, scale) for method in ("BDF", "Radau"))
    table(f"SciPy on the {2 * m} weights, n = {n}, m = {m}, t ≤ {end:.3g}", ["method", "rtol", "s", "error"], rows, note)
    rows = []
    for rtol in DUAL_TOLERANCES:
        ours, (error, estimating) = best_of(5, lambda r=rtol: dual(r))
        equal = [peer for peer in peers if peer[1] <= error]
        cells = ["-"] * 6
        if equal:
            seconds, peer_error, method, tolerance = min(equal)
            cells = [method, f"{tolerance:.0e}", f"{seconds:.2f}", f"{peer_error:.0e}"]
            cells += [f"{seconds / ours:.0f}x", f"{seconds / (ours - estimating):.0f}x"]
        rows.append([f"{rtol:.0e}", f"{ours:.3f}", f"{error:.0e}", *cells])
    columns = ["dual rtol", "s", "error", "fastest SciPy", "rtol", "s", "error", "ratio", "flow alone"]
    note = (
        f"Until converged, every step saved: {until_converged:.2f} s, {whole.stats['steps']} steps."
        f" 'flow alone' omits the error estimate. The limit alone: {solving:.4f} s."
    )
    table(f"Dual flow against the fastest SciPy run at least as accurate, n = {n}, m = {m}", columns, rows, note)


def implicit(method: str, descent: Any, start: Any, end: float, scale: float) -> str:
    """How far one of SciPy's own implicit methods gets at a loose tolerance before its limit."""
    import time

    import scipy.integrate

    solver = getattr(scipy.integrate, method)(descent, 0.0, start, end, rtol=1e-4, atol=1e-4 * scale)
    began = time.process_time()
    while solver.status == "running" and time.process_time() - began < IMPLICIT_LIMIT:
        solver.step()
    return f"{method} at rtol 1e-4: {time.process_time() - began:.1f} s for {solver.t / end:.0%} of the time"


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    against_descent(range(2 if quick else 7))
    for n in (10,) if quick else (10, 100):
        against_scipy(n, 200 if quick else 1000, 0, quick)


if __name__ == "__main__":
    main()
