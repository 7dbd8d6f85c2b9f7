"""Verdicts, claims, comparisons, probes, transitions and arrivals show themselves."""

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.verdict_pictures import verdict_card
from biasflow.theory.verdicts import Check, Claim, Hypothesis, Status, Verdict
from test_shown_records import CLASSES, DATA, EVIL, HALF, LINE, check, diagonal


def claim(statement="a ≤ b", id="X/1"):
    return Claim(id, statement, "a reference", (), lambda key: None, lambda evidence: ())


def test_verdicts_have_their_checks():
    checks = (
        Check("gap", 0.5, "<=", 1.0, 0.01, witness="raw gradients"),
        Check("rate", 2.0, ">=", 3.0, 0.1),
        Check("limit", 1.0, "==", 1.0, 1e-9, witness="raw gradients"),
        Check("unknown", float("nan"), "==", 0.0, reason="it could not be made"),
    )
    verdict = Verdict(claim(), (), checks)
    assert verdict.status is Status.VIOLATED
    words = check(verdict._repr_html_())
    for said in ("violated", "0.5 ≤ 1", "2 ≥ 3", "it could not be made", "raw gradients"):
        assert said in words
    labels = [tick.get_text() for tick in verdict.plot().axes[0].get_yticklabels()]
    assert labels == ["limit", "rate", "gap"]
    assert Verdict(claim(), (), ()).plot().axes


def test_what_a_claim_says_is_escaped():
    hypothesis = Hypothesis(EVIL, EVIL, lambda evidence: None)
    verdict = Verdict(claim(EVIL, EVIL), ((hypothesis, EVIL),), (Check(EVIL, 1.0, "<=", 2.0),))
    assert "<script" not in verdict_card(verdict) and EVIL in check(verdict_card(verdict))
    assert "<script" not in claim(EVIL)._repr_html_()


def test_a_real_verdict_and_its_claim():
    verdict = bf.verify("W/lem1")
    assert verdict.claim.reference in check(verdict._repr_html_())
    assert verdict.claim.statement in check(verdict.claim._repr_html_())
    assert verdict.plot().axes


def test_comparisons_show_flow_against_limit():
    problem = diagonal()
    compared = bf.compare(bf.gradient_flow(problem), bf.limit(problem), verify=True)
    assert repr(compared) == str(compared) and len(repr(compared).splitlines()) < 9
    assert "W/thm1" in check(compared._repr_html_())
    assert len(compared.plot().axes) == 2


def test_a_relu_flow_is_compared_with_the_interpolator_of_least_norm():
    model = bf.TwoLayer(8, 2)
    problem = bf.Problem(model, LINE, bf.SquareLoss("half-mean"), model.init(0.05, key=2))
    flow, least = bf.gradient_flow(problem, t1=60.0), bf.min_norm(LINE, norm="relu")
    compared = bf.compare(flow, least)
    assert compared.distance == pytest.approx(np.max(np.abs(flow(LINE.X) - least(LINE.X))))
    ours, theirs = compared.norms
    assert theirs == pytest.approx(least.objective)
    assert ours == pytest.approx(np.sum(flow.final.a**2) + np.sum(flow.final.W**2))
    assert "‖θ‖²" in str(compared) and "‖θ‖²" in check(compared._repr_html_())
    assert len(compared.plot().axes) == 2
    linear = bf.compare(flow, bf.min_norm(LINE.X[:2], LINE.y[:2], norm="l2"))
    assert "predictions" in linear.compared and linear.norms is None


def test_time_in_steps_of_descent():
    problem = diagonal()
    flow = bf.gradient_flow(problem)
    arrival = bf.diagnostics.time_to(flow, loss=1e-6)
    step = 0.5 * arrival.largest_step
    assert arrival.steps(step) == np.ceil(arrival.time / step)
    assert "steps of gradient descent" in str(arrival)
    # on either side of 2/λ descent from beside the end of the flow comes back, or leaves
    ends = []
    for factor in (0.9, 1.1):
        start = type(problem.start)(*(1.001 * leaf for leaf in flow.final))
        near = bf.Problem(problem.model, DATA, HALF, start)
        run = bf.train(near, steps=300, step=factor * arrival.largest_step)
        ends.append(run.loss[-1] / run.loss[0])
    assert ends[0] < 0.1 and not ends[1] < 1
    with pytest.raises(bf.errors.InputError, match="too large"):
        arrival.steps(2 * arrival.largest_step)
    never = bf.diagnostics.time_to(bf.gradient_flow(problem, t1=0.01), loss=1e-6)
    with pytest.raises(bf.errors.InputError, match="not reached"):
        never.steps(1e-3)


def test_probes_show_and_notice_checkpoints_that_are_no_copies():
    model = bf.TwoLayer(6, 3)
    start = model.init(1.0, key=0)
    moved = type(start)(*(1.5 * leaf for leaf in start))
    probed = bf.probe(model, [start, moved], CLASSES.X, CLASSES.y, keys=1)
    assert repr(probed).startswith(f"Probe: {probed.verdict}") and len(repr(probed)) < 900
    assert "linear gap" in check(probed._repr_html_()) and "deepcopy" not in repr(probed)
    live = type(start)(*(leaf.copy() for leaf in start))
    first = live  # no copy: it changes with the live weights
    live.W[:] += 0.3
    shared = bf.probe(model, [first, live], CLASSES.X, CLASSES.y, keys=1)
    assert shared.verdict == "unmoved"
    for told in (repr(shared), shared.describe(), check(shared._repr_html_())):
        assert "copy.deepcopy" in told
