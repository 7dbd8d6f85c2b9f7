"""How the time and the steps of the margin flow grow with the width m, the samples n, the dimension
d, the norm and the start.

ReLU networks on clusters (k = 4), exponential loss in C's clock, rtol 1e-3. Seconds omit the run
that estimates the error. Below: the slope of seconds in logarithms, by least squares over the grid,
with its standard error.
"""

from __future__ import annotations

from timing import arguments, best_of, exponent, table

BASE = {"m": 100, "n": 40, "d": 2, "log_norm": 30, "decades": 0}
GRIDS = {
    "m": (50, 100, 200, 400),
    "n": (20, 40, 80, 160),
    "d": (2, 5, 10),
    "log_norm": (10, 30, 100),
    "decades": (-2, 0, 2, 8),
}


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import biasflow as bf

    def run(m, n, d, log_norm, decades):
        data = bf.data.with_bias(bf.data.clusters(n, d, 4, key=0))
        model = bf.TwoLayer(m, data.d)
        start = model.init(10.0**-decades / m**0.5)
        return bf.gradient_flow(model, data, bf.SmoothMargin(), start, rtol=1e-3, log_norm=log_norm)

    run(**{**BASE, "m": 20, "n": 10, "log_norm": 5})
    rows, laws = [], []
    for name, values in GRIDS.items():
        grid, spent, counts = values[:2] if quick else values, [], []
        for value in grid:
            seconds, flow = best_of(1, lambda s={**BASE, name: value}: run(**s))
            stats = flow.stats
            alone = seconds - stats["error_seconds"]
            spent.append(alone)
            counts.append(stats["steps"] + stats["rejected"])
            steps = f"{stats['steps']} + {stats['rejected']}"
            rows.append(
                [
                    name,
                    str(value),
                    f"{alone:.2f}",
                    steps,
                    f"{stats['margin'][-1]:.5f}",
                    f"{stats['margin_error'][-1]:.0e}",
                ]
            )
        if name != "decades":  # those go through zero
            laws.append([name, exponent(grid, spent), exponent(grid, counts)])
    columns = ["grown", "to", "s", "steps + rejected", "margin", "its error"]
    note = f"The others at {', '.join(f'{k} = {v}' for k, v in BASE.items())}, σ = 10^(−decades)."
    table("Growth of the margin flow", columns, rows, note)
    table("Exponents of growth", ["in", "of seconds", "of steps"], laws)


if __name__ == "__main__":
    main()
