"""How the cost of a Bregman projection grows with d, n and log(1/α), and the memory it takes beside
X."""

from __future__ import annotations

import tracemalloc

from timing import arguments, best_of, exponent, table


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import numpy as np

    import biasflow as bf

    def problem(n, d):
        return bf.data.sparse_regression(n=n, d=d, sparsity=5, noise_var=0.01, key=0)

    def measure(data, potential):
        runs = 1 if data.X.size > 2e6 else 5
        seconds, limit = best_of(runs, lambda: bf.bregman_projection(potential, data.X, data.y))
        return seconds, limit

    def peak(data, potential):
        tracemalloc.start()
        bf.bregman_projection(potential, data.X, data.y)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / data.X.nbytes

    def growth(title, name, cases, scale):
        rows, sizes, seconds_of = [], [], {alpha: [] for alpha in scale}
        for n, d in cases:
            data = problem(n, d)
            cells = [str(n), str(d)]
            for alpha in scale:
                seconds, limit = measure(data, bf.potentials.Hypentropy(alpha))
                seconds_of[alpha].append(seconds)
                cells += [
                    f"{1e3 * seconds:.0f}",
                    str(limit.stats["iterations"]),
                    f"{limit.certificate.residual:.0e}",
                ]
            rows.append([*cells, f"{peak(data, bf.potentials.Hypentropy(scale[-1])):.1f}"])
            sizes.append(d if name == "d" else n)
        columns = ["n", "d"]
        for alpha in scale:
            columns += [f"ms, α={alpha:g}", "iterations", "residual"]
        exponents = [exponent(sizes, seconds_of[alpha]) for alpha in scale]
        last = [np.log(s[-1] / s[-2]) / np.log(sizes[-1] / sizes[-2]) for s in seconds_of.values()]
        fitted = ", ".join(
            f"{name}^({e}; last two: {e2:.2f}) at α={a:g}"
            for e, e2, a in zip(exponents, last, scale, strict=True)
        )
        table(title, [*columns, "peak memory / X"], rows, f"time grows like {fitted}")

    scale = (1e-3, 1e-10)
    widths = (1000, 3000, 10_000) if quick else (1000, 3000, 10_000, 30_000, 100_000)
    samples = (30, 100, 300) if quick else (30, 100, 300, 1000)
    growth("Projection time against d, n = 100", "d", [(100, d) for d in widths], scale)
    growth("Projection time against n, d = 5000", "n", [(n, 5000) for n in samples], scale)

    data, rows, spent = problem(100, 1000), [], []
    decades = (0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
    for decade in decades:
        seconds, limit = measure(data, bf.potentials.Hypentropy(log_alpha=-decade * np.log(10.0)))
        spent.append(seconds)
        rows.append(
            [
                f"1e-{decade}",
                f"{1e3 * seconds:.1f}",
                str(limit.stats["iterations"]),
                f"{limit.certificate.residual:.0e}",
            ]
        )
    table(
        "Projection time against α, n = 100, d = 1000",
        ["α", "ms", "iterations", "residual"],
        rows,
        f"time grows like log(1/α)^({exponent(decades[1:], spent[1:])}) from α = 0.1 on",
    )


if __name__ == "__main__":
    main()
