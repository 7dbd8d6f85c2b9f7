"""How well time limits are kept: every public function that takes time_s, on problems that take
longer, with 0.5, 1 and 3 seconds.

    python tests/search/time_limits.py [words of names …]

Prints rows and keeps them in time_limits.txt beside this file; rows that are there are not measured
again. Each function is called once on something small first, so that nothing is compiled or
imported on the clock. The clock is that of the wall, and the machine may be shared: what goes
beyond the limit counts by the share of a core that the call had, CPU seconds over wall seconds. A
row is late if that is more than a fifth of the limit, and more than a second.
"""

import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import biasflow as bf

TABLE = Path(__file__).with_suffix(".txt")
SECONDS = (0.5, 1.0, 3.0)
rng = np.random.default_rng(11)
normal = rng.standard_normal
SQUARE, MEAN = bf.SquareLoss("half"), bf.SquareLoss("half-mean")


def classes(n):
    return np.append([1.0, -1.0], rng.choice([-1.0, 1.0], n - 2))


def data(n, d):
    return bf.Dataset(normal((n, d)), normal(n))


def labelled(n, d):
    return bf.Dataset(normal((n, d)), classes(n))


def pair(samples):
    return samples.X, samples.y


def diagonal(n, d, depth=2, scale=1e-3):
    return bf.Problem(bf.DiagonalNetwork(depth), data(n, d), SQUARE, scale=scale)


def relu(n, d, m, loss=MEAN, of=data, scale=0.5):
    model = bf.TwoLayer(m, d)
    return bf.Problem(model, of(n, d), loss, model.init(scale, key=1))


def deep(n, *widths):
    model = bf.DeepNetwork(widths)
    return bf.Problem(model, data(n, widths[0]), MEAN, model.init(0.5, key=1))


def factors(size, seen):
    entries = np.unravel_index(rng.choice(size * size, seen, replace=False), (size, size))
    observed = bf.data.from_entries((size, size), *entries, normal(seen))
    model = bf.MatrixFactorisation((size, size), 2 * size)
    return bf.Problem(model, observed, SQUARE, model.init(1e-3, key=0))


def separable(n, d):
    X = normal((n, d))
    return bf.Problem(
        bf.DiagonalNetwork(2), (X, np.sign(X @ normal(d))), bf.ExponentialLoss(), scale=0.5
    )


def mirror(n, d):
    return bf.MirrorProblem(bf.potentials.Hypentropy(1e-8), normal((n, d)), normal(n))


def kernel(n, d=5):
    X = normal((n, d))
    return np.exp(-((X[:, None] - X) ** 2).sum(-1) / d)


def network(m, d):
    return normal(m), normal((m, d))


def flow(problem, **options):
    return partial(bf.gradient_flow, problem, throw=False, **options)


def compared(n, d):
    problem = diagonal(n, d, scale=0.1)
    return partial(bf.compare, bf.gradient_flow(problem, time_s=None), bf.limit(problem))


def fitted(name, n, d, y=None, **options):
    """Fitting is what takes time."""
    make, X, y = getattr(bf.estimators, name), normal((n, d)), normal(n) if y is None else y
    return lambda time_s: make(**options, time_s=time_s).fit(X, y)


def margin(n, d, norm, **options):
    return partial(bf.max_margin, labelled(n, d), norm=norm, **options)


def saddles(n, d, m):
    return partial(bf.flows.relu_saddle_path, data(n, d), bf.TwoLayer(m, d).init(1e-3, key=2))


def limits_and_certificates():
    """(name, size, a small call that loads the code, the call)."""
    f = bf.limits
    for n, d, m in ((300, 50, 1000), (100, 8, 50)):
        large = partial(bf.certify, network(m, d), *pair(labelled(n, d)))
        small = partial(bf.certify, network(9, 4), *pair(labelled(20, 4)))
        yield "certify", f"n {n}, d {d}, m {m}", small, large
    for n, d in ((100, 10), (200, 20), (400, 30), (400, 100), (2000, 20)):
        yield "f1_max_margin", f"n {n}, d {d}", margin(20, 4, "f1"), margin(n, d, "f1")
    yield "f2_max_margin", "n 1500, d 10", margin(20, 4, "f2"), margin(1500, 10, "f2")
    drawn = margin(20, 4, "f2", features=50), margin(800, 10, "f2", features=3000)
    yield "f2_max_margin, random features", "n 800, d 10, m 3000", *drawn
    kernels = (partial(f.kernel_max_margin, kernel(n), classes(n)) for n in (20, 1500))
    yield "kernel_max_margin", "n 1500", *kernels
    for n, d in ((2000, 500), (500, 3000)):
        yield "l2_max_margin", f"{n} × {d}", margin(9, 5, "l2"), margin(n, d, "l2")
    for n, d in ((400, 400), (2000, 2000), (100, 20000)):
        yield "l1_max_margin", f"{n} × {d}", margin(9, 5, "l1"), margin(n, d, "l1")
    for weights in (None, np.full(300, 1 / 300)):
        small = partial(f.margin_certificate, network(9, 5), *pair(labelled(20, 4)))
        large = partial(f.margin_certificate, network(500, 31), *pair(labelled(300, 30)))
        name = "margin_certificate" + ("" if weights is None else ", weights given")
        yield name, "n 300, d 30, m 500", small, partial(large, weights=weights)
    for n, d in ((60, 10), (400, 2), (200, 100), (30, 4), (80, 3)):
        small, large = (partial(bf.min_norm, data(*size), norm="relu") for size in ((9, d), (n, d)))
        yield "min_norm_interpolator", f"n {n}, d {d}", small, large
    lines = (partial(f.line_interpolants, normal(n), normal(n)) for n in (9, 300))
    yield "line_interpolants", "n 300", *lines
    for depth, n, d in ((2, 200, 20000), (4, 300, 3000)):
        ends = (partial(bf.limit, diagonal(*size, depth)) for size in ((9, 20), (n, d)))
        yield f"limit, depth {depth}", f"n {n}, d {d}", *ends
    for norm in ("l1", "linf"):
        norms = (
            partial(bf.diagnostics.inverse_norm, normal(s), norm) for s in ((5, 9), (100, 400))
        )
        yield f"inverse_norm, {norm}", "100 × 400", *norms
    for small, large in (
        (bf.TwoLayer(3, 2), bf.TwoLayer(60, 30)),
        (bf.DeepNetwork((2, 2, 1)), bf.DeepNetwork((6, 12, 12, 1))),
        (bf.MatrixFactorisation((2, 2), 2), bf.MatrixFactorisation((12, 12), 12)),
    ):
        laws = (partial(bf.conservation_laws, model) for model in (small, large))
        yield "conservation_laws", repr(large)[:36], *laws


def flows_and_trainings():
    few, ended = relu(5, 3, 4), {"t1": 0.1}
    classifier = relu(5, 3, 4, bf.LogisticLoss(), labelled)
    for n, d, m, loss, scale in (
        (300, 100, 500, MEAN, 0.5),
        (5000, 5, 50, MEAN, 0.5),
        (8, 2, 60, SQUARE, 1e-3),
    ):
        large = relu(n, d, m, loss, scale=scale)
        yield "gradient_flow, events", f"n {n}, d {d}, m {m}", flow(few, **ended), flow(large)
    wide = relu(100, 10, 2000, bf.LogisticLoss(), labelled)
    size = "n 100, d 10, m 2000"
    yield "gradient_flow, margin", size, flow(classifier, **ended), flow(wide, log_norm=20.0)
    for name, depth, n, d in (
        ("dual", 2, 200, 20000),
        ("compiled", 2, 200, 5000),
        ("dual", 4, 100, 2000),
        ("weights", 2, 200, 3000),
    ):
        both = (flow(diagonal(*size, depth), method=name) for size in ((9, 20), (n, d)))
        yield f"gradient_flow, {name}, depth {depth}", f"n {n}, d {d}", *both
    yield (
        "gradient_flow, deep",
        "n 50, 5-10-10-1",
        flow(deep(5, 3, 4, 4, 1), **ended),
        flow(deep(50, 5, 10, 10, 1)),
    )
    yield (
        "gradient_flow, factored",
        "60 × 60",
        flow(factors(4, 8), **ended),
        flow(factors(60, 1000)),
    )
    small, large = separable(5, 3), separable(200, 300)
    yield (
        "gradient_flow, separable",
        "n 200, d 300",
        flow(small, log_norm=20.0),
        flow(large, log_norm=600.0),
    )
    paths = (partial(bf.flows.direction_path, p, end) for p, end in ((small, 30.0), (large, 1e6)))
    yield "direction_path", "n 200, d 300", *paths
    mirrors = (
        partial(bf.mirror_flow, mirror(*size), throw=False) for size in ((5, 9), (200, 3000))
    )
    yield "mirror_flow", "n 200, d 3000", *mirrors
    yield "relu_saddle_path", "n 40, d 40, m 200", saddles(3, 3, 5), saddles(40, 40, 200)
    bounds = bf.diagnostics.convergence_bounds
    both = (partial(bounds, diagonal(*size, scale=1e-6)) for size in ((9, 20), (100, 3000)))
    yield "convergence_bounds", "n 100, d 3000", *both
    small, big, three = (
        partial(bf.train, few, steps=10, step=1e-3),
        relu(20, 5, 100000),
        diagonal(3, 5),
    )
    yield (
        "train, ReLU",
        "n 20, d 5, m 100000",
        small,
        partial(bf.train, big, steps=10**9, step=1e-9),
    )
    big, steps = relu(1000, 50, 5000), {"steps": 10**9, "step": 1e-9}
    yield "train, ReLU", "n 1000, d 50, m 5000", small, partial(bf.train, big, **steps)
    big = relu(1000, 50, 5000, bf.LogisticLoss(), labelled)
    yield "train, logistic", "n 1000, d 50, m 5000", small, partial(bf.train, big, **steps)
    big = relu(1000, 50, 5000, bf.SmoothMargin(), labelled)
    yield "train, smooth margin", "n 1000, d 50, m 5000", small, partial(bf.train, big, steps=10**9)
    yield "train, diagonal", "n 3, d 5", small, partial(bf.train, three, **steps)
    every = partial(bf.train, three, steps=10**7, step=1e-9, records=range(10**7))
    yield "train, every step recorded", "n 3, d 5, 10 million steps", small, every
    net = deep(50, 5, 100, 100, 1)
    jax = [partial(bf.train, net, steps=k, step=1e-3, engine="jax") for k in (10, 10**8)]
    yield "train, JAX", "n 50, 5-100-100-1", *jax


def estimators_and_claims():
    for name, options in (
        ("GradientFlowRegressor", {}),
        ("GradientFlowRegressor", {"t": 1e6, "scale": 1e-3}),
        ("AveragedFlowRegressor", {}),
        ("MinNormReLURegressor", {}),
    ):
        fits = (fitted(name, *size, **options) for size in ((9, 3), (400, 300)))
        yield name, f"n 400, d 300{', t 1e6' * bool(options)}", *fits
    for norm in ("f1", "f2", "l1", "l2", "arc_cosine"):
        name = "MaxMarginClassifier"
        fits = (fitted(name, n, d, np.arange(n) % 3, norm=norm) for n, d in ((30, 3), (900, 40)))
        yield f"{name}, {norm}", "n 900, d 40, 3 classes", *fits
    yield "compare", "n 60, d 300", compared(5, 9), compared(60, 300)
    small, large = diagonal(5, 9, scale=0.1), diagonal(100, 2000)
    yield (
        "explain",
        "W/thm1, n 100, d 2000",
        *(partial(bf.theory.explain, "W/thm1", p) for p in (small, large)),
    )
    yield (
        "falsify",
        "W/thm1",
        *(partial(bf.theory.falsify, "W/thm1", problems=k) for k in (1, 10**5)),
    )
    for claim in ("W/thm2", "R/thm2.7", "R/eq2"):
        verdicts = (partial(bf.verify, claim, p) for p in (small, large))
        yield f"verify, {claim}", "n 100, d 2000", *verdicts


def cases():
    yield from limits_and_certificates()
    yield from flows_and_trainings()
    yield from estimators_and_claims()


def measured(call, time_s):
    """Wall and CPU seconds, and what came out."""
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = call(time_s=time_s)
        result = getattr(found, "result", None) or getattr(found, "certificate", None)
        end = getattr(result, "name", None) or getattr(result, "kind", None) or ""
    except bf.errors.BiasflowError as error:
        end = type(error).__name__
    return time.perf_counter() - wall, time.process_time() - cpu, end


def beyond(wall, cpu, time_s):
    """Seconds beyond the limit, of a core of its own."""
    return max(wall - time_s, 0.0) * min(cpu / wall, 1.0)


def main(words):
    warnings.simplefilter("ignore")
    known = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    for name, size, small, large in cases():
        heads = [f"{name:32}  {size:28}  {time_s:4g} " for time_s in SECONDS]
        left = [head for head in heads if not any(row.startswith(head) for row in known)]
        if not left or (words and not any(word in name for word in words)):
            continue
        measured(small, 30.0)
        measured(large, 0.05)
        for head, time_s in zip(heads, SECONDS, strict=True):
            if head not in left:
                continue
            wall, cpu, end = measured(large, time_s)
            over = beyond(wall, cpu, time_s)
            late = "LATE" if over > max(0.2 * time_s, 1.0) else ""
            row = f"{head} {wall:6.2f} {cpu:6.2f} {over:6.2f}  {late:4}  {end}".rstrip()
            print(row, flush=True)
            with TABLE.open("a", encoding="utf-8") as table:
                table.write(row + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
