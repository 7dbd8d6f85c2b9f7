"""Certificates along a training."""

import numpy as np
import pytest

import biasflow as bf


def trained(log_norm=12.0):
    ds = bf.data.clusters(14, k=2, key=0)
    biased = bf.data.with_bias(ds)
    model = bf.TwoLayer(60, 3)
    flow = bf.gradient_flow(
        model, biased, bf.SmoothMargin(), model.init(0.3), rtol=1e-2, log_norm=log_norm
    )
    return ds, flow


def test_the_gap_closes_along_the_flow_and_brackets_the_max_margin():
    ds, flow = trained()
    gamma = bf.limits.f1_max_margin(ds.X, ds.y)
    found = bf.diagnostics.margin_certificates(flow, every=5)
    assert len(found) == len(range(0, len(flow.times) - 1, 5)) + 1
    for certificate in found:
        assert certificate.margin <= gamma.certificate.dual
        assert certificate.upper >= gamma.objective * (1 - 1e-12)
        assert certificate.gap == pytest.approx(
            certificate.direction_slack + certificate.sample_slack, abs=1e-15
        )
    assert found[-1].gap < 0.2 * found[0].gap


def test_ascent_is_certified_too():
    ds = bf.data.clusters(14, k=2, key=0)
    biased = bf.data.with_bias(ds)
    run = bf.training.margin_ascent(biased, bf.TwoLayer(60, 3).init(0.3), 500, records=5)
    found = bf.diagnostics.margin_certificates(run)
    assert len(found) == len(run.times)
    assert all(np.isfinite(c.gap) and c.kind == "exact" for c in found)


def test_other_trajectories_are_refused():
    ds = bf.data.sparse_regression(n=5, d=8, sparsity=2, key=0)
    model = bf.DiagonalNetwork(2)
    flow = bf.gradient_flow(model, ds, bf.SquareLoss(), model.init(0.1, dim=8))
    with pytest.raises(bf.errors.RefusedError, match="TwoLayer"):
        bf.diagnostics.margin_certificates(flow)


def test_the_bias_column_is_needed():
    ds = bf.data.clusters(14, k=2, key=0)
    model = bf.TwoLayer(20, 2)
    flow = bf.gradient_flow(model, ds, bf.SmoothMargin(), model.init(0.3), rtol=1e-2, t1=1.0)
    with pytest.raises(bf.errors.InputError, match="with_bias"):
        bf.diagnostics.margin_certificates(flow)
