"""What verdicts are made of: checks on both sides of their bound, statuses, evidence of the user's
own, bad input."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory import claim
from biasflow.theory.examples import diagonal_problem, mirror_problem
from biasflow.theory.fits import exponent_check, fitted_exponent, share_check

NEVER = bf.theory.Claim(
    "X/raises", "a claim that raises", "nowhere", (), diagonal_problem, lambda evidence: 1 / 0
)


def check(measured, relation, bound, error=0.0, **notes):
    return bf.theory.Check(
        "q", measured, relation, bound, error, **{"witness": "a second route", **notes}
    )


@pytest.mark.parametrize(
    ("one", "status"),
    [
        (check(1.0, "<=", 2.0), "holds"),
        (check(1.0, "<=", 1.0), "holds"),
        (check(1.0, "<=", 2.0, 1.0), "holds"),
        (check(1.0, "<=", 2.0, 1.5), "inconclusive"),
        (check(2.0, "<=", 1.0, 1.5), "inconclusive"),
        (check(2.0, "<=", 1.0, 0.5), "violated"),
        (check(1.0, ">=", 2.0, 0.5), "violated"),
        (check(1.0, "<=", 2.0, np.inf), "inconclusive"),
        (check(np.nan, "<=", 2.0), "inconclusive"),
        (check(1.0, "<=", np.nan), "inconclusive"),
        (check(np.inf, "<=", 1.0), "inconclusive"),
        (check(-np.inf, "<=", 1.0), "inconclusive"),
        (check(1.0, "<=", np.inf), "inconclusive"),
        (check(1.0, "==", 1.05, 0.09), "holds"),
        (check(1.0, "==", 1.3, 0.09), "violated"),
        (check(1.0, "==", 1.0, 0.2), "inconclusive"),
        (check(1e-3, "==", 0.0, 1e-2, size=1e-2), "inconclusive"),
        (check(1.0, "<=", 2.0, witness=""), "consistent"),
        (check(2.0, "<=", 1.0, witness=""), "violated"),
    ],
)
def test_a_check_is_open_where_its_error_exceeds_its_slack_on_either_side(one, status):
    assert one.status == status
    assert one.why or status in ("holds", "violated")


def test_an_unknown_relation_is_refused():
    with pytest.raises(bf.errors.InputError, match="relation"):
        check(1.0, "<", 2.0)


def test_sharpness_exponents_and_null_models():
    bound = check(1e-3, "<=", 1e-1, base=1e-10, exponent=0.1, null=0.5)
    assert bound.sharpness == pytest.approx(100.0)
    assert bound.best_exponent == pytest.approx(0.3)
    assert bound.informative is True
    assert check(1e-3, "<=", 1e-1, null=0.05).informative is False
    assert check(4.0, ">=", 2.0).sharpness == pytest.approx(2.0)
    assert check(1.0, "==", 1.0, 1e-3).sharpness is None
    assert check(0.0, "<=", 1.0).sharpness == np.inf


def verdict(*checks, **changes):
    return bf.Verdict(dataclasses.replace(claim("W/thm1"), **changes), (), checks)


def test_verdicts_are_as_bad_as_their_worst_check():
    good, shared, open_, bad = (
        check(1.0, "<=", 2.0),
        check(1.0, "<=", 2.0, witness=""),
        check(1.0, "<=", 2.0, 3.0),
        check(3.0, "<=", 2.0),
    )
    assert verdict(good).status == "holds" and verdict(good).why == ""
    assert verdict(good, shared).status == "consistent" and "witness" in verdict(good, shared).why
    assert verdict(shared, open_).status == "inconclusive"
    assert verdict(bad, open_, shared).status == "violated"
    assert verdict().status == "inconclusive" and "no check" in verdict().why


def test_null_models_that_pass_are_told():
    empty = verdict(check(1.0, "<=", 2.0, null=1.5), null="the kernel solution")
    assert (
        empty.informative is False
        and "not informative here: the kernel solution passes too" in str(empty)
    )
    assert (
        verdict(check(1.0, "<=", 2.0, null=1.5), check(1.0, "<=", 2.0, null=3.0)).informative
        is True
    )


def test_a_limit_seen_from_finitely_many_places_is_consistent_at_best():
    flat, fitted = check(1.0, "<=", 2.0), check(1.0, "==", 1.0, 1e-2, decades=3.5)
    assert verdict(flat, kind=bf.theory.Kind.ASYMPTOTIC).status == "consistent"
    assert verdict(flat, fitted, kind=bf.theory.Kind.ASYMPTOTIC).status == "holds"


def test_statuses_are_strings():
    assert (
        bf.theory.Status.HOLDS == "holds"
        and f"{bf.theory.Status.HYPOTHESES_FAIL}" == "hypotheses fail"
    )
    assert all(status.meaning for status in bf.theory.Status) and all(
        kind.evidence for kind in bf.theory.Kind
    )


def test_hypotheses_are_tested_in_order_up_to_the_first_that_fails():
    seen = []

    def hypothesis(name, failure, structural=False):
        return bf.theory.Hypothesis(
            name, name, lambda evidence: seen.append(name) or failure, structural
        )

    for structural, status in ((False, "hypotheses fail"), (True, "does not apply")):
        seen.clear()
        one = dataclasses.replace(
            NEVER,
            hypotheses=(
                hypothesis("a", None),
                hypothesis("b", "no", structural),
                hypothesis("c", None),
            ),
        )
        found = bf.verify(one)
        assert (
            found.status == status
            and seen == ["a", "b"]
            and found.why == "no"
            and found.checks == ()
        )


def test_a_claim_that_raises_is_inconclusive_with_the_reason():
    found = bf.verify(NEVER)
    assert found.status == "inconclusive" and "ZeroDivisionError" in found.why
    odd = dataclasses.replace(NEVER, check=lambda evidence: ("no check",))
    assert bf.verify(odd).status == "inconclusive"


def test_power_laws_and_their_errors():
    x = np.geomspace(1e-6, 1e-1, 12)
    slope, error, decades = fitted_exponent(x, 3 * x**0.7)
    assert slope == pytest.approx(0.7) and error < 1e-9 and decades == pytest.approx(5.0)
    late = fitted_exponent(x, x**0.7 / (1 + 3 * x**0.5))
    # the next term of an expansion: the curvature that it makes is in the error
    assert abs(late[0] - 0.7) <= late[1]
    assert exponent_check("q", x, x**0.7, 0.75, witness="w").status == "violated"
    noisy = x**0.7 * np.exp(0.1 * np.random.default_rng(0).standard_normal(12))
    assert exponent_check("q", x, noisy, 0.7, witness="w").status == "holds"


def test_a_fitted_exponent_covers_the_truth_on_noisy_power_laws():
    x, missed = np.geomspace(1e-4, 1e-1, 8), 0
    for seed in range(400):
        slope, error, _ = fitted_exponent(
            x, x * np.exp(0.05 * np.random.default_rng(seed).standard_normal(8))
        )
        missed += abs(slope - 1) > error
    assert missed <= 12  # 99% confidence: 4 expected, 12 with probability below 1e-3


@pytest.mark.parametrize(
    ("successes", "status"), [(400, "holds"), (380, "inconclusive"), (330, "violated")]
)
def test_shares_are_judged_by_an_exact_interval(successes, status):
    assert share_check("q", successes, 400, 0.95, witness="draws").status == status


def flow_of(problem, **options):
    return bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start, **options)


def test_a_flow_of_ones_own_is_evidence():
    problem = diagonal_problem(0)
    assert bf.verify("W/thm1", flow=flow_of(problem)).status == "holds"
    assert bf.verify("W/thm1", problem, flow=flow_of(problem, method="weights")).status == "holds"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda s: bf.models.DiagonalParams(1.001 * s.plus, s.minus),
        lambda s: bf.models.DiagonalParams(s.plus[::-1], s.minus[::-1]),
        lambda s: bf.models.DiagonalParams(s.plus, np.broadcast_to(s.minus[0], s.minus.shape)),
    ],
)
def test_a_flow_that_does_not_follow_the_gradient_is_not_judged(spoil):
    flow = flow_of(diagonal_problem(0))
    later = [
        np.vstack([own[:1], leaf[1:]])
        for own, leaf in zip(flow.states, spoil(flow.states), strict=True)
    ]
    found = bf.verify(
        "W/thm1", flow=dataclasses.replace(flow, states=bf.models.DiagonalParams(*later))
    )
    assert found.status == "does not apply" and "no gradient flow" in found.why


@pytest.mark.parametrize("place", [3, 20, -10, -2])
def test_one_state_off_is_found_wherever_it_is(place):
    flow = flow_of(diagonal_problem(0))
    plus = flow.states.plus.copy()
    plus[place] *= 1.001
    found = bf.verify(
        "W/thm1",
        flow=dataclasses.replace(flow, states=bf.models.DiagonalParams(plus, flow.states.minus)),
    )
    assert found.status == "does not apply"


@pytest.mark.parametrize(
    ("name", "stride"),
    [(name, stride) for name in ("W/thm1", "R/eq3", "R/lemA1") for stride in (1, 10, 40)],
)
def test_states_of_a_gradient_flow_are_never_held_against_a_theorem(name, stride):
    problem = diagonal_problem(1, scale=0.3)
    flow = flow_of(problem, method="weights")
    places = [*range(0, len(flow.times) - 1, stride), len(flow.times) - 1]
    states = [(flow.states.plus[k], flow.states.minus[k]) for k in places]
    found = bf.verify(name, problem, flow=bf.theory.Checkpoints(flow.times[places], states))
    assert found.status in ("holds", "inconclusive"), str(found)


@pytest.mark.parametrize("key", [0, 2])
def test_the_librarys_own_flow_from_far_below_rounding_is_one(key):
    """Between jumps, states tell the weights that wait no better than to the error of those that
    have grown."""
    problem = diagonal_problem(key, scale=1e-30)
    found = bf.verify("W/thm2", problem, flow=flow_of(problem))
    assert found.status == "holds", str(found)


def test_a_flow_under_another_loss_with_the_same_first_velocity_is_found_out():
    problem = diagonal_problem(0, n=4, d=8)
    labelled = bf.Dataset(problem.data.X, np.sign(problem.data.y))
    start, model = problem.model.init(0.3, dim=8), problem.model
    flow = bf.gradient_flow(model, labelled, bf.ExponentialLoss(), start, t1=5.0)
    found = bf.verify(
        "W/thm1", bf.Problem(model, labelled, bf.SquareLoss("half-mean"), start), flow=flow
    )
    assert found.status == "does not apply", str(found)


def test_the_right_predictor_with_wrong_weights_is_no_flow():
    flow = flow_of(diagonal_problem(0))
    plus, minus = (leaf.copy() for leaf in flow.states)
    plus[-1], minus[-1] = np.sqrt(plus[-1] ** 2 + 1), np.sqrt(minus[-1] ** 2 + 1)
    assert (
        bf.verify(
            "W/thm1", flow=dataclasses.replace(flow, states=bf.models.DiagonalParams(plus, minus))
        ).status
        == "does not apply"
    )


def test_labels_beyond_floats_are_left_open():
    problem = diagonal_problem(0)
    huge = dataclasses.replace(problem, data=bf.Dataset(problem.data.X, 1e200 * problem.data.y))
    with np.errstate(all="ignore"):
        assert bf.verify("W/thm1", huge).status not in ("holds", "violated")


def test_single_precision_states_start_where_the_problem_does():
    problem, run = diagonal_problem(0), descended(diagonal_problem(0), 1e-5, 500, 4)
    single = [tuple(leaf.astype(np.float32) for leaf in state) for state in run.states]
    assert bf.verify("R/eq3", problem, flow=bf.theory.Checkpoints(run.times, single)).status in (
        "holds",
        "inconclusive",
    )


def test_evidence_that_a_claim_does_not_look_at_is_not_passed_over_in_silence():
    """W/lem1 speaks of the potential alone, R/eq3 of the flow alone."""
    problem = diagonal_problem(0)
    limit = bf.limit(problem.model, problem.data, start=problem.start)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    for name, given in (("limit", {"limit": limit}), ("flow", {"flow": flow})):
        verdict = bf.verify("W/lem1", problem, **given)
        assert (
            verdict.status == "does not apply"
            and f"nothing about the {name} given" in verdict.reason
        ), str(verdict)


def test_a_wrong_limit_is_violated():
    problem = diagonal_problem(0)
    limit = bf.limit(problem.model, problem.data, start=problem.start)
    null = np.linalg.svd(problem.data.X)[2][-1]
    moved = dataclasses.replace(limit, value=limit.value + 1e-4 * null)
    assert bf.verify("W/thm1", problem, limit=limit).status == "holds"
    assert bf.verify("W/thm1", problem, limit=moved).status == "violated"


def descended(problem, step, every, count):
    """Plain gradient descent in NumPy, as somebody's own training loop."""
    (plus, minus), X, y = problem.start, problem.data.X, problem.data.y
    states = [(plus, minus)]
    for k in range(every * count):
        pull = 2 * X.T @ (X @ (plus**2 - minus**2) - y)
        plus, minus = plus - step * 2 * plus * pull, minus + step * 2 * minus * pull
        if (k + 1) % every == 0:
            states.append((plus, minus))
    return bf.theory.Checkpoints(step * every * np.arange(count + 1), states)


def test_checkpoints_of_a_training_loop_are_a_flow_as_far_as_their_steps_are_small():
    problem = diagonal_problem(0)
    fine, coarse = descended(problem, 1e-5, 2000, 40), descended(problem, 3e-3, 10, 40)
    verdict = bf.verify("R/eq3", problem, flow=fine)
    assert verdict.status in ("holds", "inconclusive"), str(verdict)
    assert bf.verify("R/eq3", problem, flow=coarse).status == "does not apply"


def test_states_may_be_mappings():
    problem, run = diagonal_problem(0), descended(diagonal_problem(0), 1e-5, 2000, 5)
    named = [{"plus": plus, "minus": minus} for plus, minus in run.states]
    assert bf.verify("R/eq3", problem, flow=bf.theory.Checkpoints(run.times, named)).status in (
        "holds",
        "inconclusive",
    )
    with pytest.raises(bf.errors.InputError, match="no minus"):
        bf.verify(
            "R/eq3",
            problem,
            flow=bf.theory.Checkpoints(run.times, [{"plus": plus} for plus, _ in run.states]),
        )


def test_checkpoints_need_their_problem():
    run = descended(diagonal_problem(0), 1e-5, 100, 3)
    with pytest.raises(bf.errors.InputError, match="checkpoints carry none"):
        bf.verify("R/eq3", flow=run)


@pytest.mark.parametrize("error", ["a", np.ones(7), [[1.0]], -1.0, np.nan, np.inf])
def test_errors_that_do_not_fit_are_refused(error):
    run = descended(diagonal_problem(0), 1e-5, 100, 3)
    with pytest.raises(bf.errors.InputError):
        bf.verify(
            "R/eq3", diagonal_problem(0), flow=bf.theory.Checkpoints(run.times, run.states, error)
        )
    with pytest.raises(bf.errors.InputError, match="list of parameters"):
        bf.verify("R/eq3", diagonal_problem(0), flow=bf.theory.Checkpoints(run.times, 5))


@pytest.mark.parametrize("value", [np.ones(3), np.full(24, np.nan), ["a"] * 24])
def test_limits_that_do_not_fit_are_refused(value):
    problem = diagonal_problem(0)
    limit = bf.limit(problem.model, problem.data, start=problem.start)
    with pytest.raises(bf.errors.InputError, match="limit"):
        bf.verify("W/thm1", problem, limit=dataclasses.replace(limit, value=value))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t, s: (t[::-1], s), "start at 0"),
        (lambda t, s: (t, s[:-1]), "as many"),
        (lambda t, s: (t[1:], s[1:]), "start at 0"),
        (lambda t, s: (t, [(a[:-1], b) for a, b in s]), "length|shape|entries|24"),
        (lambda t, s: (t, [(a, np.full_like(b, np.nan)) for a, b in s]), "finite|nan"),
        (lambda t, s: (t, [(2 * a, b) for a, b in s]), "not the problem's start"),
        (lambda t, s: (t, [a for a, _ in s]), "expected 2 arrays"),
        (lambda t, s: (t, [("a", "b") for _ in s]), "not arrays of numbers"),
    ],
)
def test_checkpoints_that_do_not_fit_are_refused(change, words):
    problem = diagonal_problem(0)
    run = descended(problem, 1e-5, 100, 3)
    with pytest.raises(bf.errors.InputError, match=words):
        bf.verify(
            "R/eq3", problem, flow=bf.theory.Checkpoints(*change(np.asarray(run.times), run.states))
        )


def test_a_flow_of_another_problem_is_refused():
    flow = flow_of(diagonal_problem(0))
    with pytest.raises(bf.errors.InputError, match="another problem"):
        bf.verify("W/thm1", diagonal_problem(1), flow=flow)
    with pytest.raises(bf.errors.InputError, match="another problem"):
        bf.verify("R/thm2.2", mirror_problem(0), flow=flow)
    problem = diagonal_problem(0)
    for other in ({"model": bf.DiagonalNetwork(3)}, {"loss": bf.SquareLoss("half")}):
        with pytest.raises(bf.errors.InputError, match="another problem"):
            bf.verify("W/thm1", dataclasses.replace(problem, **other), flow=flow)


@pytest.mark.parametrize(
    "keywords",
    [
        {"time_s": 0.0},
        {"time_s": -1.0},
        {"time_s": np.nan},
        {"flow": 3},
        {"limit": np.ones(3)},
        {"key": -1},
        {"problem": "mine"},
    ],
)
def test_bad_arguments_are_refused(keywords):
    with pytest.raises(bf.errors.InputError):
        bf.verify("W/thm1", **keywords)
    with pytest.raises(bf.errors.InputError):
        bf.verify(3)
