"""Base calls of limits, margins and tangent kernels."""

from __future__ import annotations

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
    TOLERANCE,
    VECTOR,
    Entry,
    X,
    X_labels,
    X_y,
    classes,
    columns,
    deeper,
    diagonal,
    draw,
    fixed,
    misfit,
    planar,
    rows,
    shallow,
    signed_rows,
    small,
    split_misfit,
    start,
    target,
    two,
    values,
    weights,
    y,
)

import biasflow as bf
from biasflow._core.arguments import vector


def limit_entries() -> dict[str, Entry]:
    """Points with certificates."""
    particles = bf.limits.f1_max_margin(planar, classes, time_s=5.0).value
    return {
        "min_norm": Entry(
            ("min_norm",),
            lambda X, y, norm: bf.min_norm(X, y, norm=norm),
            {"X": X, "y": y, "norm": "l1"},
            {**X_y, "norm": CHOICE},
            residual=misfit,
        ),
        "max_margin": Entry(
            ("max_margin",),
            lambda X, y, norm: bf.max_margin(X, y, norm=norm),
            {"X": planar, "y": classes, "norm": "l2"},
            {**X_labels, "norm": CHOICE},
        ),
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
            lambda alpha, X, y, beta0=None: bf.bregman_projection(
                bf.potentials.Hypentropy(alpha), X, y, beta0
            ),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "beta0": VECTOR},
            residual=misfit,
        ),
        "projection below floats": Entry(
            ("bregman_projection",),
            lambda log_alpha, X, y: bf.bregman_projection(
                bf.potentials.Hypentropy(log_alpha=log_alpha), X, y
            ),
            {"log_alpha": -800.0, "X": X, "y": y},
            {"log_alpha": NUMBER, **X_y},
            residual=misfit,
        ),
        "projection by entropy": Entry(
            ("bregman_projection", "Entropy"),
            lambda X, y, beta0=None: bf.bregman_projection(bf.potentials.Entropy(), X, y, beta0),
            {"X": np.abs(X), "y": np.abs(X) @ np.ones(6)},
            {**X_y, "beta0": VECTOR},
            residual=misfit,
        ),
        "projection of depth": Entry(
            ("bregman_projection", "DepthPotential", "ScaledPotential"),
            lambda X, y, depth, scale, factor: bf.bregman_projection(
                bf.potentials.ScaledPotential(factor, bf.potentials.DepthPotential(depth, scale)),
                X,
                y,
            ),
            {"X": X, "y": y, "depth": 3, "scale": 0.1, "factor": 2.0},
            {**X_y, "depth": COUNT, "scale": SCALE, "factor": SCALE},
            residual=misfit,
        ),
        "mirror_limit": Entry(
            ("mirror_limit",),
            lambda alpha, X, y, beta0=None: bf.limits.mirror_limit(
                bf.potentials.Hypentropy(alpha), X, y, beta0
            ),
            {"alpha": 0.1, "X": X, "y": y},
            {"alpha": SCALE, **X_y, "beta0": VECTOR},
        ),
        "min_l1": Entry(
            ("min_l1",), bf.limits.min_l1, {"X": X, "y": y}, X_y, {"X": -1, "y": 1}, residual=misfit
        ),
        "min_l2": Entry(
            ("min_l2",), bf.limits.min_l2, {"X": X, "y": y}, X_y, {"X": -1, "y": 1}, residual=misfit
        ),
        "kernel_interpolator": Entry(
            ("kernel_interpolator",),
            bf.limits.kernel_interpolator,
            {"K": X @ X.T, "y": y},
            {"K": MATRIX, "y": VECTOR},
            {"K": -0.5, "y": 1},
        ),
        "min_nuclear_norm": Entry(
            ("min_nuclear_norm",),
            bf.limits.min_nuclear_norm,
            {"shape": (3, 3), "rows": rows, "cols": columns, "values": values},
            {"shape": SHAPE, "rows": INDICES, "cols": INDICES, "values": VECTOR},
            {"values": 1},
        ),
        "min_frobenius_norm": Entry(
            ("min_frobenius_norm",),
            bf.limits.min_frobenius_norm,
            {"shape": (3, 3), "rows": rows, "cols": columns, "values": values},
            {"shape": SHAPE, "rows": INDICES, "cols": INDICES, "values": VECTOR},
            {"values": 1},
        ),
        "min_norm_interpolator": Entry(
            ("min_norm_interpolator",),
            bf.limits.min_norm_interpolator,
            {"X": small, "y": target, "time_s": 5.0},
            {**X_y, "gap": TOLERANCE, "time_s": NUMBER, "key": COUNT},
            {"X": -1, "y": 1},
            residual=split_misfit,
        ),
        "extremal_vectors": Entry(
            (),
            lambda X, y: bf.limits.extremal_vectors(bf.Dataset(X, y)),
            {"X": small, "y": target},
            X_y,
            finite=False,
        ),
        "line_interpolants": Entry(
            (),
            # a column (n, 1) is taken, too, as a data set has it
            lambda x, **more: bf.limits.line_interpolants(vector("x", x), **more),
            {"x": small[:, 0], "y": target, "penalise_bias": True, "skip": False, "time_s": 5.0},
            {
                "x": VECTOR,
                "y": VECTOR,
                "penalise_bias": CHOICE,
                "skip": CHOICE,
                "gap": TOLERANCE,
                "time_s": NUMBER,
            },
            {"y": 1},
        ),
        "f1_max_margin": Entry(
            ("f1_max_margin", "Particles"),
            bf.limits.f1_max_margin,
            {"X": planar, "y": classes, "time_s": 5.0},
            {**X_labels, "gap": TOLERANCE, "time_s": NUMBER, "key": COUNT},
            unit={"X": 1},
        ),
        "f2_max_margin": Entry(
            ("f2_max_margin", "KernelClassifier", "FeatureClassifier"),
            bf.limits.f2_max_margin,
            {"X": planar, "y": classes},
            {**X_labels, "activation": CHOICE, "features": COUNT},
            unit={"X": 1},
        ),
        "kernel_max_margin": Entry(
            ("kernel_max_margin",),
            bf.limits.kernel_max_margin,
            {"K": planar @ planar.T + 1, "y": classes},
            {"K": MATRIX, "y": LABELS},
            {"K": 0.5},
            unit={"K": 0.5},
        ),
        "l1_max_margin": Entry(
            ("l1_max_margin",),
            bf.limits.l1_max_margin,
            {"Z": signed_rows},
            {"Z": MATRIX},
            {"Z": 1},
            unit={"Z": 1},
        ),
        "l2_max_margin": Entry(
            ("l2_max_margin",),
            bf.limits.l2_max_margin,
            {"Z": signed_rows},
            {"Z": MATRIX},
            {"Z": 1},
            unit={"Z": 1},
        ),
        "margin_certificate": Entry(
            ("margin_certificate", "MarginCertificate"),
            bf.limits.margin_certificate,
            {"network": particles, "X": planar, "y": classes, "time_s": 5.0},
            {**X_labels, "network": OBJECT, "weights": VECTOR, "gap": TOLERANCE},
        ),
        "certify": Entry(
            ("certify",),
            bf.certify,
            {"network": particles, "X": planar, "y": classes, "time_s": 5.0},
            {**X_labels, "network": OBJECT, "gap": TOLERANCE, "tolerance": NUMBER, "key": COUNT},
            finite=False,
        ),
        "polish": Entry(
            ("polish", "as_particles"),
            bf.limits.polish,
            {"network": particles, "X": planar, "y": classes},
            {**X_labels, "network": OBJECT},
            unit={"X": 1},
        ),
        "arc_cosine_kernel": Entry(
            ("arc_cosine_kernel",),
            bf.limits.arc_cosine_kernel,
            {"X": planar},
            {"X": MATRIX, "other": MATRIX, "activation": CHOICE},
        ),
        "kkt_point": Entry(
            ("kkt_point", "kkt_residual", "KktPoint"),
            lambda X, y, a, W, kink=1e-10: bf.limits.kkt_point(
                bf.models.TwoLayerParams(a, W), bf.Dataset(X, y), kink
            ),
            {"X": small, "y": target, "a": start.a, "W": start.W},
            {**X_y, "a": VECTOR, "W": MATRIX, "kink": TOLERANCE},
        ),
        "variation_norm": Entry(
            ("variation_norm",),
            lambda a, W: bf.limits.variation_norm(bf.models.TwoLayerParams(a, W)),
            {"a": start.a, "W": start.W},
            {"a": VECTOR, "W": MATRIX},
            {"a": 1, "W": 1},
        ),
        "tangent_kernel_limit": Entry(
            ("tangent_kernel_limit",),
            lambda X, y: bf.limits.tangent_kernel_limit(two, bf.Dataset(X, y), start),
            {"X": small, "y": target},
            X_y,
        ),
        "tangent_kernel": Entry(
            ("tangent_kernel",),
            bf.tangent_kernel,
            {"network": shallow, "params": weights, "X": small},
            {
                "X": MATRIX,
                "other": MATRIX,
                "output": COUNT,
                "memory_b": NUMBER,
                "network": OBJECT,
                "params": OBJECT,
            },
        ),
        "tangent_interpolator": Entry(
            ("tangent_interpolator", "TangentPredictor"),
            bf.limits.tangent_interpolator,
            {"network": shallow, "start": weights, "X": small, "y": target},
            {**X_y, "network": OBJECT, "start": OBJECT},
        ),
        "tangent_max_margin": Entry(
            ("tangent_max_margin",),
            bf.limits.tangent_max_margin,
            {"network": shallow, "start": weights, "X": planar[:4], "y": classes[:4]},
            {**X_labels, "network": OBJECT},
            unit={"X": 1},
        ),
        "linearised_flow": Entry(
            ("linearised_flow", "LinearisedFlow"),
            lambda **given: bf.limits.linearised_flow(**given).predictions(1.0),
            {"network": shallow, "start": weights, "X": small, "y": target},
            {**X_y, "start": OBJECT, "loss": OBJECT},
        ),
        "homogeneity": Entry(
            ("homogeneity", "Homogeneity"),
            bf.limits.homogeneity,
            {"network": two, "params": start, "X": small},
            {"X": MATRIX, "params": OBJECT, "network": OBJECT},
            finite=False,
        ),
        "margin_kkt": Entry(
            ("margin_kkt", "MarginKkt"),
            bf.limits.margin_kkt,
            {
                "network": two,
                "params": bf.models.TwoLayerParams(
                    np.ones(5), np.c_[np.ones(5), draw(5, 2, seed=12) / 4]
                ),
                "X": np.abs(small),
                "y": np.ones(3),
            },
            X_labels,
        ),
        "smoothed_margin": Entry(
            ("smoothed_margin", "SmoothedMargin"),
            bf.limits.smoothed_margin,
            {"network": two, "checkpoints": [start, start], "X": planar, "y": classes},
            {**X_labels, "loss": CHOICE, "checkpoints": LIST},
            finite=False,
        ),
    }
