"""What is fuzzed: a call that works for every public function and model, and what each of its arguments is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import biasflow as bf

MATRIX, VECTOR, LABELS = "matrix", "vector", "labels"
SCALE, NUMBER, COUNT, WORK, CHOICE, TIMES, TOLERANCE = "scale", "number", "count", "work", "choice", "times", "tolerance"
OBJECT, PARAMS, INDICES, SHAPE, LIST = "object", "params", "indices", "shape", "list"
ARRAYS = (MATRIX, VECTOR, LABELS)


@dataclass(frozen=True)
class Entry:
    """A call of something public.

    covers: the public names that it stands for; kinds: of the arguments that are mutated; degree: by which power of an argument's
    scale the result's `objective` (or the result itself, a number) grows, where that is a law; finite: whether every number in
    the result is finite whenever there is a result; residual: of a result, from the arguments, relative to the labels; descends:
    a gradient flow, whose loss never grows.
    """

    covers: tuple[str, ...]
    call: Callable[..., Any]
    arguments: Mapping[str, Any]
    kinds: Mapping[str, str]
    degree: Mapping[str, float] = field(default_factory=dict)
    finite: bool = True
    residual: Callable[[Any, Mapping[str, Any]], float] | None = None
    descends: bool = False


def draw(*shape: int, seed: int = 0) -> np.ndarray:
    return np.round(np.random.default_rng(seed).standard_normal(shape), 2)


def shallow(weights: Any, X: Any) -> Any:
    import jax.numpy as jnp

    return jnp.tanh(X @ weights["W"]) @ weights["a"]


def misfit(result: Any, given: Mapping[str, Any]) -> float:
    """‖Xβ − y‖ over ‖y‖, scaled so that nothing overflows."""
    X, y = np.asarray(given["X"], dtype=np.longdouble), np.asarray(given["y"], dtype=np.longdouble)
    left = X @ np.asarray(result.value, dtype=np.longdouble) - y
    size = np.max(np.abs(y))
    return float(np.max(np.abs(left)) / size) if size > 0 else float(np.max(np.abs(left)) > 0)


def split_misfit(result: Any, given: Mapping[str, Any]) -> float:
    """The same for a two-layer ReLU network."""
    X, y = np.asarray(given["X"], dtype=np.longdouble), np.asarray(given["y"], dtype=np.longdouble)
    a, W = (np.asarray(leaf, dtype=np.longdouble) for leaf in result.value)
    size = np.max(np.abs(y))
    return float(np.max(np.abs(np.maximum(X @ W.T, 0) @ a - y)) / size) if size > 0 else 0.0


@functools.cache
def entries() -> dict[str, Entry]:
    """By name, in the order of `biasflow.__all__`, more or less."""
    X, y = draw(4, 6), draw(4, seed=1)
    planar, classes = draw(6, 3, seed=2), np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    planar[:, 0] = classes * (np.abs(planar[:, 0]) + 0.2)
    small, target = draw(3, 3, seed=3), draw(3, seed=4)
    signed_rows = planar * classes[:, None]
    half, mean = bf.SquareLoss("half"), bf.SquareLoss("half-mean")
    diagonal, deeper, product = bf.DiagonalNetwork(2), bf.DiagonalNetwork(3), bf.ProductNetwork()
    two = bf.TwoLayer(5, 3)
    start = two.init(0.5, key=1)
    tiny = bf.TwoLayerParams(1e-3 * start.a, 1e-3 * start.W)
    signed = bf.SignedTwoLayer(6, 3)
    deep = bf.DeepNetwork((3, 4, 1))
    fixed, fixed_start = bf.random_network(8, 3, 0.5, key=1)
    factors = bf.MatrixFactorisation((3, 3), 6)
    rows, columns, values = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 0.5, -1.0])
    weights = {"W": draw(3, 4, seed=5), "a": draw(4, seed=6)}
    moved = {"W": weights["W"] + 0.1, "a": weights["a"] - 0.1}
    particles = bf.f1_max_margin(planar, classes, time_s=5.0).value
    X_y, X_labels = {"X": MATRIX, "y": VECTOR}, {"X": MATRIX, "y": LABELS}
    flow_kinds = {"t1": NUMBER, "rtol": TOLERANCE, "times": TIMES}

    def flow(model: Any, loss: Any, params0: Any, X: Any, y: Any, **options: Any) -> Any:
        return bf.gradient_flow(model, bf.Dataset(X, y), loss, params0, **options)

    def flow_entry(model: Any, loss: Any, params0: Any, X: Any, y: Any, labels: str = VECTOR, **options: Any) -> Entry:
        names = ("gradient_flow", "Dataset", type(model).__name__, type(params0).__name__, type(loss).__name__)
        kinds = {"X": MATRIX, "y": labels, **flow_kinds, "params0": PARAMS, "loss": OBJECT, "method": CHOICE}
        base = {"model": model, "loss": loss, "params0": params0, "X": X, "y": y, **options}
        return Entry(names, flow, base, kinds, descends=True)

    margin, logistic = bf.SmoothMargin(), bf.LogisticLoss()
    flows = {
        "flow diagonal": flow_entry(diagonal, half, diagonal.init(0.1, dim=6), X, y),
        "flow diagonal compiled": flow_entry(diagonal, half, diagonal.init(0.1, dim=6), X, y, method="compiled"),
        "flow diagonal weights": flow_entry(diagonal, half, diagonal.init(0.1, dim=6), X, y, method="weights", t1=5.0),
        "flow depth 3": flow_entry(deeper, half, deeper.init(0.3, dim=6), X, y),
        "flow product": flow_entry(product, half, bf.ProductParams(np.full(6, 0.3), np.full(6, 0.2)), X, y),
        "flow relu": flow_entry(two, mean, start, small, target),
        "flow margin": flow_entry(two, margin, start, planar, classes, LABELS, t1=2.0),
        "flow signed logistic": flow_entry(signed, logistic, signed.init(0.5, key=1), planar, classes, LABELS, log_norm=3.0),
        "flow exponential": flow_entry(two, bf.ExponentialLoss(), start, planar, classes, LABELS, log_norm=3.0),
        "flow deep": flow_entry(deep, mean, deep.init(0.7, key=1), small, target, t1=1.0),
        "flow fixed directions": flow_entry(fixed, half, fixed_start, small, target, t1=3.0),
        "flow factorisation": Entry(
            ("gradient_flow", "MatrixFactorisation", "FactorParams"),
            lambda rows, cols, values, params0, **options: bf.gradient_flow(
                factors, bf.data.from_entries((3, 3), rows, cols, values), half, params0, **options
            ),
            {"rows": rows, "cols": columns, "values": values, "params0": factors.init(0.5)},
            {"rows": INDICES, "cols": INDICES, "values": VECTOR, **flow_kinds},
            descends=True,
        ),
        "mirror_flow": Entry(
            ("mirror_flow", "Hypentropy"),
            lambda alpha, **rest: bf.mirror_flow(bf.Hypentropy(alpha), **rest),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, **flow_kinds, "beta0": VECTOR, "method": CHOICE},
            descends=True,
        ),
        "early_alignment": Entry(
            ("early_alignment", "Alignment"),
            lambda X, y, a, W: bf.early_alignment(bf.Dataset(X, y), bf.TwoLayerParams(a, W)),
            {"X": small, "y": target, "a": tiny.a, "W": tiny.W},
            {**X_y, "a": VECTOR, "W": MATRIX},
            finite=False,
        ),
        "saddle_path": Entry(("saddle_path",), bf.saddle_path, {"X": X, "y": y}, X_y),
        "saddle_limit": Entry(
            ("saddle_limit",),
            lambda X, y, a, W: bf.saddle_limit(bf.Dataset(X, y), bf.TwoLayerParams(a, W)),
            {"X": np.eye(3), "y": np.array([1.0, -0.7, 0.4]), "a": tiny.a, "W": tiny.W},
            {**X_y, "a": VECTOR, "W": MATRIX},
        ),
        "gradient_descent": Entry(
            ("gradient_descent",),
            lambda X, y, **rest: bf.gradient_descent(diagonal, bf.Dataset(X, y), half, **rest),
            {"X": X, "y": y, "params0": diagonal.init(0.3, dim=6), "stepsize": 0.01, "steps": 100},
            {**X_y, "params0": PARAMS, "stepsize": NUMBER, "steps": WORK, "batch": COUNT, "key": COUNT},
        ),
        "effective_limit": Entry(
            ("effective_limit",),
            lambda X, y, stepsize, steps: bf.effective_limit(
                diagonal, bf.Dataset(X, y), half, diagonal.init(0.5, dim=6), stepsize, steps
            ),
            {"X": X, "y": y, "stepsize": 0.01, "steps": 3000},
            {**X_y, "stepsize": NUMBER, "steps": WORK},
        ),
        "train_batch": Entry(
            ("train_batch", "TrainedBatch", "TrainedRun"),
            lambda X, y, **rest: bf.train_batch(two, bf.Dataset(X, y), mean, **rest),
            {"X": small, "y": target, "starts": [start], "stepsizes": [0.1], "steps": 50},
            {**X_y, "starts": LIST, "stepsizes": VECTOR, "steps": WORK, "threshold": NUMBER, "batch": COUNT, "dtype": CHOICE},
        ),
        "margin_ascent": Entry(
            ("margin_ascent", "InverseRootStep", "TwoLayerParams"),
            lambda X, y, a, W, steps, size=0.5, **rest: bf.margin_ascent(
                bf.Dataset(X, y), bf.TwoLayerParams(a, W), steps, bf.InverseRootStep(size), **rest
            ),
            {"X": planar, "y": classes, "a": start.a, "W": start.W, "steps": 50},
            {**X_labels, "a": VECTOR, "W": MATRIX, "steps": WORK, "size": NUMBER, "training": CHOICE, "dtype": CHOICE},
        ),
        "margin_ascents": Entry(
            ("margin_ascents", "ConstantStep"),
            lambda X, y, steps, size=0.1, **rest: bf.margin_ascents(
                [(bf.Dataset(X, y), start)] * 2, steps, bf.ConstantStep(size), **rest
            ),
            {"X": planar, "y": classes, "steps": 50},
            {**X_labels, "steps": WORK, "size": NUMBER, "loss": CHOICE, "activation": CHOICE, "method": CHOICE},
        ),
        "feature_ascent": Entry(
            ("feature_ascent", "FeatureAscent"),
            bf.feature_ascent,
            {"Z": signed_rows, "steps": 50},
            {"Z": MATRIX, "steps": WORK, "training": CHOICE, "start": SCALE, "loss": CHOICE, "keep": INDICES},
        ),
    }
    limits = {
        "limit diagonal": Entry(
            ("limit", "DiagonalNetwork"),
            lambda X, y, scale: bf.limit(diagonal, bf.Dataset(X, y), scale=scale),
            {"X": X, "y": y, "scale": 0.1},
            {**X_y, "scale": SCALE},
            residual=misfit,
        ),
        "limit depth 3": Entry(
            ("limit", "DepthPotential"),
            lambda X, y, scale: bf.limit(deeper, bf.Dataset(X, y), scale=scale),
            {"X": X, "y": y, "scale": 0.1},
            {**X_y, "scale": SCALE},
            residual=misfit,
        ),
        "limit fixed directions": Entry(
            ("limit", "FixedDirections", "FixedDirectionsParams", "random_network"),
            lambda X, y, scale: bf.limit(fixed, bf.Dataset(X, y), scale=scale),
            {"X": small, "y": target, "scale": 0.3},
            {**X_y, "scale": SCALE},
        ),
        "bregman_projection": Entry(
            ("bregman_projection", "Hypentropy"),
            lambda alpha, X, y, beta0=None: bf.bregman_projection(bf.Hypentropy(alpha), X, y, beta0),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "beta0": VECTOR},
            residual=misfit,
        ),
        "projection below floats": Entry(
            ("bregman_projection",),
            lambda log_alpha, X, y: bf.bregman_projection(bf.Hypentropy(log_alpha=log_alpha), X, y),
            {"log_alpha": -800.0, "X": X, "y": y},
            {"log_alpha": NUMBER, **X_y},
            residual=misfit,
        ),
        "projection by entropy": Entry(
            ("bregman_projection", "Entropy"),
            lambda X, y, beta0=None: bf.bregman_projection(bf.Entropy(), X, y, beta0),
            {"X": np.abs(X), "y": np.abs(X) @ np.ones(6)},
            {**X_y, "beta0": VECTOR},
            residual=misfit,
        ),
        "projection of depth": Entry(
            ("bregman_projection", "DepthPotential", "ScaledPotential"),
            lambda X, y, depth, scale, factor: bf.bregman_projection(
                bf.ScaledPotential(factor, bf.DepthPotential(depth, scale)), X, y
            ),
            {"X": X, "y": y, "depth": 3, "scale": 0.1, "factor": 2.0},
            {**X_y, "depth": COUNT, "scale": SCALE, "factor": SCALE},
            residual=misfit,
        ),
        "mirror_limit": Entry(
            ("mirror_limit",),
            lambda alpha, X, y, beta0=None: bf.mirror_limit(bf.Hypentropy(alpha), X, y, beta0),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "beta0": VECTOR},
        ),
        "min_l1": Entry(("min_l1",), bf.min_l1, {"X": X, "y": y}, X_y, {"X": -1, "y": 1}, residual=misfit),
        "min_l2": Entry(("min_l2",), bf.min_l2, {"X": X, "y": y}, X_y, {"X": -1, "y": 1}, residual=misfit),
        "kernel_interpolator": Entry(
            ("kernel_interpolator",),
            bf.kernel_interpolator,
            {"K": X @ X.T, "y": y},
            {"K": MATRIX, "y": VECTOR},
            {"K": -0.5, "y": 1},
        ),
        "min_nuclear_norm": Entry(
            ("min_nuclear_norm",),
            bf.min_nuclear_norm,
            {"shape": (3, 3), "rows": rows, "cols": columns, "values": values},
            {"shape": SHAPE, "rows": INDICES, "cols": INDICES, "values": VECTOR},
            {"values": 1},
        ),
        "min_frobenius_norm": Entry(
            ("min_frobenius_norm",),
            bf.min_frobenius_norm,
            {"shape": (3, 3), "rows": rows, "cols": columns, "values": values},
            {"shape": SHAPE, "rows": INDICES, "cols": INDICES, "values": VECTOR},
            {"values": 1},
        ),
        "min_norm_interpolator": Entry(
            ("min_norm_interpolator",),
            bf.min_norm_interpolator,
            {"X": small, "y": target, "time_s": 5.0},
            {**X_y, "gap": TOLERANCE, "time_s": NUMBER, "key": COUNT},
            {"X": -1, "y": 1},
            residual=split_misfit,
        ),
        "f1_max_margin": Entry(
            ("f1_max_margin", "Particles"),
            bf.f1_max_margin,
            {"X": planar, "y": classes, "time_s": 5.0},
            {**X_labels, "gap": TOLERANCE, "time_s": NUMBER, "key": COUNT},
        ),
        "f2_max_margin": Entry(
            ("f2_max_margin", "KernelClassifier", "FeatureClassifier"),
            bf.f2_max_margin,
            {"X": planar, "y": classes},
            {**X_labels, "activation": CHOICE, "features": COUNT},
        ),
        "kernel_max_margin": Entry(
            ("kernel_max_margin",),
            bf.kernel_max_margin,
            {"K": planar @ planar.T + 1, "y": classes},
            {"K": MATRIX, "y": LABELS},
            {"K": 0.5},
        ),
        "l1_max_margin": Entry(("l1_max_margin",), bf.l1_max_margin, {"Z": signed_rows}, {"Z": MATRIX}, {"Z": 1}),
        "l2_max_margin": Entry(("l2_max_margin",), bf.l2_max_margin, {"Z": signed_rows}, {"Z": MATRIX}, {"Z": 1}),
        "margin_certificate": Entry(
            ("margin_certificate", "MarginCertificate"),
            bf.margin_certificate,
            {"network": particles, "X": planar, "y": classes, "time_s": 5.0},
            {**X_labels, "network": OBJECT, "weights": VECTOR, "gap": TOLERANCE},
        ),
        "polish": Entry(
            ("polish", "as_particles"),
            bf.polish,
            {"network": particles, "X": planar, "y": classes},
            {**X_labels, "network": OBJECT},
        ),
        "arc_cosine_kernel": Entry(
            ("arc_cosine_kernel",), bf.arc_cosine_kernel, {"X": planar}, {"X": MATRIX, "other": MATRIX, "activation": CHOICE}
        ),
        "kkt_point": Entry(
            ("kkt_point", "kkt_residual", "KktPoint"),
            lambda X, y, a, W, kink=1e-10: bf.kkt_point(bf.TwoLayerParams(a, W), bf.Dataset(X, y), kink),
            {"X": small, "y": target, "a": start.a, "W": start.W},
            {**X_y, "a": VECTOR, "W": MATRIX, "kink": TOLERANCE},
        ),
        "variation_norm": Entry(
            ("variation_norm",),
            lambda a, W: bf.variation_norm(bf.TwoLayerParams(a, W)),
            {"a": start.a, "W": start.W},
            {"a": VECTOR, "W": MATRIX},
            {"a": 1, "W": 1},
        ),
        "tangent_kernel_limit": Entry(
            ("tangent_kernel_limit",),
            lambda X, y: bf.tangent_kernel_limit(two, bf.Dataset(X, y), start),
            {"X": small, "y": target},
            X_y,
        ),
        "tangent_kernel": Entry(
            ("tangent_kernel",),
            bf.tangent_kernel,
            {"fn": shallow, "params": weights, "X": small},
            {"X": MATRIX, "other": MATRIX, "output": COUNT, "memory": NUMBER, "fn": OBJECT, "params": OBJECT},
        ),
        "tangent_interpolator": Entry(
            ("tangent_interpolator", "TangentPredictor"),
            bf.tangent_interpolator,
            {"fn": shallow, "params0": weights, "X": small, "y": target},
            {**X_y, "fn": OBJECT, "params0": OBJECT},
        ),
        "tangent_max_margin": Entry(
            ("tangent_max_margin",),
            bf.tangent_max_margin,
            {"fn": shallow, "params0": weights, "X": planar[:4], "y": classes[:4]},
            {**X_labels, "fn": OBJECT},
        ),
        "linearised_flow": Entry(
            ("linearised_flow", "LinearisedFlow"),
            lambda **given: bf.linearised_flow(**given).predictions(1.0),
            {"fn": shallow, "params0": weights, "X": small, "y": target},
            {**X_y, "params0": OBJECT, "loss": OBJECT},
        ),
        "homogeneity": Entry(
            ("homogeneity", "Homogeneity"),
            bf.homogeneity,
            {"fn": two, "params": start, "X": small},
            {"X": MATRIX, "params": OBJECT, "fn": OBJECT},
            finite=False,
        ),
        "margin_kkt": Entry(
            ("margin_kkt", "MarginKkt"),
            bf.margin_kkt,
            {
                "fn": two,
                "params": bf.TwoLayerParams(np.ones(5), np.c_[np.ones(5), draw(5, 2, seed=12) / 4]),
                "X": np.abs(small),
                "y": np.ones(3),
            },
            X_labels,
        ),
        "smoothed_margin": Entry(
            ("smoothed_margin", "SmoothedMargin"),
            bf.smoothed_margin,
            {"fn": two, "checkpoints": [start, start], "X": planar, "y": classes},
            {**X_labels, "loss": CHOICE, "checkpoints": LIST},
            finite=False,
        ),
    }
    return {**flows, **limits, **_diagnostics(X, y, planar, classes, small, target, weights, moved, start), **_rest(X, y, start)}


def _diagnostics(
    X: Any, y: Any, planar: Any, classes: Any, small: Any, target: Any, weights: Any, moved: Any, start: Any
) -> dict:
    X_y, X_labels = {"X": MATRIX, "y": VECTOR}, {"X": MATRIX, "y": LABELS}
    two = bf.TwoLayer(5, 3)

    @functools.cache
    def known_flow() -> Any:
        return bf.mirror_flow(bf.Hypentropy(0.1), X, y)

    return {
        "probe": Entry(
            ("probe", "Probe", "Estimate"),
            lambda X, y=None, **rest: bf.probe(shallow, [weights, moved], X, y, **rest),
            {"X": draw(6, 3, seed=7), "y": draw(6, seed=8)},
            {**X_y, "times": TIMES, "seeds": WORK},
            finite=False,
        ),
        "kernel_distance": Entry(
            ("kernel_distance",),
            bf.kernel_distance,
            {"fn": shallow, "params0": weights, "params": moved, "X": small},
            {"X": MATRIX, "params": OBJECT, "fn": OBJECT},
            finite=False,
        ),
        "gradient_distance": Entry(
            ("gradient_distance",),
            bf.gradient_distance,
            {"fn": shallow, "params0": weights, "params": moved, "X": small},
            {"X": MATRIX, "params": OBJECT},
            finite=False,
        ),
        "commuting_defect": Entry(
            ("commuting_defect", "CommutingDefect"),
            bf.commuting_defect,
            {"model": two, "params": start, "X": small},
            {"X": MATRIX, "points": WORK, "key": COUNT, "params": OBJECT, "model": OBJECT},
            finite=False,
        ),
        "convergence_bounds": Entry(
            ("convergence_bounds", "MirrorProblem", "ConvergenceBounds"),
            lambda alpha, X, y, beta0=None: bf.convergence_bounds(bf.MirrorProblem(bf.Hypentropy(alpha), X, y, beta0)),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "beta0": VECTOR},
            finite=False,
        ),
        "local_bounds": Entry(
            ("local_bounds", "LocalBounds"),
            lambda alpha, X, y, radius=None: bf.local_bounds(bf.MirrorProblem(bf.Hypentropy(alpha), X, y), radius),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "radius": NUMBER},
            finite=False,
        ),
        "inverse_norm": Entry(
            ("inverse_norm",),
            bf.inverse_norm,
            {"X": X},
            {"X": MATRIX, "norm": CHOICE, "weights": VECTOR, "starts": WORK, "key": COUNT},
            {"X": -1},
            finite=False,
        ),
        "interclass_distance": Entry(
            ("interclass_distance",),
            bf.interclass_distance,
            {"X": planar, "y": classes, "rank": 1},
            {**X_labels, "rank": COUNT, "starts": WORK, "gap": TOLERANCE, "key": COUNT},
            {"X": 1},
        ),
        "transport_distance": Entry(
            ("transport_distance",),
            bf.transport_distance,
            {"cloud": small, "other": small[::-1] + 0.1},
            {"cloud": MATRIX, "other": MATRIX},
        ),
        "margin_bound": Entry(
            ("margin_bound", "MarginBound"),
            bf.margin_bound,
            {"X": planar, "margin": 0.1},
            {"X": MATRIX, "margin": NUMBER, "delta": NUMBER, "radius": NUMBER, "space": CHOICE, "rademacher": NUMBER},
            finite=False,
        ),
        "clusters": Entry(
            ("clusters", "Cluster"),
            lambda a, W, **rest: bf.clusters(bf.TwoLayerParams(a, W), **rest),
            {"a": start.a, "W": start.W},
            {"a": VECTOR, "W": MATRIX, "angle": NUMBER, "least": NUMBER},
        ),
        "kinks": Entry(
            ("kinks", "Kink"),
            lambda a, W, **rest: bf.kinks(bf.TwoLayerParams(a, W), **rest),
            {"a": start.a, "W": start.W[:, :2]},
            {"a": VECTOR, "W": MATRIX, "apart": NUMBER, "least": NUMBER},
        ),
        "time_to": Entry(
            ("time_to", "Arrival", "phases", "Phase"),
            lambda **given: (bf.time_to(known_flow(), **given), bf.phases(known_flow())),
            {"loss": 1e-3},
            {"loss": NUMBER, "divergence": NUMBER},
            finite=False,
        ),
        "trajectory at a time": Entry(("Trajectory",), lambda t: known_flow().at(t), {"t": 1.0}, {"t": NUMBER}),
        "compare": Entry(
            ("compare", "Comparison", "Limit", "Certificate"),
            lambda alpha: bf.compare(known_flow(), bf.bregman_projection(bf.Hypentropy(alpha), X, y)).distance,
            {"alpha": 0.1},
            {"alpha": SCALE},
        ),
        "verify": Entry(
            ("verify", "Problem", "Verdict", "claims"),
            lambda claim, X, y, scale=0.1, **rest: str(
                bf.verify(claim, bf.Problem(two0(), bf.Dataset(X, y), bf.SquareLoss("sum"), two0().init(scale, dim=6)), **rest)
            ),
            {"claim": "R/thm2.7", "X": X, "y": y},
            {"claim": CHOICE, **X_y, "scale": SCALE, "key": COUNT, "time_s": NUMBER},
        ),
    }


def two0() -> Any:
    return bf.DiagonalNetwork(2)


def square_point(a: Any) -> Any:
    import xarray

    return xarray.Dataset({"v": float(a) ** 2})


def _rest(X: Any, y: Any, start: Any) -> dict[str, Entry]:
    """Potentials, models, generators of data, sweeps."""
    vectors = {"b1": np.array([1.0, 2.0, 3.0]), "b0": np.array([0.5, 0.1, 1.0])}
    two = bf.TwoLayer(5, 3)
    small = X[:, :3]
    return {
        "bregman": Entry(
            ("bregman", "Hypentropy"),
            lambda alpha, b1, b0: bf.bregman(bf.Hypentropy(alpha), b1, b0),
            {"alpha": 0.1, **vectors},
            {"alpha": SCALE, "b1": VECTOR, "b0": VECTOR},
        ),
        "bregman by coordinate": Entry(
            ("bregman", "DepthPotential"),
            lambda scale, b1, b0: bf.bregman(bf.DepthPotential(3, scale), b1, b0),
            {"scale": np.array([0.1, 0.2, 0.3]), **vectors},
            {"scale": VECTOR, "b1": VECTOR, "b0": VECTOR},
        ),
        "bregman Euclidean": Entry(
            ("bregman", "Euclidean", "ScaledPotential"),
            lambda factor, b1, b0: bf.bregman(bf.ScaledPotential(factor, bf.Euclidean()), b1, b0),
            {"factor": 2.0, **vectors},
            {"factor": SCALE, "b1": VECTOR, "b0": VECTOR},
        ),
        "start of a diagonal network": Entry(
            ("DiagonalNetwork", "DiagonalParams"),
            lambda scale, dim, depth: bf.DiagonalNetwork(depth).init(scale, dim=dim),
            {"scale": 0.1, "dim": 5, "depth": 2},
            {"scale": SCALE, "dim": COUNT, "depth": COUNT},
        ),
        "two-layer network": Entry(
            ("TwoLayer", "TwoLayerParams"),
            lambda width, dim, **rest: bf.TwoLayer(width, dim, **rest).init(0.5),
            {"width": 4, "dim": 3},
            {"width": COUNT, "dim": COUNT, "activation": CHOICE, "slope": NUMBER},
        ),
        "signed network": Entry(
            ("SignedTwoLayer", "SignedTwoLayerParams"),
            lambda width, dim, signs: bf.SignedTwoLayer(width, dim, signs).init(0.5),
            {"width": 4, "dim": 3, "signs": np.array([1.0, -1.0, 1.0, -1.0])},
            {"width": COUNT, "dim": COUNT, "signs": LABELS},
        ),
        "deep network": Entry(
            ("DeepNetwork", "DeepParams"),
            lambda widths, **rest: bf.DeepNetwork(widths, **rest).init(0.5),
            {"widths": (3, 4, 1)},
            {"widths": SHAPE, "activation": CHOICE, "rounding": NUMBER},
        ),
        "factorisation": Entry(
            ("MatrixFactorisation", "FactorParams"),
            lambda shape, rank, scale: bf.MatrixFactorisation(shape, rank).init(scale),
            {"shape": (3, 4), "rank": 8, "scale": 0.1},
            {"shape": SHAPE, "rank": COUNT, "scale": SCALE},
        ),
        "random_network": Entry(
            ("random_network", "FixedDirections"),
            lambda **given: bf.random_network(**given)[1],
            {"width": 5, "dim": 3, "scale": 0.1},
            {"width": COUNT, "dim": COUNT, "scale": SCALE, "law": CHOICE, "key": COUNT},
        ),
        "split_network": Entry(
            ("split_network",),
            lambda W, b: bf.split_network(W, b)[1],
            {"W": draw(3, 3, seed=9), "b": draw(3, seed=10)},
            {"W": MATRIX, "b": VECTOR},
        ),
        "mirror": Entry(
            ("mirror", "merge_directions", "MergedProblem", "Problem"),
            lambda directions, X, y: _mirrored(directions, X, y),
            {"directions": draw(6, 3, seed=11), "X": small, "y": y},
            {"directions": MATRIX, "X": MATRIX, "y": VECTOR},
        ),
        "sphere_measure": Entry(
            ("sphere_measure", "SphereMeasure", "transport_growth", "TransportGrowth"),
            lambda a, W, X, y, weights: bf.transport_growth(bf.sphere_measure(two, bf.TwoLayerParams(a, W)), X, y, weights),
            {"a": start.a, "W": start.W, "X": small, "y": np.array([1.0, -1.0, 1.0, -1.0]), "weights": np.full(4, 0.25)},
            {"a": VECTOR, "W": MATRIX, "X": MATRIX, "y": LABELS, "weights": VECTOR},
        ),
        "data sparse": Entry(
            ("data",),
            lambda **given: bf.data.sparse_regression(**given).X,
            {"n": 4, "d": 6, "sparsity": 2, "noise_var": 0.1, "key": 0},
            {"n": COUNT, "d": COUNT, "sparsity": COUNT, "noise_var": NUMBER, "key": COUNT},
        ),
        "data hypercube": Entry(
            ("data",),
            lambda **given: bf.data.hypercube(**given).X,
            {"n": 4, "d": 6, "key": 0},
            {"n": COUNT, "d": COUNT, "key": COUNT},
        ),
        "data clusters": Entry(
            ("data",),
            lambda **given: bf.data.clusters(**given).X,
            {"n": 6, "d": 4, "k": 2, "key": 0},
            {"n": COUNT, "d": COUNT, "k": COUNT, "key": COUNT, "preset": CHOICE, "draw": COUNT},
        ),
        "data orthonormal": Entry(
            ("data",),
            lambda **given: bf.data.orthonormal(**given).X,
            {"n": 3, "d": 5, "key": 0},
            {"n": COUNT, "d": COUNT, "key": COUNT},
        ),
        "data entries": Entry(
            ("data",),
            lambda **given: bf.data.from_entries(**given).X,
            {"shape": (3, 3), "rows": np.array([0, 1]), "cols": np.array([0, 2]), "values": np.array([1.0, 2.0])},
            {"shape": SHAPE, "rows": INDICES, "cols": INDICES, "values": VECTOR},
        ),
        "dataset": Entry(
            ("Dataset",),
            lambda **given: bf.Dataset(**given).X,
            {"X": X, "y": y},
            {"X": MATRIX, "y": VECTOR, "truth": VECTOR},
        ),
        "sweep": Entry(
            ("sweep", "Grid", "Serial"),
            lambda values, **rest: bf.sweep(square_point, bf.Grid({"a": values}), **rest),
            {"values": (1, 2)},
            {"values": LIST, "chunk": COUNT, "max_points": COUNT, "point_time_s": NUMBER, "failures": CHOICE, "engine": OBJECT},
        ),
        "figure": Entry(
            ("figure", "figures"), lambda id, preset="quick": bf.figure(id, preset), {"id": "W/fig4f"}, {"id": CHOICE}
        ),
    }


def _mirrored(directions: Any, X: Any, y: Any) -> Any:
    model = bf.FixedDirections(directions, normalise=True)
    params = bf.FixedDirectionsParams(*np.full((2, len(model.directions)), 0.3))
    problem = bf.Problem(model, bf.Dataset(X, y), bf.SquareLoss("half"), params)
    return bf.mirror(problem).X, bf.merge_directions(problem).r


RECORDS = {
    "Batched",
    "Composed",
    "Experiment",
    "Reading",
    "Reported",
    "Result",
    "Loss",
    "MarginLoss",
    "Potential",
    "StepRule",
    "GateEvent",
    "Proposition6Step",
    "Proposition7Step",
    "Alternating",
    "Check",
    "Checkpoints",
    "Claim",
    "Evidence",
    "Falsification",
    "Hypothesis",
    "Kind",
    "PowerProblem",
    "Scores",
    "Status",
    "SweepError",
    "TransitionScale",
    "Store",
    "Dask",
    "Processes",
    "__version__",
}
"""Public names without a call of their own to fuzz: records and abstract classes, engines that start processes, stores."""
NOT_FUZZED = {"falsify", "transition_scale", "margin_certificates"}
"""Searches that start processes, and what only takes a trajectory of `margin_ascent`; their own tests look at them."""
