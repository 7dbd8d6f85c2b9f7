"""Every claim holds on its examples, and is refused where a hypothesis is spoiled."""

import copy
import dataclasses

import golden_claims
import margin_worlds
import mirror_worlds
import numpy as np
import pytest
import regimes_worlds
import relu_worlds
import since_worlds
from worlds import unspoiled

import biasflow as bf
from biasflow import theory
from biasflow.theory import Evidence, claim
from biasflow.theory.examples import diagonal_problem, mirror_problem
from biasflow.theory.relu.early_lemmas import Inequality

ANY_LABELS = {
    "S/extremal",
    "S/relu-saddles",
    "S/laws",
    "S/laws-decay",
    "R/lemA1",
    "R/thm2.2",
    "R/thm2.3",
    "R/eq2",
    "R/eq3",
    "R/sec4",
    "R/lem2.4",
    "R/lem3.3",
    "R/lemA3",
    "R/thm3.4",
    "R/lem3.5",
    "R/lemA2",
    "R/cone",
    "W/hilbert",
    "W/fn1",
    "B/lem1",
    "B/eq9",
    "B/assumption-2",
    "B/assumption-3",
    "S/lasso",
    "S/saddles",
}
"""Claims that do not ask whether the labels can be fitted."""
REGRESSIONS = [name for name in bf.claims() if not name.startswith(("C/", "S/certify"))]
NETWORK_CLAIMS = [name for name in bf.claims() if name.startswith("W/")]


CONSISTENT = {
    **mirror_worlds.CONSISTENT,
    **relu_worlds.CONSISTENT,
    **margin_worlds.CONSISTENT,
    **regimes_worlds.CONSISTENT,
    **since_worlds.CONSISTENT,
}
"""Claims that no finite evidence can settle, and what is missing."""


GOLDEN = golden_claims.kept()
DEAR = (
    *("B/thm1", "B/saddles", "B/nearly", "C/thm2", "C/cor4", "C/thm5"),
    *("C/thm8", "C/thm10", "C/thm22", "C/growth", "C/interchange"),
)
"""Claims whose verdict takes more than five seconds of computing: further examples are slow."""


def further(name, key):
    """The first example is in the fast set, unless it is listed as too long; the second is in the
    thorough one."""
    if key == 0:
        return []
    return [pytest.mark.slow if key > (name not in DEAR) else pytest.mark.thorough]


EXAMPLES = [
    pytest.param(name, key, id=f"{key}-{name}", marks=further(name, key))
    for key in (0, 1, 2, 7)
    for name in bf.claims()
]


@pytest.mark.parametrize("name, key", EXAMPLES)
def test_holds_on_its_examples(name, key):
    """On the first as it did when that was written down (tests/golden/golden_claims.py)."""
    verdict = unspoiled(name, key)
    assert verdict.checks
    if key == golden_claims.KEY:
        assert name in GOLDEN, f"write it down: python tests/golden/golden_claims.py {name}"
        found = golden_claims.digest(verdict)
        assert golden_claims.differences(GOLDEN[name], found, numbers=False) == []
    assert verdict.status == ("consistent" if name in CONSISTENT else "holds"), str(verdict)
    assert verdict.witnesses or name in CONSISTENT


@pytest.mark.slow
@pytest.mark.parametrize("name", bf.claims())
def test_its_numbers_are_where_they_were(name):
    """On the machine that wrote them down: for those who rearrange the code."""
    found = golden_claims.digest(unspoiled(name, golden_claims.KEY))
    assert golden_claims.differences(GOLDEN[name], found) == []


def test_a_verdict_that_moved_is_noticed():
    """In its words, or in a number by more than the check's own error."""
    before = {
        "status": "holds",
        "checks": [
            {"quantity": "q", "relation": "<=", "status": "holds"}
            | {"measured": 1.0, "bound": 2.0, "error": 1e-3}
        ],
    }
    assert golden_claims.differences(before, before) == []
    for key, value in (
        ("measured", 1.06),
        ("bound", 2.003),
        ("bound", float("nan")),
        ("status", "violated"),
    ):
        after = copy.deepcopy(before)
        after["checks"][0][key] = value
        assert golden_claims.differences(before, after) != []
    near = copy.deepcopy(before)
    near["checks"][0]["measured"] = 1.0015
    assert golden_claims.differences(before, near) == []
    assert golden_claims.differences(before, {**before, "status": "consistent"}) != []
    assert golden_claims.differences(before, {**before, "checks": []}) != []


@pytest.mark.parametrize("name", bf.claims())
def test_examples_satisfy_the_hypotheses_and_depend_on_the_key(name):
    statement = claim(name)
    first, second = statement.example(0), statement.example(1)
    evidence = Evidence(first)
    assert all(h.test(evidence) is None for h in statement.hypotheses)
    assert not np.array_equal(*(numbers(p) for p in (first, second)))


NUMBERS = {
    bf.theory.PowerProblem: lambda p: [p.mu, p.beta0],
    theory.Clusters: lambda p: np.array([p.k, p.d, p.key]),
    bf.theory.LegendreProblem: lambda p: [p.X, p.y, p.beta0],
    bf.MirrorProblem: lambda p: p.X,
    bf.Dataset: lambda p: p.X,
    bf.theory.Scores: lambda p: p.margins,
    bf.theory.Alternating: lambda p: p.grid(3).X,
    bf.Problem: lambda p: p.data.X,
    Inequality: lambda p: [p.a, p.b, p.c, p.start],
}


def numbers(problem):
    return NUMBERS[type(problem)](problem)


@pytest.mark.parametrize(
    "name",
    [n for n in REGRESSIONS if n not in ("R/lem5.1", "R/legendre", "B/assumption-1", "B/lem16")],
)
def test_inconsistent_labels_are_refused_where_the_claim_needs_them_and_harmless_elsewhere(name):
    problem = claim(name).example(0)
    if isinstance(problem, bf.MirrorProblem):
        spoiled = dataclasses.replace(
            problem,
            X=np.vstack([problem.X, problem.X[0]]),
            y=np.append(problem.y, problem.y[0] + 1),
        )
    else:
        own = problem if isinstance(problem, bf.Dataset) else problem.data
        data = bf.Dataset(np.vstack([own.X, own.X[0]]), np.append(own.y, own.y[0] + 1))
        spoiled = data if own is problem else dataclasses.replace(problem, data=data)
    verdict = bf.verify(name, spoiled)
    if name not in ANY_LABELS:
        assert verdict.status == "hypotheses fail"
        assert verdict.checks == ()
        assert any(
            words in str(verdict)
            for words in (
                "no β solves",
                "needs n =",
                "not orthonormal",
                "not orthogonal",
                "positive multiples",
                "different labels",
                "labels other than ±1",
            )
        )
    else:
        assert verdict.status == "holds", str(verdict)


@pytest.mark.parametrize("name", NETWORK_CLAIMS)
def test_claims_about_networks_refuse_mirror_problems(name):
    assert bf.verify(name, mirror_problem(0)).status == "does not apply"


@pytest.mark.parametrize(
    ("name", "depth"), [("W/thm1", 3), ("W/lem1", 3), ("W/limit", 4), ("W/thm3", 2), ("W/lem4", 2)]
)
def test_the_wrong_depth_is_refused(name, depth):
    verdict = bf.verify(name, diagonal_problem(0, depth=depth))
    assert verdict.status == "does not apply"
    assert f"D = {depth}" in str(verdict)


def test_a_biased_start_is_refused_by_theorem_1_but_not_by_theorem_2_2_of_r():
    problem = diagonal_problem(0)
    rng = np.random.default_rng(0)
    start = bf.models.DiagonalParams(rng.uniform(0.1, 1, 24), rng.uniform(0.1, 1, 24))
    biased = dataclasses.replace(problem, start=start)
    assert bf.verify("W/thm1", biased).status == "hypotheses fail"
    assert bf.verify("R/thm2.2", biased).status == "holds"


def test_between_the_thresholds_theorem_2_says_nothing():
    verdict = bf.verify("W/thm2", diagonal_problem(0, scale=0.5))
    assert verdict.status == "hypotheses fail"
    assert "between the thresholds" in str(verdict)


def test_labels_out_of_reach_of_the_orthant_are_refused():
    problem = bf.MirrorProblem(bf.potentials.Entropy(), np.array([[1.0, 2.0]]), np.array([-1.0]))
    verdict = bf.verify("R/thm2.2", problem)
    assert verdict.status == "hypotheses fail"
    assert "out of reach" in str(verdict)


@pytest.mark.parametrize("verify", [False, True])
def test_a_point_that_no_theorem_predicts_is_said_to_be_one_and_judged_by_none(verify):
    """The limit from another scale, of other labels, the least ℓ1 norm, a point near the limit."""
    problem = diagonal_problem(0)
    model, data = problem.model, problem.data
    flow = bf.gradient_flow(problem)
    own = bf.limit(problem)
    points = [
        bf.limit(model, data, scale=1.0),
        bf.limit(model, bf.Dataset(data.X, 2 * data.y), start=problem.start),
        bf.min_norm(data.X, data.y, norm="l1"),
        dataclasses.replace(own, value=1.001 * own.value),
    ]
    for point in points:
        comparison = bf.compare(flow, point, verify=verify)
        assert comparison.predicted is False and comparison.verdicts == ()
        assert comparison.distance == np.max(np.abs(model.effective(flow.final) - point.value))
        assert "predict another limit (W, Theorem 1" in str(comparison)
    assert bf.compare(flow, own, verify=verify).predicted is True


def test_networks_are_compared_with_what_theory_predicts_for_them():
    problem = claim("B/limit").example(0)
    flow, own = bf.gradient_flow(problem), bf.limit(problem)
    a, W = own.value
    swapped = bf.models.TwoLayerParams(a[::-1], W[::-1])  # the same network
    assert bf.compare(flow, dataclasses.replace(own, value=swapped)).predicted is True
    unbalanced = bf.models.TwoLayerParams(1.25 * a, W / 1.25)
    assert bf.compare(flow, dataclasses.replace(own, value=unbalanced)).predicted is False
    data, loss = bf.Dataset([[1.0, 2], [2, 1]], [1.0, 2]), bf.SquareLoss("half-mean")
    open_end = bf.Problem(bf.TwoLayer(8, 2), data, loss, scale=0.1)
    found = bf.compare(bf.gradient_flow(open_end, t1=1.0), bf.min_norm(open_end.data, norm="relu"))
    assert found.predicted is None and "no theorem here predicts" in str(found)


def test_the_exponent_as_printed_is_violated(monkeypatch):
    """W prints −4 in (6) and (16) for ‖·‖²; −8 is right: with −4 the formula misses by far more
    than the integration error."""
    from biasflow.theory.regimes import depth_two

    def formula(verdict):
        return next(c for c in verdict.checks if "sinh" in c.quantity)

    problem = diagonal_problem(0)
    assert formula(bf.verify("W/thm1", problem)).status == "holds"
    assert (
        bf.verify("W/thm1", dataclasses.replace(problem, loss=bf.SquareLoss("half"))).status
        == "holds"
    )
    monkeypatch.setattr(depth_two, "EXPONENT", 4.0)
    printed = formula(bf.verify("W/thm1", problem))
    assert printed.status == "violated" and printed.measured > 0.1


def test_comparison_reads_as_sentences():
    problem = diagonal_problem(3)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    comparison = bf.compare(
        flow, bf.limit(problem.model, problem.data, start=problem.start), verify=True
    )
    assert comparison.distance <= 1e-8
    status = {v.claim.id: v.status for v in comparison.verdicts}
    assert status["W/thm1"] == "holds" and "violated" not in status.values()
    assert "converged" in str(comparison) and "the flow follows ∇L" in str(comparison)


def test_unknown_claims_suggest_the_nearest():
    with pytest.raises(bf.errors.UnknownNameError, match="W/thm1"):
        bf.verify("W/thm11")


def test_the_sharp_rate_is_attained_at_the_identity():
    """X = I, r constant, symmetric start near the limit: D decays at exactly the sharp rate, four
    times R's κ₁."""
    r, n = 0.3, 4
    y = np.full(n, 1e-6)  # near β = 0 the inverse curvature is 2r everywhere
    potential = bf.potentials.ScaledPotential(0.5, bf.potentials.Hypentropy(r))
    flow = bf.mirror_flow(potential, np.eye(n), y, times=[1.0, 2.0])
    D = [bf.potentials.bregman(potential, y, beta) for beta in flow.states]
    assert np.log(D[0] / D[1]) == pytest.approx(4 * r, rel=1e-5)


def test_theorem_2_6_as_printed_is_violated():
    """∇φ is √101/√1.01-Lipschitz on the sublevel set, a line: R's rate would be 10.1, the flow has
    4, a Hessian bound 1.01."""
    X, curvature = np.array([[1.0, 10.0]]), np.array([1.0, 100.0])
    problem = bf.MirrorProblem(
        bf.potentials.ScaledPotential(curvature, bf.potentials.Euclidean()), X, np.array([1.0])
    )
    flow = bf.mirror_flow(problem.potential, X, problem.y, times=[0.5, 1.5])
    best = bf.bregman_projection(problem.potential, X, problem.y).value
    D = [bf.potentials.bregman(problem.potential, best, beta) for beta in flow.states]
    rate = np.log(D[0] / D[1])
    # ‖Δη‖/‖Δβ‖, the same for every pair of points
    on_the_set = np.linalg.norm(X) / np.linalg.norm(X / curvature)
    printed = np.linalg.norm(X) ** 2 / on_the_set
    assert rate == pytest.approx(4.0, rel=1e-6)
    assert printed == pytest.approx(10.1)
    assert bf.diagnostics.local_bounds(problem).linear == pytest.approx(1.01)
    assert bf.verify("R/thm2.6", problem).status == "holds"


def test_the_limit_under_a_squared_hinge_is_not_the_projection():
    """The second sample is fitted first and pushes β₂ on the way; (1, 0) fits both and is nearer to
    the start."""
    from biasflow.theory.mirror.objectives import objective_flow, squared_hinge

    X, potential = np.array([[1.0, 0.0], [3.0, 1.0]]), bf.potentials.Euclidean()
    reached = objective_flow(
        squared_hinge(np.ones(2)), bf.MirrorProblem(potential, X, np.ones(2), np.zeros(2)), 10.0
    ).final
    rival = np.array([1.0, 0.0])
    assert np.all(X @ reached > 1 - 1e-6)
    assert np.all(X @ rival >= 1)
    assert bf.potentials.bregman(potential, reached, np.zeros(2)) > bf.potentials.bregman(
        potential, rival, np.zeros(2)
    ) * (1 + 1e-3)
