"""How the time and the events of the ReLU flow grow with the width m, the sample size n, the
dimension d and log(1/λ).

Gaussian inputs labelled by a teacher with six neurons; until converged, rtol 1e-6. Seconds omit the
run that estimates the error. Below: the slope of seconds and of gate changes in logarithms, by
least squares over the grid, with its standard error.
"""

from __future__ import annotations

from timing import arguments, best_of, exponent, table

BASE = {"m": 50, "n": 20, "d": 40, "decades": 10}
GRIDS = {
    "m": (25, 50, 100, 200),
    "n": (10, 20, 40),
    "d": (20, 40, 80, 160),
    "decades": (2, 5, 10, 20, 40, 80),
}


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import biasflow as bf

    def run(m, n, d, decades):
        data, model = bf.data.gaussian_teacher(n=n, d=d), bf.TwoLayer(m, d)
        flow = bf.gradient_flow(
            model,
            data,
            bf.SquareLoss("half-mean"),
            model.init(10.0**-decades / (m * d) ** 0.5),
            rtol=1e-6,
        )
        return flow.stats

    run(**{**BASE, "m": 5, "n": 5})
    rows, laws = [], []
    for name, values in GRIDS.items():
        grid = values[:2] if quick else values
        spent, changes = [], []
        for value in grid:
            seconds, stats = best_of(1, lambda s={**BASE, name: value}: run(**s))
            alone = seconds - stats["error_seconds"]
            spent.append(alone)
            changes.append(stats["events"])
            rows.append(
                [
                    name,
                    str(value),
                    f"{alone:.2f}",
                    str(stats["steps"]),
                    str(stats["events"]),
                    str(stats["early_events"]),
                ]
            )
        laws.append([name, exponent(grid, spent), exponent(grid, changes)])
    columns = ["grown", "to", "s", "steps", "gate changes", "of them early"]
    note = (
        f"The others at {', '.join(f'{k} = {v}' for k, v in BASE.items())}, λ = "
        "10^(−decades)/√(md)."
    )
    table("Growth of the event-driven flow", columns, rows, note)
    table("Exponents of growth", ["in", "of seconds", "of gate changes"], laws)


if __name__ == "__main__":
    main()
