"""Networks with fixed directions: the dual flow, interpreted and compiled, against compiled descent
and SciPy on the weights.

(1) R's setting of Figure 3 (n = 10, d = 100, m = 20, α = 1e-4). R runs gradient descent with step
1e-4 until the objective is zero to machine precision and takes its end for the limit. Here that
loop is compiled by Numba and runs until its loss is 1e-20 of its start, like the flows. Descent is
compared with the loosest flow that is at least as accurate along the whole trajectory: the largest
|β − reference| over 60 times and all coordinates, the reference a dual flow at rtol 1e-12. The
limit's error is the largest |β − β*|, β* the certified Bregman projection. (2) R's setting of
Figure 6 (m = 1000): SciPy integrates the 2000 weights until the same time, with the analytic
right-hand side; every method runs at several tolerances, errors as above. For every accuracy of a
flow the table takes the fastest SciPy run at least as accurate. Both flows save all weights at 60
times and give an error estimate, which SciPy does not.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from timing import arguments, best_of, products_floor, table

STEP = 1e-4
"""R's step size."""
CONVERGED = 1e-20
MOST_STEPS = 200_000_000
LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
FLOW_TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
SCIPY_TOLERANCES = {
    "RK45": (1e-3, 1e-4, 1e-6, 1e-8),
    "DOP853": (1e-3, 1e-4, 1e-6, 1e-8, 1e-10),
    "LSODA": (1e-4, 1e-6, 1e-8),
}
METHODS = ("compiled", "dual")
CALLS, LONG = 10, 0.02
"""Calls timed together where one takes less than so many seconds: reading the clock may take a
millisecond."""
IMPLICIT_LIMIT = 10.0
"""SciPy's own implicit methods factor a 2000 × 2000 matrix again and again: they get this many
seconds, then count as slower."""
SAVED = 60


def compiled_descent() -> Any:
    import numpy as np
    from numba import njit

    @njit(fastmath=True)
    def descend(X, y, a, b, step, target, most, saved):
        n, m = X.shape
        a, b, slope, path = a.copy(), b.copy(), np.empty(m), np.empty((saved.size, m))
        steps, loss, k = 0, np.inf, 0
        while steps < most:
            if k < saved.size and saved[k] == steps:
                path[k] = a * b
                k += 1
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
        return a, b, steps, loss, path[:k]

    return descend


def flow_of(problem: Any, method: str, rtol: float, times: Any = None) -> Any:
    import biasflow as bf

    return bf.gradient_flow(
        problem.model,
        problem.data,
        problem.loss,
        problem.start,
        times=times,
        rtol=rtol,
        method=method,
    )


def worst(problem: Any, flow: Any, reference: Any) -> float:
    import numpy as np

    return float(np.max(np.abs(problem.model.effective(flow.states) - reference)))


def timed(problem: Any, method: str, rtol: float, times: Any = None) -> tuple[float, float, Any]:
    """Seconds of a flow, those of its integration alone (no checks, no saving, no second run for
    the error), and the flow."""
    calls = CALLS if best_of(1, lambda: flow_of(problem, method, rtol, times))[0] < LONG else 1
    seconds, flows = best_of(
        5 if method == "compiled" else 3,
        lambda: [flow_of(problem, method, rtol, times) for _ in range(calls)],
    )
    seconds, flow = seconds / calls, flows[-1]
    if method == "dual":
        return seconds, seconds - flow.stats["error_seconds"], flow
    march, given = kernel(problem, rtol, times)
    return seconds, best_of(5, lambda: [march(*given) for _ in range(calls)])[0] / calls, flow


def kernel(problem: Any, rtol: float, times: Any) -> Any:
    """The compiled integrator and what it is called with."""
    import biasflow as bf
    from biasflow._numerics.flow_frame import FlowRequest
    from biasflow._numerics.interrupts import stop_flag
    from biasflow._numerics.rosenbrock import Progress
    from biasflow.flows.mirror.compiled_flow import prepared
    from biasflow.flows.mirror.compiled_march import march

    request = FlowRequest.read(None, rtol, times)
    flow, controls, _ = prepared(bf.models.mirror(problem), 1.0, request, stop_flag())
    some = controls._replace(most_steps=len(flow.times) - 1)
    return march, (flow, some, Progress(0.0, 0.0))


def saving(problem: Any, rtol: float, times: Any, calls: int = CALLS) -> float:
    """Seconds in which the compiled flow's states, losses and errors at its times are made."""
    import numpy as np

    import biasflow as bf
    from biasflow._numerics.flow_frame import FlowRequest
    from biasflow.flows.mirror.compiled_flow import integrate_compiled

    request = FlowRequest.read(None, rtol, times)
    run = integrate_compiled(bf.models.mirror(problem), 1.0, request)
    lift = bf.models.mirror_form(problem).lift
    start, mix = np.stack([lift.plus, lift.minus]), lift.mix
    return best_of(5, lambda: [run.sampled(start, mix) for _ in range(calls)])[0] / calls


def against_descent(seeds: range) -> None:
    import numpy as np

    import biasflow as bf
    from biasflow.experiments.mirror.convergence_figure import SETTING3, random_problem

    descend, rows, summary = compiled_descent(), [], {method: [] for method in METHODS}
    flow_of(random_problem(**SETTING3, seed=0), "compiled", 1e-3)  # compiles
    for seed in seeds:
        problem = random_problem(**SETTING3, seed=seed)
        X, y, start = problem.model.features(problem.data.X), problem.data.y, problem.start
        exact = bf.limit(problem.model, problem.data, start=start).value
        target = CONVERGED * float(problem.loss(problem.model(start, problem.data.X), y))
        nothing = np.empty(0, np.int64)
        descend(X, y, *start, STEP, 0.0, 1, nothing)  # compiles
        theirs, (a, b, steps, _, _) = best_of(
            1, partial(descend, X, y, *start, STEP, target, MOST_STEPS, nothing)
        )
        saved = np.unique(np.geomspace(1e-3 * steps, 0.999 * steps, SAVED).astype(np.int64))
        path = descend(X, y, *start, STEP, target, MOST_STEPS, saved)[-1]
        reference = problem.model.effective(flow_of(problem, "dual", 1e-12, STEP * saved).states)
        their_error, their_limit = np.max(np.abs(path - reference)), np.max(np.abs(a * b - exact))
        rows.append(
            [
                f"{seed}",
                f"descent, {steps / 1e6:.1f}M steps",
                "",
                f"{theirs:.3f}",
                f"{their_error:.0e}",
                f"{their_limit:.0e}",
            ]
        )
        rows[-1] += [""] * 3
        for method in METHODS:
            for rtol in LADDER:
                error = worst(problem, flow_of(problem, method, rtol, STEP * saved), reference)
                if error <= their_error:
                    break
            for tolerance in sorted({rtol, 1e-8}, reverse=True):
                ours, integrating, flow = timed(problem, method, tolerance)
                limit = float(np.max(np.abs(problem.model.effective(flow.final) - exact)))
                error = worst(problem, flow_of(problem, method, tolerance, STEP * saved), reference)
                ratios = [theirs / ours, theirs / integrating, their_limit / limit]
                if tolerance == rtol:
                    summary[method].append(ratios)
                rows.append(
                    [
                        "",
                        f"{method}, {flow.stats['steps']} steps",
                        f"{tolerance:.0e}",
                        f"{ours:.4f}",
                        f"{error:.0e}",
                    ]
                )
                rows[-1] += [
                    f"{limit:.0e}",
                    f"{ratios[0]:.0f}x",
                    f"{ratios[1]:.0f}x",
                    f"{ratios[2]:.0e}",
                ]
    columns = [
        "seed",
        "method",
        "rtol",
        "s",
        "error",
        "limit's",
        "faster",
        "flow alone",
        "limit better",
    ]
    lines = []
    for method in METHODS:
        median, least = np.median(summary[method], axis=0), np.min(summary[method], axis=0)
        lines.append(
            f"{method} at descent's accuracy: {median[0]:.0f} times faster (least "
            f"{least[0]:.0f}), integration alone"
            f" {median[1]:.0f} (least {least[1]:.0f}); limit {median[2]:.0e} times more accurate "
            f"(least {least[2]:.0e})."
        )
    note = "\n".join(
        ["Compiled code is timed after one call that compiles it. Medians over seeds:", *lines]
    )
    table(
        "Flows until the loss is 1e-20 of its start, and Numba's gradient descent with step 1e-4",
        columns,
        rows,
        note,
    )


def against_scipy(n: int, m: int, seed: int, quick: bool) -> None:
    import numpy as np
    from scipy.integrate import solve_ivp

    from biasflow.experiments.mirror.convergence_figure import SETTING6, random_problem

    problem = random_problem(**{**SETTING6, "n": n, "m": m}, seed=seed)
    X, y, start = problem.model.features(problem.data.X), problem.data.y, problem.start
    end = float(flow_of(problem, "dual", 1e-8).times[-1])
    times = np.append(np.geomspace(1e-3 * end, end, SAVED)[:-1], end)
    reference = problem.model.effective(flow_of(problem, "dual", 1e-12, times).states)
    scale = float(np.max(start.a))

    def descent(t, w):
        slope = X.T @ (X @ (w[:m] * w[m:]) - y)
        return np.concatenate([-slope * w[m:], -slope * w[:m]])

    def weights(method, rtol):
        run = solve_ivp(
            descent,
            (0, end),
            np.concatenate(start),
            method=method,
            rtol=rtol,
            atol=rtol * scale,
            t_eval=times,
        )
        return (
            float(np.max(np.abs((run.y[:m] * run.y[m:]).T - reference)))
            if run.status == 0
            else np.inf
        )

    peers = []
    for method, tolerances in SCIPY_TOLERANCES.items():
        for rtol in tolerances[:3] if quick else tolerances:
            seconds, error = best_of(
                1 if method == "LSODA" else 2, lambda k=method, r=rtol: weights(k, r)
            )
            peers.append((seconds, error, method, rtol))
    rows = [
        [method, f"{rtol:.0e}", f"{seconds:.3f}", f"{error:.0e}"]
        for seconds, error, method, rtol in peers
    ]
    note = "; ".join(
        implicit(method, descent, np.concatenate(start), end, scale) for method in ("BDF", "Radau")
    )
    table(
        f"SciPy on the {2 * m} weights, n = {n}, m = {m}, t ≤ {end:.3g}",
        ["method", "rtol", "s", "error"],
        rows,
        note,
    )
    rows = []
    for kind in METHODS:
        for rtol in FLOW_TOLERANCES:
            ours, integrating, flow = timed(problem, kind, rtol, times)
            error = worst(problem, flow, reference)
            equal, same = (
                [peer for peer in peers if peer[1] <= error],
                [peer[0] for peer in peers if peer[3] == rtol],
            )
            cells = ["-"] * 6
            if equal:
                seconds, peer_error, method, tolerance = min(equal)
                cells = [f"{method} {tolerance:.0e}", f"{seconds:.3f}", f"{peer_error:.0e}"]
                cells += [f"{seconds / ours:.0f}x", f"{seconds / integrating:.0f}x"]
                cells += [f"{min(same) / ours:.0f}x" if same else "-"]
            floor = products_floor(X, flow.stats["steps"], SAVED)
            rows.append(
                [
                    kind,
                    f"{rtol:.0e}",
                    f"{ours * 1e3:.1f}",
                    f"{integrating * 1e3:.1f}",
                    f"{1e3 * saving(problem, rtol, times):.1f}" if kind == "compiled" else "-",
                    f"{ours / floor:.1f}",
                    f"{error:.0e}",
                    *cells,
                ]
            )
    columns = [
        "flow",
        "rtol",
        "ms",
        "alone",
        "saving",
        "floors",
        "error",
        "fastest SciPy",
        "s",
        "error",
        "ratio",
        "flow alone",
        "same rtol",
    ]
    note = (
        "'alone': the integration without checks, saving and the second run of 'dual'. 'saving': "
        "weights, losses and errors at the times; what is left is Python around both. 'floors':"
        " the whole in units of the products with X that its steps and saved times need, by BLAS."
        " 'same rtol': against the fastest SciPy at that rtol."
    )
    table(
        f"Flows against the fastest SciPy run at least as accurate, n = {n}, m = {m}",
        columns,
        rows,
        note,
    )


def implicit(method: str, descent: Any, start: Any, end: float, scale: float) -> str:
    """How far one of SciPy's own implicit methods gets at a loose tolerance before its limit."""
    import time

    import scipy.integrate

    solver = getattr(scipy.integrate, method)(
        descent, 0.0, start, end, rtol=1e-4, atol=1e-4 * scale
    )
    began = time.process_time()
    while solver.status == "running" and time.process_time() - began < IMPLICIT_LIMIT:
        solver.step()
    return (
        f"{method} at rtol 1e-4: {time.process_time() - began:.1f} s for {solver.t / end:.0%} "
        "of the time"
    )


def options(parser: Any) -> None:
    parts = ("descent", "10", "100")
    told = "against descent, and against SciPy with 10 or 100 samples"
    parser.add_argument("--part", choices=parts, nargs="+", default=parts, help=told)


def main() -> None:
    chosen = arguments(__doc__.splitlines()[0], options)
    quick = chosen.quick
    if "descent" in chosen.part:
        against_descent(range(2 if quick else 7))
    for n in (10, 100):
        if str(n) in chosen.part and (n == 10 or not quick):
            against_scipy(n, 200 if quick else 1000, 0, quick)


if __name__ == "__main__":
    main()
