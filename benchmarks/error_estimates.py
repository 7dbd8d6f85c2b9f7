"""How often a flow's true error exceeds the estimate it comes with, for every method on random
problems.

The truth comes from other methods (`independent_flows`): the weights, or β, by DOP853; ReLU
networks from kink to kink. Errors
are sup norms at the times saved: of the states against `Trajectory.error`, and of the predictor
against `predictor_error`, where it is another. Every other problem saves at times of its own, the
rest are judged at the ends of steps. A problem counts as exceeded where any of its errors does, by
more than the truth itself may be off; it is not judged where the truth is not known well enough.
With --out, records go to a file, and what is there is not computed again. Five minutes, or what
--time-s says.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from timing import THREAD_SETTINGS, table, tell_machine

SAVED = 6
"""Times at which a flow is judged."""
TIME_S = 20.0
"""Seconds that a witness may take."""
TELLING = 0.3
"""How far the truth may be off, over the estimate, where an error is judged."""
ROUGH, WORST = 1.0, 3.0


def draw(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def regression(rng):
    """Gaussian data of fewer samples than features, scales over decades, and the size of weights β
    = w^D wants."""
    import numpy as np

    import biasflow as bf

    n = int(rng.integers(1, 7))
    d = n + int(rng.integers(1, 10))
    X, y = draw(rng, -1, 1) * rng.standard_normal((n, d)), draw(rng, -2, 2) * rng.standard_normal(n)
    return bf.Dataset(X, y), float(np.max(np.abs(y)) / np.max(np.abs(X)))


def times_for(rng, end, flow=None):
    """Times of their own up to the end, or some ends of steps."""
    import numpy as np
    from independent_flows import Unfollowed

    if flow is None:
        return np.append(np.sort(end * 10.0 ** rng.uniform(-2.5, -0.02, SAVED - 1)), end)
    later = np.flatnonzero(flow.times > 0)
    if not later.size:
        raise Unfollowed("the flow does not move")
    return flow.times[np.unique(later[np.linspace(0, len(later) - 1, SAVED).astype(int)])]


def stiffest(model, data, loss, params):
    """The fastest rate at which the predictions relax."""
    import numpy as np

    import biasflow as bf

    return (
        2 * loss.factor(data.n) * float(np.linalg.norm(bf.tangent_kernel(model, params, data.X), 2))
    )


def flow_on(rng, seed, solve, rate=None):
    """A flow that saves at times of its own (odd seeds) or at every step, and where to judge it;
    cut where DOP853 is slow."""
    import numpy as np

    whole = solve(None, None)
    end = float(whole.times[-1])
    if rate is not None:
        end = min(end, 1500.0 / rate(whole)) * (
            1.0 if rng.random() < 0.5 else float(rng.uniform(0.05, 1))
        )
    if seed % 2:
        times = times_for(rng, end)
        return solve(None, times), times
    flow = whole if end == whole.times[-1] else solve(end, None)
    return flow, np.asarray(times_for(rng, end, flow))


def judged(flow, times, truth, doubt, effective):
    """(kind, true error, what the truth may be off, estimate) at the times."""
    import numpy as np

    from biasflow._core.trees import leaf_map, leaves

    flat = lambda state: np.concatenate([np.ravel(leaf) for leaf in leaves(state)])  # noqa: E731
    rows = []
    for k, t in enumerate(times):
        i = int(np.argmin(np.abs(flow.times - t)))
        state = leaf_map(lambda leaf, i=i: leaf[i], flow.states)
        true = truth[k]
        rows.append(
            (
                "state",
                float(np.max(np.abs(flat(state) - flat(true)))),
                float(np.max(doubt[k])),
                float(flow.error[i]),
            )
        )
        if effective is not None:
            off = float(np.max(np.abs(np.asarray(effective(state)) - np.asarray(effective(true)))))
            size = float(np.max(np.abs(flat(true))))
            rows.append(
                (
                    "predictor",
                    off,
                    4 * float(np.max(doubt[k])) * max(size, size**2),
                    float(flow.predictor_error[i]),
                )
            )
    return rows


def diagonal(depth, method):
    def problem(seed, rng):
        import numpy as np
        from independent_flows import follow

        import biasflow as bf

        data, ratio = regression(rng)
        model, loss = bf.DiagonalNetwork(depth), bf.SquareLoss(str(rng.choice(["half", "sum"])))
        size = ratio ** (1 / depth)
        scale = size * draw(rng, -4 if depth == 2 else -1.5, 0.3)
        start = model.init(scale * np.exp(0.3 * rng.standard_normal(data.d)))
        rtol = float(rng.choice([1e-4, 1e-6, 1e-8]))

        def solve(t1, times):
            return bf.gradient_flow(
                model, data, loss, start, t1=t1, times=times, rtol=rtol, method=method, throw=False
            )

        flow, times = flow_on(
            rng, seed, solve, lambda whole: stiffest(model, data, loss, whole.final)
        )
        X, y, c, d = data.X, data.y, 2 * loss.factor(data.n), data.d

        def velocity(w):
            plus, minus = w[:d], w[d:]
            with np.errstate(over="ignore", invalid="ignore"):  # steps that are then rejected
                pull = c * depth * (X.T @ (y - X @ (plus**depth - minus**depth)))
                return np.concatenate([plus ** (depth - 1) * pull, -(minus ** (depth - 1)) * pull])

        found, doubt = follow(velocity, np.concatenate(start), times)
        return rtol, judged(
            flow,
            times,
            [bf.models.DiagonalParams(w[:d], w[d:]) for w in found],
            doubt,
            model.effective,
        )

    return problem


def mirror(seed, rng):
    """Potentials in turn; the truth is β̇ = −∇L(β)/φ''(β), or in closed form for the Euclidean
    one."""
    import numpy as np
    from independent_flows import follow

    import biasflow as bf

    data, ratio = regression(rng)
    X, y = data.X, data.y
    rtol, which = float(rng.choice([1e-4, 1e-6, 1e-8])), seed % 3
    if which == 1:  # on positive β, which need positive data to be fitted
        X, beta = np.abs(X), ratio * rng.exponential(size=data.d)
        y = X @ beta
    radius = ratio * draw(rng, -6, 0.5) * np.exp(0.5 * rng.standard_normal(data.d))
    potential = [
        bf.potentials.Hypentropy(radius),
        bf.potentials.Entropy(),
        bf.potentials.Euclidean(),
    ][which]
    start = [None, radius, None][which]

    def solve(t1, times):
        return bf.mirror_flow(potential, X, y, start, t1=t1, times=times, rtol=rtol, throw=False)

    def rate(whole):
        beta = whole.final
        weight = [np.hypot(beta, radius), beta, np.ones(data.d)][which]
        return float(np.linalg.norm((X * weight) @ X.T, 2))

    flow, times = flow_on(rng, seed, solve, rate)
    if which == 2:
        values, vectors = np.linalg.eigh(X @ X.T)
        duals = [vectors @ (-np.expm1(-values * t) / values * (vectors.T @ y)) for t in times]
        found = np.array([X.T @ nu for nu in duals])
        doubt = 1e-14 * np.abs(found) * float(values[-1] / values[0])
    else:
        weigh = (lambda b: np.hypot(b, radius)) if which == 0 else (lambda b: b)
        found, doubt = follow(
            lambda b: weigh(b) * (X.T @ (y - X @ b)),
            np.zeros(data.d) if start is None else start,
            times,
        )
    return rtol, judged(flow, times, list(found), doubt, None)


def factored(seed, rng):
    import numpy as np
    from independent_flows import follow

    import biasflow as bf

    rows, cols = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    k = int(rng.integers(1, rows * cols + 1))
    width = 2 * int(rng.integers(1, 4))
    index = rng.permutation(rows * cols)[:k]
    data = bf.data.from_entries(
        (rows, cols), index // cols, index % cols, draw(rng, -1, 1) * rng.standard_normal(k)
    )
    model, loss = bf.MatrixFactorisation((rows, cols), width), bf.SquareLoss("half")
    start = model.init(draw(rng, -3, 0.3), law="gaussian", key=seed)
    rtol = float(rng.choice([1e-4, 1e-6, 1e-8]))

    def solve(t1, times):
        return bf.gradient_flow(
            model, data, loss, start, t1=t1, times=times, rtol=rtol, throw=False
        )

    flow, times = flow_on(rng, seed, solve, lambda whole: stiffest(model, data, loss, whole.final))
    X, y, cut = data.X, data.y, rows * width

    def read(w):
        return bf.models.FactorParams(w[:cut].reshape(rows, width), w[cut:].reshape(cols, width))

    def velocity(w):
        U, V = read(w)
        G = (X.T @ (X @ (U @ V.T).ravel() - y)).reshape(rows, cols)
        return -np.concatenate([(G @ V).ravel(), (G.T @ U).ravel()])

    found, doubt = follow(velocity, np.concatenate([start.U.ravel(), start.V.ravel()]), times)
    return rtol, judged(flow, times, [read(w) for w in found], doubt, model.effective)


def followed_twice(problem, times, slope, rtol):
    """Two methods from kink to kink, the library's witness and that of the benchmarks; where they
    differ nothing is known."""
    import numpy as np
    from independent_flows import Unfollowed, follow_gates

    from biasflow.theory.relu.relu_witness import gated_flow

    witness = gated_flow(problem, None, times, 1e-12, TIME_S)
    if isinstance(witness, str):
        raise Unfollowed(witness)
    if np.any(np.linalg.norm(witness.states.W, axis=2) < 1e-12 * np.abs(witness.states.a)):
        raise Unfollowed("the witness came to w = 0, where it closes gates that no w has together")
    found = np.concatenate([witness.states.a, witness.states.W.reshape(len(times), -1)], axis=1)
    doubt = np.broadcast_to(witness.error[:, None], found.shape)
    try:
        second, off = follow_gates(slope, problem.data.X, problem.start, times, rtol)
        doubt = np.maximum(doubt, np.abs(found - second) - off)
    except Unfollowed:  # it knows no neurons that slide on two kinks
        pass
    return found, doubt


def events(seed, rng):
    from independent_flows import FINE, Unfollowed

    import biasflow as bf

    m, d, n = int(rng.integers(2, 9)), int(rng.integers(2, 5)), int(rng.integers(1, 6))
    model, X, y = bf.TwoLayer(m, d), rng.standard_normal((n, d)), rng.standard_normal(n)
    start = model.init(draw(rng, -3, 0), key=seed, balanced=bool(rng.random() < 0.7))
    rtol, end = float(rng.choice([1e-4, 1e-6, 1e-8])), draw(rng, 0, 1.7)
    times = times_for(rng, end) if seed % 2 else None
    data = bf.Dataset(X, y)
    flow = bf.gradient_flow(
        model, data, bf.SquareLoss("half-mean"), start, t1=end, rtol=rtol, times=times, throw=False
    )
    times = times_for(rng, end, flow) if times is None else times
    if not flow.unique:
        raise Unfollowed("the solution is not unique")
    found, doubt = followed_twice(flow.problem, times, lambda h: (h - y) / n, FINE)
    states = [bf.models.TwoLayerParams(w[:m], w[m:].reshape(m, d)) for w in found]
    return rtol, judged(flow, times, states, doubt, model.effective)


def margin(kind):
    def problem(seed, rng):
        import numpy as np

        import biasflow as bf

        m, n = int(rng.integers(2, 9)), int(rng.integers(2, 8))
        X = np.c_[rng.standard_normal((n, 2)), np.ones(n)]
        y = np.where(X @ rng.standard_normal(3) > 0, 1.0, -1.0)
        model, inner = (
            bf.TwoLayer(m, 3),
            bf.ExponentialLoss() if rng.random() < 0.5 else bf.LogisticLoss(),
        )
        loss = {
            "smooth": bf.SmoothMargin(inner),
            "exponential": bf.ExponentialLoss(),
            "logistic": bf.LogisticLoss(),
        }[kind]
        start = model.init(draw(rng, -1, 0), key=seed)
        rtol, end = (
            float(rng.choice([1e-3, 1e-4, 1e-5])),
            draw(rng, -1, 0.4) if kind == "smooth" else draw(rng, -0.5, 2),
        )
        times = times_for(rng, end) if seed % 2 else None
        flow = bf.gradient_flow(
            model, bf.Dataset(X, y), loss, start, t1=end, rtol=rtol, times=times, throw=False
        )
        times = times_for(rng, end, flow) if times is None else times
        found, doubt = followed_twice(flow.problem, times, lambda h: loss.gradient(h, y), 1e-11)
        states = [bf.models.TwoLayerParams(w[:m], w[m:].reshape(m, 3)) for w in found]
        return rtol, judged(flow, times, states, doubt, model.effective)

    return problem


def deep(seed, rng):
    """Kinks rounded a hundred times less than the library rounds them, by Radau: another width and
    another method."""
    import dataclasses

    import numpy as np
    from independent_flows import follow_stiff

    import biasflow as bf
    from biasflow._core.trees import leaf_map, leaves

    widths = [(2, 3, 1), (2, 3, 3, 1), (3, 2, 2, 1)][int(rng.integers(3))]
    model, n = bf.DeepNetwork(widths), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, widths[0])), rng.standard_normal(n)
    start, loss = model.init(draw(rng, -0.3, 0.3), key=seed), bf.SquareLoss("half-mean")
    rtol, end = float(rng.choice([1e-4, 1e-5, 1e-6])), draw(rng, -0.5, 0.7)
    times = times_for(rng, end) if seed % 2 else None
    data = bf.Dataset(X, y)
    flow = bf.gradient_flow(model, data, loss, start, t1=end, rtol=rtol, times=times, throw=False)
    times = times_for(rng, end, flow) if times is None else times
    cuts = np.cumsum([leaf.size for leaf in leaves(start)])[:-1]

    def read(w):
        parts = iter(np.split(w, cuts))
        return leaf_map(lambda leaf: next(parts).reshape(np.shape(leaf)), start)

    def velocity(width):
        rounded = dataclasses.replace(model, rounding=width)

        def slope(w):
            params = read(w)
            output = loss.gradient(rounded(params, X), y)
            return -np.concatenate(
                [np.ravel(leaf) for leaf in leaves(rounded.gradient(params, X, output))]
            )

        return slope

    half_width = 0.01 * flow.stats["rounding"]
    first = np.concatenate([np.ravel(leaf) for leaf in leaves(start)])
    found, doubt = follow_stiff(
        velocity(half_width), velocity(4 * half_width), first, times, 1e-2 * rtol
    )
    return rtol, judged(flow, times, [read(w) for w in found], doubt, None)


CELLS = {
    "depth 2, dual": diagonal(2, "dual"),
    "depth 2, compiled": diagonal(2, "compiled"),
    "depth 3, dual": diagonal(3, "dual"),
    "mirror_flow": mirror,
    "factored": factored,
    "ReLU, events": events,
    "smooth margin": margin("smooth"),
    "exponential": margin("exponential"),
    "logistic": margin("logistic"),
    "deep": deep,
}


def examine(cell, seed):
    """One problem of a cell, as a record."""
    import numpy as np
    from independent_flows import Unfollowed

    import biasflow as bf

    began = time.process_time()
    rng = np.random.default_rng([seed, list(CELLS).index(cell)])
    record = {"cell": cell, "seed": seed}
    try:
        rtol, rows = CELLS[cell](seed, rng)
        record |= {"rtol": rtol, "rows": rows}
    except Unfollowed as reason:
        record["missing"] = str(reason)
    except bf.errors.BiasflowError as reason:
        record["missing"] = f"{type(reason).__name__}: {reason}"
    return record | {"seconds": round(time.process_time() - began, 3)}


def ratios(record):
    """(true error beyond doubt over estimate, estimate over true error) where both can be told."""
    found = []
    for _, true, doubt, estimate in record.get("rows", []):
        if not estimate >= 0:  # none was given, though there was time
            found.append((float("inf"), 0.0))
        elif estimate > 0 and doubt <= TELLING * max(estimate, true) and true > 0:
            found.append((max(true - doubt, 0.0) / estimate, estimate / true))
        elif estimate == 0 and true > 3 * doubt:
            found.append((float("inf"), 0.0))
    return found


def summary(records, cells):
    import numpy as np

    rows, everything = [], []
    for cell in [*cells, "all"]:
        mine = [r for r in records if cell in ("all", r["cell"])]
        kept = [(r, ratios(r)) for r in mine]
        kept = [(r, found) for r, found in kept if found]
        worst = np.array([max(over for over, _ in found) for _, found in kept])
        loose = np.array([slack for _, found in kept for _, slack in found])
        if cell == "all" and len(cells) == 1:
            continue
        everything.append(worst)
        exceeded = int(np.sum(worst > ROUGH))
        cells_of_row = [cell, str(len(mine)), str(len(kept)), str(loose.size), str(exceeded)]
        if len(kept):
            share = f"{100 * exceeded / len(kept):.1f}%"
            cells_of_row += [
                share,
                f"{worst.max():.2f}",
                f"{np.median(loose):.1f}",
                f"{np.quantile(loose, 0.95):.0f}",
            ]
            cells_of_row += [f"{sum(r['seconds'] for r in mine):.0f}"]
        rows.append(cells_of_row + ["-"] * (10 - len(cells_of_row)))
    return rows


COLUMNS = [
    "cell",
    "problems",
    "judged",
    "errors",
    "exceeded",
    "share",
    "worst",
    "median",
    "95%",
    "s",
]
NOTE = (
    "judged: problems where the truth is known well enough; errors: how many of them were "
    "compared, at up to six times each;\n"
    "exceeded: problems where one of them exceeds its estimate; worst: the largest error over its "
    "estimate;\n"
    "median, 95%: quantiles of estimate over error."
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cells", nargs="*", choices=list(CELLS), default=list(CELLS), help="which cells"
    )
    parser.add_argument("--seeds", type=int, default=200, help="problems in every cell")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, default=None, help="file of records, read and added to")
    parser.add_argument("--quick", action="store_true", help="ten problems in every cell")
    parser.add_argument("--time-s", type=float, default=300.0, help="start no problem after that")
    chosen = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREAD_SETTINGS):
        os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])
    known = {}
    if chosen.out is not None and chosen.out.exists():
        for line in chosen.out.read_text().splitlines():
            record = json.loads(line)
            known[record["cell"], record["seed"]] = record
    tell_machine()
    records, began = [], time.monotonic()
    for seed in range(chosen.first, chosen.first + (10 if chosen.quick else chosen.seeds)):
        for cell in chosen.cells:
            record = known.get((cell, seed))
            if record is None:
                if time.monotonic() - began > chosen.time_s:
                    continue
                record = examine(cell, seed)
                if chosen.out is not None:
                    with chosen.out.open("a") as file:
                        file.write(json.dumps(record) + "\n")
            records.append(record)
    table("True errors against their estimates", COLUMNS, summary(records, chosen.cells), NOTE)


if __name__ == "__main__":
    main()
