"""How the cost of a dual flow grows with log(1/α) until it converges, and with d and n."""

from __future__ import annotations

from timing import arguments, best_of, exponent, table


def main() -> None:
    quick = arguments(__doc__.splitlines()[0]).quick
    import numpy as np

    import biasflow as bf

    def measured(n, d, digits, times=None, method="dual"):
        data = bf.data.sparse_regression(n=n, d=d, sparsity=5, noise_var=0.01, key=0)
        potential = bf.potentials.Hypentropy(log_alpha=-digits * np.log(10.0))

        def flow():
            return bf.mirror_flow(potential, data.X, data.y, times=times, method=method)

        if method == "compiled":
            flow()  # compiles
        seconds, found = best_of(2, flow)
        cells = [str(n), str(d), f"1e-{digits}", f"{seconds:.3f}", str(found.stats["steps"])]
        return seconds, found.stats["steps"], [*cells, f"{np.max(found.error):.0e}"]

    columns = ["n", "d", "α", "s", "steps", "error estimate"]
    exponents = (1, 3, 10, 30, 100) if quick else (1, 3, 10, 30, 100, 300, 1000)
    found = [measured(30, 200, e) for e in exponents]
    grows = exponent(exponents, [seconds for seconds, _, _ in found])
    title, note = "Dual flow until converged, against α", f"time grows like log(1/α)^({grows})"
    table(title, columns, [row for _, _, row in found], note)
    last = np.array([1e6])
    for method in ("dual", "compiled"):
        for name, sizes in (
            ("d", [(30, d) for d in ((200, 2000) if quick else (200, 2000, 20_000))]),
            ("n", [(n, 2000) for n in ((10, 30) if quick else (10, 30, 100, 300))]),
        ):
            found = [measured(n, d, 4, last, method) for n, d in sizes]
            grown = [d if name == "d" else n for n, d in sizes]
            whole = exponent(grown, [seconds for seconds, _, _ in found])
            step = exponent(grown, [seconds / steps for seconds, steps, _ in found])
            note = f"time grows like {name}^({whole}), that of a step like {name}^({step})"
            title = f"Flow by {method!r} until t = 1e6, only its end saved, against {name}"
            table(title, columns, [row for _, _, row in found], note)


if __name__ == "__main__":
    main()
