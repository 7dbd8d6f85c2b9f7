"""How narrow brackets are: γ₁, least norms beyond listed patterns, distances after projection.

Standardised inputs: clusters (`bf.data.clusters`, three per axis), and, harder than data, normal
ones with random labels. A minute for each γ₁ and each least norm at most.
"""

from __future__ import annotations

import itertools
import time

from timing import arguments, table

TABLES = ("margins", "norms", "distances")
DIMS, QUICK_DIMS = (2, 3, 4, 5, 6, 8, 15, 30), (3, 5)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def problems(n, d):
    import numpy as np

    import biasflow as bf

    data = bf.data.clusters(n, d, 3, key=1)
    rng = np.random.default_rng(d)
    yield "clusters", standardised(data.X), data.y
    yield "noise", standardised(rng.standard_normal((n, d))), rng.choice([-1.0, 1.0], n)


def margin_table(quick, seconds, dims):
    import numpy as np

    import biasflow as bf

    rows, cases = [], []
    if 4 in dims:
        parity = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
        cases = [("parity", 16, 4, parity, parity.prod(axis=1))]
    for d in dims:
        if quick and d not in QUICK_DIMS:
            continue
        n = 40 if quick else 100
        cases += [(name, n, d, X, y) for name, X, y in problems(n, d)]
    if not cases:
        return
    for name, n, d, X, y in cases:
        began = time.monotonic()
        gap = 1e-6 if name == "parity" else 1e-3
        found = bf.limits.f1_max_margin(X, y, gap=gap, time_s=seconds)
        took, low, high = time.monotonic() - began, found.objective, found.certificate.dual
        how = found.stats["note"].rpartition("proven by ")[2] or found.stats["stopped"]
        rows.append([name, str(d), str(n), f"{low:.5f}", f"{high / low:.4f}", f"{took:.0f}", how])
    columns = ["data", "d", "n", "γ₁ ≥", "upper/lower", "s", "what proves it, or ended"]
    note = "A gap of 1e-3 is asked for, 1e-6 for the parity of the 4-cube."
    table(f"Brackets of γ₁ in {seconds:g} s", columns, rows, note)


def norm_table(quick, seconds):
    import numpy as np

    import biasflow as bf

    rows = []
    for n, d in ((24, 4),) if quick else ((40, 3), (40, 4), (40, 5), (20, 8)):
        rng = np.random.default_rng([n, d])
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        began = time.monotonic()
        found = bf.limits.min_norm_interpolator(X, y, time_s=seconds)
        took, proof = time.monotonic() - began, found.certificate
        ratio = f"{proof.primal / proof.dual:.5f}"
        rows.append([str(n), str(d), found.stats["method"], ratio, f"{took:.0f}"])
    table("Least norms, normal inputs and labels", ["n", "d", "method", "ratio", "s"], rows, "")


def distance_table(quick):
    import numpy as np

    import biasflow as bf

    rows = []
    for d in (2, 3, 4):
        for rank, n in itertools.product(range(1, d), (12,) if quick else (12, 24, 60)):
            cells = [str(d), str(rank), str(n)]
            rng = np.random.default_rng([n, d])
            noise = rng.standard_normal((n, d)), np.where(np.arange(n) % 2 == 0, 1, -1)
            data = bf.data.clusters(n, d, 3, key=1)
            for X, y in ((standardised(data.X), data.y), noise):
                began = time.monotonic()
                proof = bf.diagnostics.interclass_distance(X, y, rank).certificate
                cells += [f"{proof.dual / proof.primal:.4f}", f"{time.monotonic() - began:.1f}"]
            rows.append(cells)
    columns = ["d", "rank", "n", "clusters", "s", "noise", "s"]
    table("Distances between classes after projection: upper/lower", columns, rows, "")


def options(parser) -> None:
    parser.add_argument("--table", choices=TABLES, nargs="+", default=TABLES, help="which tables")
    parser.add_argument("--dims", type=int, nargs="+", default=DIMS, help="dimensions of margins")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each bracket")


def main() -> None:
    chosen = arguments(__doc__.splitlines()[0], options)
    quick, seconds = chosen.quick, 5.0 if chosen.quick else chosen.seconds
    if "margins" in chosen.table:
        margin_table(quick, seconds, chosen.dims)
    if "norms" in chosen.table:
        norm_table(quick, seconds)
    if "distances" in chosen.table:
        distance_table(quick)


if __name__ == "__main__":
    main()
