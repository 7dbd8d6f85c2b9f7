"""Ends of flows of every method and verdicts of every claim, as this processor's kernels compute
them; written to a JSON file.

Run in a process of its own: `python sample_of_results.py OUT.json flows|claims`.
"""

import json
import sys

import numpy as np

import biasflow as bf
from biasflow._core.trees import leaves

T1 = 20.0
"""Where flows end that could converge: when they are called so depends on their steps, and errors
are those at a time."""


def flow_problems():
    """name: (model, data, loss, start, options); every method on the models it serves."""
    regression = bf.data.sparse_regression(n=12, d=30, sparsity=3, noise_var=0.0, key=0)
    problems = {}
    for depth in (2, 3):
        model = bf.DiagonalNetwork(depth)
        for method in ("dual", "weights") + (("compiled",) if depth == 2 else ()):
            start = model.init(0.1, dim=30)
            problems[f"{method} diagonal {depth}"] = (
                model,
                regression,
                bf.SquareLoss("half"),
                start,
                {"method": method, "t1": T1},
            )
    rng = np.random.default_rng(0)
    fixed = bf.FixedDirections(rng.standard_normal((20, 3)), normalise=True)
    inputs = bf.Dataset(rng.standard_normal((6, 3)), rng.standard_normal(6))
    problems["dual fixed directions"] = (
        fixed,
        inputs,
        bf.SquareLoss("half"),
        fixed.init(0.5),
        {"method": "dual", "t1": T1},
    )
    completion = bf.data.completion((6, 6), 1, observed=24, key=0)
    factors = bf.MatrixFactorisation((6, 6), 12)
    problems["factored"] = (
        factors,
        completion,
        bf.SquareLoss("half"),
        factors.init(1e-2),
        {"t1": T1},
    )
    for key in range(2):
        data = bf.Dataset(
            np.random.default_rng(key).standard_normal((6, 3)),
            np.random.default_rng(key).standard_normal(6),
        )
        relu = bf.TwoLayer(12, 3)
        problems[f"events {key}"] = (
            relu,
            data,
            bf.SquareLoss("half-mean"),
            relu.init(0.1, key=key),
            {"t1": T1},
        )
    labelled = bf.data.with_bias(bf.data.clusters(n=16, k=2, key=1))
    relu, squared = bf.TwoLayer(24, 3), bf.SignedTwoLayer(24, 3)
    for name, model in (("relu", relu), ("squared", squared)):
        for loss in (bf.SmoothMargin(), bf.LogisticLoss()):
            start, title = model.init(0.3, key=1), f"margin {name} {type(loss).__name__}"
            problems[title] = (model, labelled, loss, start, {"t1": 8.0, "rtol": 1e-4})
    problems["weights squared"] = (
        squared,
        labelled,
        bf.SmoothMargin(),
        squared.init(0.3, key=1),
        {"t1": 3.0, "method": "weights"},
    )
    diagonal = bf.DiagonalNetwork(2)
    for loss in (bf.ExponentialLoss(), bf.SmoothMargin(bf.LogisticLoss())):
        title = f"separable {type(loss).__name__}"
        start = diagonal.init(0.3, dim=3)
        problems[title] = (diagonal, labelled, loss, start, {"t1": 30.0, "method": "separable"})
    deep = bf.DeepNetwork((3, 6, 6, 1))
    problems["general deep"] = (
        deep,
        inputs,
        bf.SquareLoss("half"),
        deep.init(1.0, key=0),
        {"t1": 1.0, "rtol": 1e-6},
    )
    return problems


def ends_of_flows():
    """{name: what the stated error is about, at the end, that error, the reason for stopping}"""
    ends = {}
    for name, (model, data, loss, start, options) in flow_problems().items():
        flow = bf.gradient_flow(model, data, loss, start, **options)
        weights = flow.stats["method"] == "margin"  # its predictor's error is a bound only
        state = np.concatenate(
            [
                np.ravel(leaf)
                for leaf in (leaves(flow.final) if weights else [model.effective(flow.final)])
            ]
        )
        error = flow.error if weights else flow.predictor_error
        ends[name] = {
            "state": state.tolist(),
            "error": float(error[-1]),
            "result": flow.result.name,
        }
    return ends


def verdicts():
    """{claim: status on its example of key 0}, with the checks for whoever has to find out why they
    differ"""
    found = {}
    for name in bf.claims():
        verdict = bf.verify(name, key=0, time_s=300.0)  # a busy machine changes no status
        found[name] = {"status": verdict.status, "words": str(verdict)}
    return found


if __name__ == "__main__":
    out, what = sys.argv[1:]
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"flows": ends_of_flows, "claims": verdicts}[what](), file)
