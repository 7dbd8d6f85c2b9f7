"""Base calls of flows, paths and trainings."""

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
    PARAMS,
    SCALE,
    TIMES,
    TOLERANCE,
    VECTOR,
    WORK,
    Entry,
    X,
    X_labels,
    X_y,
    classes,
    columns,
    deep,
    deeper,
    diagonal,
    factors,
    fixed,
    fixed_start,
    half,
    mean,
    planar,
    product,
    rows,
    signed,
    signed_rows,
    small,
    start,
    target,
    tiny,
    two,
    values,
    y,
)

import biasflow as bf

TIME_S = 15.0
"""The limit of every flow here, a quarter of what a case may take before it counts as a hang."""
FLOW_KINDS = {"t1": NUMBER, "rtol": TOLERANCE, "times": TIMES}


def flow(model: Any, loss: Any, start: Any, X: Any, y: Any, **options: Any) -> Any:
    return bf.gradient_flow(model, bf.Dataset(X, y), loss, start, **options)


def flow_entry(
    model: Any, loss: Any, start: Any, X: Any, y: Any, labels: str = VECTOR, **options: Any
) -> Entry:
    names = (
        "gradient_flow",
        "Dataset",
        type(model).__name__,
        type(start).__name__,
        type(loss).__name__,
    )
    kinds = {
        "X": MATRIX,
        "y": labels,
        **FLOW_KINDS,
        "start": PARAMS,
        "loss": OBJECT,
        "method": CHOICE,
    }
    base = {
        "model": model,
        "loss": loss,
        "start": start,
        "X": X,
        "y": y,
        "time_s": TIME_S,
        **options,
    }
    return Entry(names, flow, base, kinds, descends=True)


@functools.cache
def _ascended() -> Any:
    return bf.training.margin_ascent(
        bf.data.with_bias(bf.Dataset(planar[:, :2], classes)), start, 20, records=3
    )


def flow_entries() -> dict[str, Entry]:
    """Flows, paths, trainings."""
    margin, logistic = bf.SmoothMargin(), bf.LogisticLoss()
    return {
        "flow diagonal": flow_entry(diagonal, half, diagonal.init(0.1, dim=6), X, y),
        "flow diagonal compiled": flow_entry(
            diagonal, half, diagonal.init(0.1, dim=6), X, y, method="compiled"
        ),
        "flow diagonal weights": flow_entry(
            diagonal, half, diagonal.init(0.1, dim=6), X, y, method="weights", t1=5.0
        ),
        "flow depth 3": flow_entry(deeper, half, deeper.init(0.3, dim=6), X, y),
        "flow product": flow_entry(
            product, half, bf.models.ProductParams(np.full(6, 0.3), np.full(6, 0.2)), X, y
        ),
        "flow relu": flow_entry(two, mean, start, small, target),
        "flow margin": flow_entry(two, margin, start, planar, classes, LABELS, t1=2.0),
        "flow signed logistic": flow_entry(
            signed, logistic, signed.init(0.5, key=1), planar, classes, LABELS, log_norm=3.0
        ),
        "flow exponential": flow_entry(
            two, bf.ExponentialLoss(), start, planar, classes, LABELS, log_norm=3.0
        ),
        "flow separable": flow_entry(
            diagonal,
            logistic,
            diagonal.init(0.5, dim=3),
            planar,
            classes,
            LABELS,
            t1=5.0,
            method="separable",
        ),
        "direction_path": Entry(
            (),
            lambda X, y, scale, **rest: bf.flows.direction_path(
                bf.Problem(diagonal, (X, y), bf.ExponentialLoss(), scale=scale), **rest
            ),
            {"X": planar, "y": classes, "scale": 0.5, "log_norm": 30.0, "time_s": TIME_S},
            {"X": MATRIX, "y": LABELS, "scale": SCALE, "log_norm": SCALE},
        ),
        "flow deep": flow_entry(deep, mean, deep.init(0.7, key=1), small, target, t1=1.0),
        "flow fixed directions": flow_entry(fixed, half, fixed_start, small, target, t1=3.0),
        "flow factorisation": Entry(
            ("gradient_flow", "MatrixFactorisation", "FactorParams"),
            lambda rows, cols, values, start, **options: bf.gradient_flow(
                factors, bf.data.from_entries((3, 3), rows, cols, values), half, start, **options
            ),
            {
                "rows": rows,
                "cols": columns,
                "values": values,
                "start": factors.init(0.5),
                "time_s": TIME_S,
            },
            {"rows": INDICES, "cols": INDICES, "values": VECTOR, **FLOW_KINDS},
            descends=True,
        ),
        "mirror_flow": Entry(
            ("mirror_flow", "Hypentropy"),
            lambda alpha, **rest: bf.mirror_flow(bf.potentials.Hypentropy(alpha), **rest),
            {"alpha": 0.1, "X": X, "y": y, "time_s": TIME_S},
            {"alpha": SCALE, **X_y, **FLOW_KINDS, "beta0": VECTOR, "method": CHOICE},
            descends=True,
        ),
        "early_alignment": Entry(
            ("early_alignment", "Alignment"),
            lambda X, y, a, W: bf.flows.early_alignment(
                bf.Dataset(X, y), bf.models.TwoLayerParams(a, W)
            ),
            {"X": small, "y": target, "a": tiny.a, "W": tiny.W},
            {**X_y, "a": VECTOR, "W": MATRIX},
            finite=False,
        ),
        "relu_saddle_path": Entry(
            (),
            lambda X, y, a, W: bf.flows.relu_saddle_path(
                bf.Dataset(X, y), bf.models.TwoLayerParams(a, W)
            ),
            {"X": small, "y": target, "a": tiny.a, "W": tiny.W},
            {**X_y, "a": VECTOR, "W": MATRIX},
            finite=False,
        ),
        "saddle_path": Entry(("saddle_path",), bf.saddle_path, {"X": X, "y": y}, X_y),
        "saddle_path with growth times": Entry(
            ("saddle_path",),
            lambda X, y, growth: bf.saddle_path(X, y, growth=growth),
            {"X": X, "y": y, "growth": np.ones(X.shape[1])},
            {**X_y, "growth": VECTOR},
        ),
        "saddle_limit": Entry(
            ("saddle_limit",),
            lambda X, y, a, W: bf.flows.saddle_limit(
                bf.Dataset(X, y), bf.models.TwoLayerParams(a, W)
            ),
            {"X": np.eye(3), "y": np.array([1.0, -0.7, 0.4]), "a": tiny.a, "W": tiny.W},
            {**X_y, "a": VECTOR, "W": MATRIX},
        ),
        "gradient_descent": Entry(
            ("gradient_descent",),
            lambda X, y, **rest: bf.training.gradient_descent(
                diagonal, bf.Dataset(X, y), half, **rest
            ),
            {"X": X, "y": y, "start": diagonal.init(0.3, dim=6), "step": 0.01, "steps": 100},
            {
                **X_y,
                "start": PARAMS,
                "step": NUMBER,
                "steps": WORK,
                "batch": COUNT,
                "key": COUNT,
            },
        ),
        "train": Entry(
            ("train",),
            lambda X, y, start, **rest: bf.train(
                bf.Problem(diagonal, bf.Dataset(X, y), half, start), **rest
            ),
            {"X": X, "y": y, "start": diagonal.init(0.3, dim=6), "step": 0.01, "steps": 100},
            {
                **X_y,
                "start": PARAMS,
                "step": NUMBER,
                "steps": WORK,
                "batch": COUNT,
                "key": COUNT,
            },
        ),
        "effective_limit": Entry(
            ("effective_limit",),
            lambda X, y, step, steps: bf.training.effective_limit(
                diagonal, bf.Dataset(X, y), half, diagonal.init(0.5, dim=6), step, steps
            ),
            {"X": X, "y": y, "step": 0.01, "steps": 3000},
            {**X_y, "step": NUMBER, "steps": WORK},
        ),
        "train_batch": Entry(
            ("train_batch", "TrainedBatch", "TrainedRun"),
            lambda X, y, **rest: bf.training.train_batch(two, bf.Dataset(X, y), mean, **rest),
            {"X": small, "y": target, "starts": [start], "step": [0.1], "steps": 50},
            {
                **X_y,
                "starts": LIST,
                "step": VECTOR,
                "steps": WORK,
                "threshold": NUMBER,
                "batch": COUNT,
                "dtype": CHOICE,
            },
        ),
        "margin_ascent": Entry(
            ("margin_ascent", "InverseRootStep", "TwoLayerParams"),
            lambda X, y, a, W, steps, size=0.5, **rest: bf.training.margin_ascent(
                bf.Dataset(X, y),
                bf.models.TwoLayerParams(a, W),
                steps,
                bf.training.InverseRootStep(size),
                **rest,
            ),
            {"X": planar, "y": classes, "a": start.a, "W": start.W, "steps": 50},
            {
                **X_labels,
                "a": VECTOR,
                "W": MATRIX,
                "steps": WORK,
                "size": NUMBER,
                "training": CHOICE,
                "dtype": CHOICE,
            },
        ),
        "margin_ascents": Entry(
            ("margin_ascents", "ConstantStep"),
            lambda X, y, steps, size=0.1, **rest: bf.training.margin_ascents(
                [(bf.Dataset(X, y), start)] * 2, steps, bf.training.ConstantStep(size), **rest
            ),
            {"X": planar, "y": classes, "steps": 50},
            {
                **X_labels,
                "steps": WORK,
                "size": NUMBER,
                "loss": CHOICE,
                "activation": CHOICE,
                "method": CHOICE,
            },
        ),
        "margin_certificates": Entry(
            ("margin_certificates",),
            lambda trajectory=None, every=1: bf.diagnostics.margin_certificates(
                _ascended() if trajectory is None else trajectory, every
            ),
            {"every": 1},
            {"trajectory": OBJECT, "every": COUNT},
            finite=False,
        ),
        "feature_ascent": Entry(
            ("feature_ascent", "FeatureAscent"),
            bf.training.feature_ascent,
            {"Z": signed_rows, "steps": 50},
            {
                "Z": MATRIX,
                "steps": WORK,
                "training": CHOICE,
                "start": SCALE,
                "loss": CHOICE,
                "keep": INDICES,
            },
        ),
    }
