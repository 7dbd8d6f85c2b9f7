"""The stiff flow of matrix factorisations against SciPy on the same weights, and how its cost grows
with the width."""

from __future__ import annotations

from functools import partial

from timing import arguments, best_of, exponent, table

chosen = arguments(__doc__)

import numpy as np  # noqa: E402
from scipy.integrate import solve_ivp  # noqa: E402

import biasflow as bf  # noqa: E402
from biasflow._core.problems import Problem  # noqa: E402

SHAPE = (10, 10)
ALPHA = 1e-3
LOSS = bf.SquareLoss("sum")
RTOLS = (1e-3, 1e-4, 1e-6, 1e-8)


def problem(seed: int, alpha: float, k: int | None = None) -> Problem:
    model = bf.MatrixFactorisation(SHAPE, 2 * (k or SHAPE[0]))
    params = model.init(alpha, key=seed, law="gaussian" if k else "identity")
    return Problem(model, bf.data.completion(SHAPE, 1, 60, key=seed), LOSS, params)


class Weights:
    """The flow as one hands it to SciPy: the factors in a vector."""

    def __init__(self, p: Problem) -> None:
        self.observed = p.data.X.any(axis=0).reshape(SHAPE)
        self.target = np.zeros(SHAPE)
        self.target[self.observed] = p.data.y
        self.start = np.vstack(p.start).ravel()

    def matrix(self, w: np.ndarray) -> np.ndarray:
        W = w.reshape(sum(SHAPE), -1)
        return W[: SHAPE[0]] @ W[SHAPE[0] :].T

    def __call__(self, t: float, w: np.ndarray) -> np.ndarray:
        W = w.reshape(sum(SHAPE), -1)
        U, V = W[: SHAPE[0]], W[SHAPE[0] :]
        G = np.where(self.observed, 2 * (U @ V.T - self.target), 0.0)
        return -np.vstack([G @ V, G.T @ U]).ravel()


def ours(p: Problem, t1: float, rtol: float) -> bf.Trajectory:
    return bf.gradient_flow(p.model, p.data, p.loss, p.start, rtol=rtol, times=[t1])


def explicit_at_small_scale(share: float) -> None:
    """α = 1e-3 until converged. Explicit steps are bound by stability: they are run for a share of
    the time and scaled up."""
    rows = []
    for seed in range(1 if chosen.quick else 3):
        p = problem(seed, ALPHA)
        field, full = Weights(p), bf.gradient_flow(p.model, p.data, p.loss, p.start, rtol=1e-10)
        t1 = float(full.times[-1])
        reference = p.model.effective(full.final)
        # a stretch of the tail, where nearly all of the time is spent
        begin, part = 0.5 * t1, share * t1
        middle = full.at(begin)
        stretch = partial(
            solve_ivp,
            field,
            (begin, begin + part),
            np.vstack(middle).ravel(),
            rtol=1e-4,
            atol=1e-4 * ALPHA,
        )
        peers = [
            best_of(1, partial(stretch, method=solver))[0] / share for solver in ("RK45", "DOP853")
        ]
        for rtol in RTOLS:
            time, flow = best_of(2, partial(ours, p, t1, rtol))
            error = float(np.max(np.abs(p.model.effective(flow.final) - reference)))
            row = [
                str(seed),
                f"{t1:.1e}",
                f"{rtol:.0e}",
                f"{time:.3f}",
                f"{error:.0e}",
                f"{float(flow.error[-1]):.0e}",
            ]
            rows.append([*row, *(cell for s in peers for cell in (f"{s:.0f}", f"{s / time:.0f}x"))])
    table(
        f"10×10, 60 entries, α = {ALPHA:g}, identity start, until the loss is 1e-20 of its start",
        [
            "seed",
            "t",
            "our rtol",
            "s",
            "error",
            "its estimate",
            "RK45 s",
            "ratio",
            "DOP853 s",
            "ratio",
        ],
        rows,
        f"Explicit solvers at rtol 1e-4, bound by stability: measured on {share:.1%} of the time, "
        "in the tail, and scaled up.\n"
        "error: ‖M − M_ref‖_∞ at the end, the reference at rtol 1e-10. Ours includes the second "
        "run that estimates the error.",
    )


def equal_accuracy(alpha: float, t1: float) -> None:
    """A stretch that explicit solvers finish, from the start on, at several tolerances: nothing is
    scaled."""
    p = problem(0, alpha)
    field = Weights(p)
    reference = p.model.effective(ours(p, t1, 1e-11).final)

    def miss(M: np.ndarray) -> float:
        return float(np.max(np.abs(M - reference)))

    peers = []
    for solver in ("RK45", "DOP853", "LSODA"):
        for rtol in (1e-6, 1e-8):
            seconds, run = best_of(
                1,
                partial(
                    solve_ivp,
                    field,
                    (0, t1),
                    field.start,
                    method=solver,
                    rtol=rtol,
                    atol=rtol * alpha,
                ),
            )
            peers.append((seconds, miss(field.matrix(run.y[:, -1])), f"{solver} {rtol:.0e}"))
    table(
        f"SciPy on the 400 weights, α = {alpha:g}, t ≤ {t1:g}",
        ["method", "s", "error"],
        [[name, f"{s:.2f}", f"{e:.0e}"] for s, e, name in peers],
    )
    rows = []
    for rtol in RTOLS:
        time, flow = best_of(2, partial(ours, p, t1, rtol))
        error = miss(p.model.effective(flow.final))
        row = [f"{rtol:.0e}", f"{time:.3f}", f"{error:.0e}"]
        for kind in (("RK45", "DOP853"), ("LSODA",)):
            equal = [
                peer
                for peer in peers
                if peer[1] <= max(error, 1e-9) * 1.5 and peer[2].startswith(kind)
            ]
            row += [min(equal)[2], f"{min(equal)[0] / time:.0f}x"] if equal else ["-", "-"]
        rows.append(row)
    table(
        "Ours against the fastest SciPy run at least as accurate",
        ["our rtol", "s", "error", "explicit", "ratio", "stiff, same weights", "ratio"],
        rows,
    )


def width(stiff: tuple[int, ...]) -> None:
    """Until converged, at the accuracy of a figure; LSODA at the widths given, to the same time."""
    rows, spent, widths = [], [], (10, 20, 100, 1000)
    for k in widths:
        p = problem(0, ALPHA / np.sqrt(k), k)
        seconds, flow = best_of(
            1, partial(bf.gradient_flow, p.model, p.data, p.loss, p.start, rtol=1e-6)
        )
        spent.append(seconds)
        row = [
            str(k),
            str(sum(leaf.size for leaf in p.start)),
            f"{seconds:.2f}",
            str(flow.stats["steps"]),
            "-",
            "-",
            "-",
        ]
        if k in stiff:
            field = Weights(p)
            ends = (0, float(flow.times[-1]))
            solve = partial(
                solve_ivp,
                field,
                ends,
                field.start,
                method="LSODA",
                rtol=1e-6,
                atol=1e-6 * ALPHA / np.sqrt(k),
            )
            theirs, run = best_of(1, solve)
            apart = np.max(np.abs(field.matrix(run.y[:, -1]) - p.model.effective(flow.final)))
            row[4:] = [f"{theirs:.2f}", f"{theirs / seconds:.0f}x", f"{apart:.0e}"]
        rows.append(row)
    table(
        "Growth with the width, Gaussian start at α/√k, until converged",
        ["k", "weights", "s", "steps", "LSODA s", "ratio", "apart"],
        rows,
        f"time grows like k^({exponent(widths, spent)})",
    )


explicit_at_small_scale(0.002 if chosen.quick else 0.02)
equal_accuracy(ALPHA, 1e3 if chosen.quick else 1e4)
width((10,) if chosen.quick else (10, 20))
