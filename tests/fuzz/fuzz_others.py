"""Base calls of diagnostics, potentials, models, generators of data and sweeps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from fuzz_material import (
    CHOICE,
    COUNT,
    INDICES,
    LABELS,
    LIST,
    MATRIX,
    NUMBER,
    OBJECT,
    SCALE,
    SHAPE,
    TIMES,
    TOLERANCE,
    VECTOR,
    WORK,
    Entry,
    X,
    X_labels,
    X_y,
    classes,
    draw,
    moved,
    planar,
    shallow,
    small,
    start,
    two,
    weights,
    y,
)

import biasflow as bf


def _squares(w: Any) -> Any:
    return w**2


def diagnostic_entries() -> dict[str, Entry]:
    """Bounds, distances, verdicts."""

    @functools.cache
    def known_flow() -> Any:
        return bf.mirror_flow(bf.potentials.Hypentropy(0.1), X, y)

    later = two.init(0.5, key=2)
    return {
        "probe": Entry(
            ("probe", "Probe", "Estimate"),
            lambda X, y=None, **rest: bf.probe(shallow, [weights, moved], X, y, **rest),
            {"X": draw(6, 3, seed=7), "y": draw(6, seed=8)},
            {**X_y, "times": TIMES, "keys": WORK, "trained_on": MATRIX},
            finite=False,
        ),
        "kernel_distance": Entry(
            ("kernel_distance",),
            bf.regime.kernel_distance,
            {"network": shallow, "start": weights, "params": moved, "X": small},
            {"X": MATRIX, "params": OBJECT, "network": OBJECT},
            finite=False,
        ),
        "gradient_distance": Entry(
            ("gradient_distance",),
            bf.regime.gradient_distance,
            {"network": shallow, "start": weights, "params": moved, "X": small},
            {"X": MATRIX, "params": OBJECT},
            finite=False,
        ),
        "commuting_defect": Entry(
            ("commuting_defect", "CommutingDefect"),
            bf.diagnostics.commuting_defect,
            {"model": two, "params": start, "X": small},
            {"X": MATRIX, "points": WORK, "key": COUNT, "params": OBJECT, "model": OBJECT},
            finite=False,
        ),
        "find_potential": Entry(
            (),
            lambda G, start, **rest: bf.diagnostics.find_potential(G, start, **rest).limit(
                [[1.0, 2.0]], [3.0]
            ),
            {"G": _squares, "start": np.ones(2), "loops": 1},
            {"G": OBJECT, "start": VECTOR, "loops": WORK, "key": COUNT},
            finite=False,
        ),
        "conservation_laws": Entry(
            ("conservation_laws",),
            lambda model, params=None, X=None, times=None, weight_decay=0.0, **rest: (
                bf.conservation_laws(model, params, X, **rest).drift(
                    [start, later], times=times, weight_decay=weight_decay
                )
            ),
            {"model": two, "params": start, "X": small, "times": [0.0, 1.0], "time_s": 10.0},
            {
                "model": OBJECT,
                "params": OBJECT,
                "X": MATRIX,
                "times": TIMES,
                "weight_decay": NUMBER,
                "key": COUNT,
                "time_s": NUMBER,
            },
            finite=False,
        ),
        "convergence_bounds": Entry(
            ("convergence_bounds", "MirrorProblem", "ConvergenceBounds"),
            lambda alpha, X, y, beta0=None, **rest: bf.diagnostics.convergence_bounds(
                bf.MirrorProblem(bf.potentials.Hypentropy(alpha), X, y, beta0), **rest
            ),
            {"alpha": 0.1, "X": X, "y": y, "time_s": 15.0},
            {"alpha": SCALE, **X_y, "beta0": VECTOR, "time_s": NUMBER},
            finite=False,
        ),
        "local_bounds": Entry(
            ("local_bounds", "LocalBounds"),
            lambda alpha, X, y, radius=None: bf.diagnostics.local_bounds(
                bf.MirrorProblem(bf.potentials.Hypentropy(alpha), X, y), radius
            ),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "radius": NUMBER},
            finite=False,
        ),
        "inverse_norm": Entry(
            ("inverse_norm",),
            bf.diagnostics.inverse_norm,
            {"X": X},
            {"X": MATRIX, "norm": CHOICE, "weights": VECTOR, "restarts": WORK, "key": COUNT},
            {"X": -1},
            finite=False,
        ),
        "interclass_distance": Entry(
            ("interclass_distance",),
            bf.diagnostics.interclass_distance,
            {"X": planar, "y": classes, "rank": 1},
            {**X_labels, "rank": COUNT, "restarts": WORK, "gap": TOLERANCE, "key": COUNT},
            {"X": 1},
        ),
        "transport_distance": Entry(
            ("transport_distance",),
            bf.diagnostics.transport_distance,
            {"cloud": small, "other": small[::-1] + 0.1},
            {"cloud": MATRIX, "other": MATRIX},
        ),
        "margin_bound": Entry(
            ("margin_bound", "MarginBound"),
            bf.diagnostics.margin_bound,
            {"X": planar, "margin": 0.1},
            {
                "X": MATRIX,
                "margin": NUMBER,
                "delta": NUMBER,
                "radius": NUMBER,
                "space": CHOICE,
                "rademacher": NUMBER,
            },
            finite=False,
        ),
        "clusters": Entry(
            ("clusters", "Cluster"),
            lambda a, W, **rest: bf.diagnostics.clusters(bf.models.TwoLayerParams(a, W), **rest),
            {"a": start.a, "W": start.W},
            {"a": VECTOR, "W": MATRIX, "angle": NUMBER, "least": NUMBER},
        ),
        "kinks": Entry(
            ("kinks", "Kink"),
            lambda a, W, **rest: bf.diagnostics.kinks(bf.models.TwoLayerParams(a, W), **rest),
            {"a": start.a, "W": start.W[:, :2]},
            {"a": VECTOR, "W": MATRIX, "apart": NUMBER, "least": NUMBER},
        ),
        "time_to": Entry(
            ("time_to", "Arrival", "phases", "Phase"),
            lambda **given: (
                bf.diagnostics.time_to(known_flow(), **given),
                bf.diagnostics.phases(known_flow()),
            ),
            {"loss": 1e-3},
            {"loss": NUMBER, "divergence": NUMBER},
            finite=False,
        ),
        "lasso_gap": Entry(
            (),
            lambda times: bf.diagnostics.lasso_gap(known_flow(), times),
            {"times": np.array([0.5, 1.0])},
            {"times": VECTOR},
        ),
        "trajectory at a time": Entry(
            ("Trajectory",), lambda t: known_flow().at(t), {"t": 1.0}, {"t": NUMBER}
        ),
        "compare": Entry(
            ("compare", "Comparison", "Limit", "Certificate"),
            lambda alpha: (
                bf.compare(
                    known_flow(), bf.bregman_projection(bf.potentials.Hypentropy(alpha), X, y)
                ).distance
            ),
            {"alpha": 0.1},
            {"alpha": SCALE},
        ),
        "verify": Entry(
            ("verify", "Problem", "Verdict", "claims"),
            lambda claim, X, y, scale=0.1, **rest: str(
                bf.verify(
                    claim,
                    bf.Problem(
                        two0(), bf.Dataset(X, y), bf.SquareLoss("sum"), two0().init(scale, dim=6)
                    ),
                    **rest,
                )
            ),
            {"claim": "R/thm2.7", "X": X, "y": y, "time_s": 10.0},
            {"claim": CHOICE, **X_y, "scale": SCALE, "key": COUNT, "time_s": NUMBER},
        ),
    }


def two0() -> Any:
    return bf.DiagonalNetwork(2)


def length_point(a: Any) -> Any:
    import xarray

    return xarray.Dataset({"v": len(str(a))})


def other_entries() -> dict[str, Entry]:
    """Potentials, models, generators of data, sweeps."""
    vectors = {"b1": np.array([1.0, 2.0, 3.0]), "b0": np.array([0.5, 0.1, 1.0])}
    inputs = X[:, :3]
    return {
        "bregman": Entry(
            ("bregman", "Hypentropy"),
            lambda alpha, b1, b0: bf.potentials.bregman(bf.potentials.Hypentropy(alpha), b1, b0),
            {"alpha": 0.1, **vectors},
            {"alpha": SCALE, "b1": VECTOR, "b0": VECTOR},
        ),
        "bregman by coordinate": Entry(
            ("bregman", "DepthPotential"),
            lambda scale, b1, b0: bf.potentials.bregman(
                bf.potentials.DepthPotential(3, scale), b1, b0
            ),
            {"scale": np.array([0.1, 0.2, 0.3]), **vectors},
            {"scale": VECTOR, "b1": VECTOR, "b0": VECTOR},
        ),
        "bregman Euclidean": Entry(
            ("bregman", "Euclidean", "ScaledPotential"),
            lambda factor, b1, b0: bf.potentials.bregman(
                bf.potentials.ScaledPotential(factor, bf.potentials.Euclidean()), b1, b0
            ),
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
            lambda **given: bf.models.random_network(**given)[1],
            {"width": 5, "dim": 3, "scale": 0.1},
            {"width": COUNT, "dim": COUNT, "scale": SCALE, "law": CHOICE, "key": COUNT},
        ),
        "split_network": Entry(
            ("split_network",),
            lambda W, b: bf.models.split_network(W, b)[1],
            {"W": draw(3, 3, seed=9), "b": draw(3, seed=10)},
            {"W": MATRIX, "b": VECTOR},
        ),
        "mirror": Entry(
            ("mirror", "merge_directions", "MergedProblem", "Problem"),
            lambda directions, X, y: _mirrored(directions, X, y),
            {"directions": draw(6, 3, seed=11), "X": inputs, "y": y},
            {"directions": MATRIX, "X": MATRIX, "y": VECTOR},
        ),
        "sphere_measure": Entry(
            ("sphere_measure", "SphereMeasure", "transport_growth", "TransportGrowth"),
            lambda a, W, X, y, weights: bf.models.transport_growth(
                bf.models.sphere_measure(two, bf.models.TwoLayerParams(a, W)), X, y, weights
            ),
            {
                "a": start.a,
                "W": start.W,
                "X": inputs,
                "y": np.array([1.0, -1.0, 1.0, -1.0]),
                "weights": np.full(4, 0.25),
            },
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
            {
                "shape": (3, 3),
                "rows": np.array([0, 1]),
                "cols": np.array([0, 2]),
                "values": np.array([1.0, 2.0]),
            },
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
            lambda values, **rest: bf.sweep(length_point, bf.sweeps.Grid({"a": values}), **rest),
            {"values": (1, 2)},
            {
                "values": LIST,
                "chunk": COUNT,
                "max_points": COUNT,
                "point_time_s": NUMBER,
                "failures": CHOICE,
                "engine": OBJECT,
            },
        ),
        "figure": Entry(
            ("figure", "figures"),
            lambda id, preset="quick": bf.figure(id, preset),
            {"id": "W/fig4f"},
            {"id": CHOICE},
        ),
    }


def _mirrored(directions: Any, X: Any, y: Any) -> Any:
    model = bf.FixedDirections(directions, normalise=True)
    params = bf.models.FixedDirectionsParams(*np.full((2, len(model.directions)), 0.3))
    problem = bf.Problem(model, bf.Dataset(X, y), bf.SquareLoss("half"), params)
    return bf.models.mirror(problem).X, bf.models.merge_directions(problem).r
