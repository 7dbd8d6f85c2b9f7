"""How the cost of a dual flow until convergence grows with log(1/α), d and n."""

from __future__ import annotations

from timing import arguments, best_of, table


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import numpy as np

    import biasflow as bf

    def row(n, d, exponent):
        data = bf.data.sparse_regression(n=n, d=d, sparsity=5, noise_var=0.01, key=0)
        # saving every step at large d measures memory, not the flow
        times = None if d <= 1000 else np.array([1e6])
        potential = bf.potentials.Hypentropy(log_alpha=-exponent * np.log(10.0))
        seconds, flow = best_of(2, lambda: bf.mirror_flow(potential, data.X, data.y, times=times))
        return [
            str(n),
            str(d),
            f"1e-{exponent}",
            f"{seconds:.2f}",
            str(flow.stats["steps"]),
            f"{np.max(flow.error):.0e}",
        ]

    columns = ["n", "d", "α", "s", "steps", "error estimate"]
    exponents = (1, 3, 10, 30, 100) if quick else (1, 3, 10, 30, 100, 300, 1000)
    table("Dual flow until converged, against α", columns, [row(30, 200, e) for e in exponents])
    sizes = (
        [(30, 200), (30, 2000)]
        if quick
        else [(30, 200), (30, 2000), (30, 20_000), (100, 2000), (300, 2000)]
    )
    table(
        "Dual flow against d and n",
        columns,
        [row(n, d, 4) for n, d in sizes],
        "d > 1000: until t = 1e6, only the end saved",
    )


if __name__ == "__main__":
    main()
