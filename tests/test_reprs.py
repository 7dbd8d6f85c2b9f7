"""Records show themselves in a line or a few, whatever they hold."""

import numpy as np

import biasflow as bf


def test_records_fit_on_a_few_lines():
    data = bf.data.sparse_regression(n=20, d=50, sparsity=3, noise_var=0.01, key=0)
    model = bf.DiagonalNetwork(2)
    problem = bf.Problem(model, data, bf.SquareLoss("half"), model.init(0.1, dim=50))
    flow = bf.gradient_flow(model, data, bf.SquareLoss("half"), problem.start)
    shown = [
        repr(one)
        for one in (
            data,
            problem,
            bf.limit(problem),
            flow,
            bf.MirrorProblem(bf.potentials.Hypentropy(0.1), data.X, data.y),
        )
    ]
    assert all(text.count("\n") <= 6 and len(text) < 400 for text in shown)
    assert all("\n" not in text for text in (*shown[:2], shown[4]))  # others are quoted in others
    assert "n = 20, d = 50" in shown[0] and "DiagonalNetwork" in shown[1]
    assert "exact" in shown[2] and "W, Theorem" in shown[2] and "(50,)" in shown[2]
    assert (
        "converged" in shown[3]
        and f"{len(flow.times)} states" in shown[3]
        and "error: about" in shown[3]
    )


def test_brackets_say_what_lies_between_what():
    X, y = [[1.0, 0.0], [0.0, 1.0], [0.5, 2.0]], [1.0, -1.0, 1.0]
    distance = bf.diagnostics.interclass_distance(X, y, 1)
    assert isinstance(distance, bf.Bracket) and distance.objective in distance
    assert (distance.certificate.primal, distance.certificate.dual, distance.certificate.kind) == (
        distance.lower,
        distance.upper,
        distance.kind,
    )
    assert repr(distance).startswith("Bracket(") and "exact, value (2, 1)" in repr(distance)
    least, margin = bf.limits.min_l1([[1.0, 2.0]], [1.0]), bf.limits.l2_max_margin([[1.0, 2.0]])
    assert least.certificate.upper == least.certificate.primal >= least.certificate.lower
    assert margin.certificate.upper == margin.certificate.dual and margin.objective > 0
    assert least.objective in least.certificate and 0.0 not in least.certificate


def test_networks_below_floats_say_so():
    model = bf.TwoLayer(3, 2)
    data = bf.Dataset(np.eye(2), [1.0, -1.0], "two points")
    problem = bf.Problem(
        model, data, bf.SquareLoss("half-mean"), model.init(1.0, key=0), log_scale=-2000.0
    )
    assert "e^-2000" in repr(problem) and "two points" in repr(problem)


def test_verdicts_and_claims_read_like_sentences():
    verdict = bf.verify("W/lem1")
    assert (
        repr(verdict) == str(verdict)
        and verdict.claim.statement in repr(verdict.claim)
        and "<function" not in repr(verdict)
    )
