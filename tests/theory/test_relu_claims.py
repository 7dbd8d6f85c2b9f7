"""Paper B's claims where they should fail, and the corrected constants."""

import dataclasses

import numpy as np
import pytest

import biasflow as bf
from biasflow.theory.relu import polyak_inequality
from biasflow.theory.relu.relu_examples import (
    _gaussian_labels,
    general_problem,
    in_cones,
    ordinary_problem,
    orthonormal_problem,
    pairs_family,
    planar_problem,
)
from biasflow.theory.relu.relu_setting import Setting


def with_data(problem, X=None, y=None):
    data = problem.data
    return dataclasses.replace(
        problem, data=bf.Dataset(data.X if X is None else X, data.y if y is None else y)
    )


def test_assumptions_are_violated_where_they_fail():
    problem = orthonormal_problem(0)
    skewed = with_data(problem, X=problem.data.X + 0.1)
    assert bf.verify("B/assumption-1", skewed).status == "violated"
    equal = with_data(problem, y=np.array([0.5, -0.5]))
    assert bf.verify("B/assumption-2", equal).status == "violated"
    empty = dataclasses.replace(
        problem, start=bf.models.TwoLayerParams(np.abs(problem.start.a), problem.start.W)
    )
    verdict = bf.verify("B/assumption-3", empty)
    assert verdict.status == "violated" and "S_{−,1} (none)" in str(verdict)


def test_lemmas_name_the_assumption_that_fails():
    problem = orthonormal_problem(0)
    empty = dataclasses.replace(
        problem, start=bf.models.TwoLayerParams(np.abs(problem.start.a), problem.start.W)
    )
    verdict = bf.verify("B/lem4", empty)
    assert (
        verdict.status == "hypotheses fail"
        and "S_{−,1} is empty" in str(verdict)
        and "not minimal" in str(verdict)
    )
    large = orthonormal_problem(0, scale=0.1)
    assert "needs at most 1e-06" in str(bf.verify("B/lem2", large))
    assert "relu" in str(
        bf.verify("B/lem1", dataclasses.replace(problem, model=bf.TwoLayer(30, 6, "leaky_relu")))
    )


@pytest.mark.parametrize("name", [n for n in bf.claims() if n.startswith("B/")])
def test_claims_about_networks_refuse_mirror_problems(name):
    problem = bf.MirrorProblem(bf.potentials.Euclidean(), np.eye(2), np.ones(2))
    assert bf.verify(name, problem).status == "does not apply"


@pytest.mark.parametrize("normalisation", ["half", "sum"])
def test_the_clock_follows_the_loss(normalisation):
    problem = dataclasses.replace(orthonormal_problem(1), loss=bf.SquareLoss(normalisation))
    for name in ("B/timeline", "B/lem3", "B/lem5", "B/u-plus", "B/fact1"):
        verdict = bf.verify(name, problem)
        assert verdict.status == "holds", str(verdict)


def test_epsilon_is_the_largest_that_b2_allows():
    """α and β with 1/n²: with the printed ones, without it, ε would be far larger and Lemma 3 false
    at once."""
    s = Setting(orthonormal_problem(3))
    shares = [
        np.min(y**2) / np.sum(y**2) / 2
        for y in (s.y[s.first.sign * s.y > 0], s.y[s.second.sign * s.y > 0])
    ]
    for eps, allowed in ((s.epsilon, True), (1.001 * s.epsilon, False)):
        one = (1 + 3 * eps) * max(1 - shares[0], 1 / s.ratio) <= 1 - eps + 1e-15
        two = (1 + 3 * s.ratio * eps) * (1 - shares[1]) <= 1 - eps + 1e-15
        assert bool(one and two) is allowed


def test_roles_swap_with_the_labels():
    """Flipping all labels and signs flips everything and nothing else."""
    problem = orthonormal_problem(1)
    flipped = with_data(
        dataclasses.replace(
            problem, start=bf.models.TwoLayerParams(-problem.start.a, problem.start.W)
        ),
        y=-problem.data.y,
    )
    one, two = Setting(problem), Setting(flipped)
    assert one.first.sign == -two.first.sign and one.epsilon == two.epsilon and one.ends == two.ends
    assert bf.verify("B/lem4", flipped).status == "holds"


def test_a_wrong_limit_is_found_out():
    """The flow of one start against the limit of another."""
    from biasflow.theory.evidence import Evidence
    from biasflow.theory.judgement import judge
    from biasflow.theory.verification import claim

    problem = orthonormal_problem(2)
    other = dataclasses.replace(
        problem, start=in_cones(problem.model.init(1.0, key=99), problem.data, 1e-80)
    )
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    assert judge(claim("B/limit"), Evidence(other, flow)).status == "violated"


def test_a_search_that_ran_out_of_time_is_one_open_part():
    """The least norm of forty samples takes most of a minute."""
    rng = np.random.default_rng(9)
    model = bf.TwoLayer(15, 3)
    problem = bf.Problem(
        model,
        bf.Dataset(rng.standard_normal((40, 3)), rng.standard_normal(40)),
        bf.SquareLoss("half-mean"),
        model.init(1e-2, key=1),
    )
    least, *norms = bf.verify("B/eq8", problem, time_s=0.5).checks
    assert least.status == "inconclusive" and least.reason
    assert len(norms) == 4 and all(check.status == "holds" for check in norms)


def from_scale(problem, log_scale):
    a, W = Setting(problem).unit
    start = bf.models.TwoLayerParams(a, W)
    return dataclasses.replace(problem, start=start, log_scale=log_scale)


@pytest.mark.parametrize(
    ("name", "make", "status"),
    [
        # neurons shrink until |a_j| is rounding beside ‖w_j‖, or the other way round
        (
            "B/lem6",
            lambda: with_data(ordinary_problem(1), y=np.abs(ordinary_problem(1).data.y)),
            "holds",
        ),
        # gates of neurons below float range
        ("B/eq9", lambda: from_scale(general_problem(0), -1000.0), "holds"),
        # masses of the start that are no floats
        ("B/eq8", lambda: from_scale(planar_problem(0), -200 * np.log(10)), "holds"),
        # λ^ε is small and the clusters are, too
        (
            "B/timeline",
            lambda: with_data(ordinary_problem(1), y=1e-6 * ordinary_problem(1).data.y),
            "hypotheses fail",
        ),
    ],
)
def test_true_statements_hold_at_the_edges_of_floats(name, make, status):
    verdict = bf.verify(name, make())
    assert verdict.status == status, str(verdict)


ONE_CLUSTER = {
    "one sign": (3, (1.5, 0.7, 1.1)),
    "the other sign": (3, (-1.5, -0.7, -1.1)),
    "one sample": (1, (1.5,)),
    "a tie": (2, (1.0, -1.0)),
}


@pytest.mark.parametrize("kind", ONE_CLUSTER)
def test_one_cluster_and_ties_are_judged_where_the_paper_admits_them(kind):
    """Assumption 2 admits labels of one sign; Propositions 1 and 2 and Lemma 14 do not ask for
    it."""
    n, y = ONE_CLUSTER[kind]
    model = bf.TwoLayer(12, 4)
    data = bf.Dataset(bf.data.orthonormal(n, 4, key=n).X, np.array(y))
    start = in_cones(model.init(1.0, key=2), data, 1e-60)
    problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start)
    tied = kind == "a tie"
    assumed = bf.verify("B/assumption-2", problem).status
    assert assumed == ("violated" if tied else "holds")
    for name in ("B/prop1", "B/lem14", "B/prop2"):
        assert bf.verify(name, problem).status == "holds", str(bf.verify(name, problem))
    for name in ("B/thm1", "B/limit", "B/kkt", "B/u-plus"):
        verdict = bf.verify(name, problem)
        assert verdict.status == ("hypotheses fail" if tied else "holds"), str(verdict)
    for name in ("B/timeline", "B/lem3", "B/thm2"):
        assert bf.verify(name, problem).status == "hypotheses fail"


@pytest.mark.parametrize(
    ("y", "status"),
    [
        ((0.7, -0.7), "violated"),
        ((0.7, -np.nextafter(0.7, 1.0)), "holds"),
        ((0.7, 0.0), "violated"),
        ((0.7, 0.2), "holds"),  # of one sign: as printed
        ((1e-160, -2e-160), "holds"),  # squares underflow
        ((1e200, -2e200), "holds"),
    ],
)
def test_assumption_2_near_its_boundary(y, status):
    assert (
        bf.verify("B/assumption-2", with_data(orthonormal_problem(0), y=np.array(y))).status
        == status
    )


@pytest.mark.parametrize(
    ("factor", "status"),
    [(1.0, "holds"), (1 + 1e-12, "holds"), (1 + 1e-10, "violated"), (2.0, "violated")],
)
def test_assumption_1_near_its_boundary(factor, status):
    problem = orthonormal_problem(0)
    assert (
        bf.verify("B/assumption-1", with_data(problem, X=factor * problem.data.X)).status == status
    )


@pytest.mark.parametrize(
    ("product", "status"), [(1e-300, "holds"), (0.0, "holds"), (-1e-300, "violated")]
)
def test_assumption_3_near_its_boundary(product, status):
    """One neuron of each sign; the positive one is active, on the kink, or just off."""
    X, y = np.eye(2), np.array([1.0, -2.0])
    start = bf.models.TwoLayerParams(np.array([1.0, -1.0]), np.array([[product, 1.0], [0.5, 1.0]]))
    problem = bf.Problem(bf.TwoLayer(2, 2), bf.Dataset(X, y), bf.SquareLoss("half-mean"), start)
    assert bf.verify("B/assumption-3", problem).status == status


def test_lemma_14_as_printed_is_false_where_neurons_are_off():
    """Balanced, all neurons off: nothing moves, though both clusters are large."""
    problem = orthonormal_problem(1)
    s = Setting(problem)
    W = np.tile(-np.sum(s.X, axis=0), (len(problem.start.a), 1))
    off = bf.models.TwoLayerParams(np.sign(problem.start.a) * np.linalg.norm(W, axis=1), W)
    output = problem.loss.gradient(problem.model(off, s.X), s.y)
    gradient = problem.model.gradient(off, s.X, output)
    loss = problem.loss(problem.model(off, s.X), s.y)
    least = min(float(cluster.size(off)) for cluster in s.clusters) / s.n
    assert all(not np.any(leaf) for leaf in gradient)
    assert 2 * loss * least > 1
    assert polyak_inequality._quotient(s, off) is None


def test_tiny_labels_do_not_make_the_limit_empty():
    problem = orthonormal_problem(0)
    small = dataclasses.replace(
        with_data(problem, y=1e-13 * problem.data.y),
        start=bf.models.TwoLayerParams(*(np.sqrt(1e-13) * leaf for leaf in problem.start)),
    )
    assert bf.verify("B/limit", small).status == "holds"
    found = saddle_limit(small)
    wrong = dataclasses.replace(
        found, value=bf.models.TwoLayerParams(1.05 * found.value.a, 1.05 * found.value.W)
    )
    assert bf.verify("B/limit", small, limit=wrong).status == "violated"


def test_a_norm_excess_of_ten_per_cent_is_noticed_at_the_edge_of_small_starts():
    """Where idle neurons are as large as the hypothesis allows."""
    problem = next(
        p
        for p in (pairs_at(10.0**-k) for k in range(6, 120))
        if verdict_of("B/limit", p).status == "holds"
    )
    found = saddle_limit(problem)
    wrong = dataclasses.replace(
        found,
        value=bf.models.TwoLayerParams(np.sqrt(1.1) * found.value.a, np.sqrt(1.1) * found.value.W),
    )
    assert bf.verify("B/limit", problem, limit=wrong).status == "violated"


def pairs_at(scale):
    return orthonormal_problem(3, scale=scale, m=60)


def verdict_of(name, problem):
    return bf.verify(name, problem)


def saddle_limit(problem):
    s = Setting(problem)
    return bf.flows.saddle_limit(
        problem.data, bf.models.TwoLayerParams(*(leaf / s.scale for leaf in problem.start))
    )


def test_a_flow_of_ones_own_is_judged():
    problem = orthonormal_problem(0, scale=1e-9)
    flow = bf.gradient_flow(problem.model, problem.data, problem.loss, problem.start)
    assert bf.verify("B/limit", flow=flow).status == "holds"
    larger = bf.models.TwoLayerParams(1.001 * flow.states.a, 1.001 * flow.states.W)
    larger.a[0], larger.W[0] = flow.states.a[0], flow.states.W[0]
    assert (
        bf.verify("B/limit", flow=dataclasses.replace(flow, states=larger)).status
        == "does not apply"
    )


def test_unbalanced_starts_conserve_their_difference():
    problem = general_problem(3)
    a, W = problem.start
    assert not np.allclose(np.abs(a), np.linalg.norm(W, axis=1))
    assert bf.verify("B/lem1", problem).status == "holds"
    assert bf.verify("B/thm1", problem).status == "hypotheses fail"


FIGURE_2 = ("assumption-2", "assumption-3", "lem6", "u-plus", "limit", "kkt", "prop1", "thm1")


@pytest.mark.parametrize("name", FIGURE_2)
def test_the_papers_figure_2_is_admitted_at_its_own_scale(name):
    """x = (−0.5, 1), (2, 1), m = 60, λ = 1e-6/√m: inputs that are not normalised, labels with Σ_+y²
    = Σ_−y²."""
    model = bf.TwoLayer(60, 2)
    problem = bf.Problem(
        model, bf.data.two_points(), bf.SquareLoss("half-mean"), model.init(1e-6 / np.sqrt(60))
    )
    assert bf.verify(f"B/{name}", problem).status == "holds"


def test_printed_powers_are_for_normalised_inputs():
    problem = ordinary_problem(2)
    for name in ("lem3", "lem4", "fact1", "lem12", "lem5"):
        verdict = bf.verify(f"B/{name}", problem)
        assert verdict.status == "hypotheses fail" and "orthonormal" in str(verdict)


def gaussian_problem(n=12, m=40):
    """Gaussian labels on orthogonal inputs whose lengths vary by a factor of four, from the scale
    that they need."""
    rng = np.random.default_rng(5)
    X = bf.data.orthonormal(n, n + 3, key=5).X * rng.uniform(0.5, 2.0, (n, 1))
    return _gaussian_labels(bf.Dataset(X, rng.standard_normal(n)), m, 5, 10.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["timeline", "lem2", "u-plus", "limit", "kkt"])
def test_gaussian_labels_at_n_12(name):
    problem = gaussian_problem()
    assert Setting(problem).log_scale < -11000 * np.log(10)
    assert bf.verify(f"B/{name}", problem, time_s=200).status == "holds"


def test_a_flow_from_below_float_range_can_be_handed_in():
    problem = ordinary_problem(2)
    flow = bf.gradient_flow(
        problem.model, problem.data, problem.loss, problem.start, log_scale=problem.log_scale
    )
    assert bf.verify("B/limit", problem, flow=flow).status == "holds"
    wrong = dataclasses.replace(
        flow, states=bf.models.TwoLayerParams(*(1.001 * leaf for leaf in flow.states))
    )
    assert bf.verify("B/limit", problem, flow=wrong).status == "does not apply"
    # its stated errors are held against a witness from the start
    mute = dataclasses.replace(flow, polar=None)
    assert bf.verify("B/limit", problem, flow=mute).status == "holds"
    states = [tuple(leaf[k] for leaf in flow.states) for k in range(len(flow.times))]
    verdict = bf.verify("B/limit", problem, flow=bf.theory.Checkpoints(flow.times, states))
    assert verdict.status == "inconclusive" and "polar" in verdict.reason


def test_claims_that_read_floats_do_not_apply_below_them():
    verdict = bf.verify(
        dataclasses.replace(bf.theory.claim("B/limit"), below_floats=False), ordinary_problem(2)
    )
    assert verdict.status == "does not apply" and "below float range" in verdict.reason


def test_a_start_that_is_not_small_enough_is_told_how_small():
    """Gaussian labels from λ = 1e-30: the verdict names the scale that they need, and log_scale."""
    problem = gaussian_problem(n=8)
    verdict = bf.verify("B/limit", dataclasses.replace(problem, log_scale=np.log(1e-30)))
    assert verdict.status == "hypotheses fail" and "log_scale" in str(verdict)


def test_lineages_move_the_scale_of_starts_below_float_range():
    statement = bf.theory.claim("B/limit")
    key = next(k for k in range(1, 40, 2) if not statement.family(k).in_floats)
    moved = bf.theory.problem_at(statement, f"{key} s3")
    assert moved.log_scale != statement.family(key).log_scale
    assert not moved.in_floats


def test_theorem_1_is_decided_where_a_neuron_lacks_a_tiny_label():
    """Such a neuron adds 1 − κ of its mass to the norm, below all errors: the exponent is then read
    off that mass."""
    data, model = bf.Dataset(np.eye(3), np.array([1.0, 1e-3, -0.6])), bf.TwoLayer(4, 3)
    start = in_cones(model.init(1.0, key=1), data, 1.0)
    W, a = start.W.copy(), start.a.copy()
    W[2] = (1.0, -0.5, -0.3)
    a[2] = np.linalg.norm(W[2])
    problem = bf.Problem(
        model, data, bf.SquareLoss("half-mean"), bf.models.TwoLayerParams(a, W), -3e7
    )
    verdict = bf.verify("B/thm1", problem, time_s=120.0)
    assert verdict.status == "holds" and "Σ(a_j² + ‖w_j‖²)" in str(verdict)


def test_theorem_1_is_decided_for_networks_of_two_neurons():
    verdict = bf.verify("B/thm1", orthonormal_problem(0, scale=1e-30, m=2))
    assert verdict.status == "consistent" and "there are no idle neurons" in str(verdict)


@pytest.mark.parametrize("name", ["B/lem9", "B/thm2", "B/lem15", "B/leaky"])
def test_starts_below_float_range_are_read(name):
    s = Setting(orthonormal_problem(0, m=12))
    problem = bf.Problem(s.problem.model, s.problem.data, s.problem.loss, s.unit, -2500.0)
    assert bf.verify(name, problem).status == "holds"


def test_kinks_that_grow_slowly_are_counted_only_where_they_are_apart():
    """Two labels of 0.11 are fitted within 12/‖D_+‖ of one another, 6.5 of their own times: three
    falls are seen of four."""
    problem = pairs_family(39)
    assert bf.verify("B/saddles", problem, time_s=120.0).status is bf.theory.Status.INCONCLUSIVE


def test_theorem_1_on_inputs_of_any_lengths_counts_what_idle_neurons_spare():
    """With 1 − κ_j, which holds for orthonormal inputs, for what a neuron adds to the norm the
    exponent was called violated."""
    from biasflow.theory.relu.relu_examples import ordinary_problem

    assert bf.verify("B/thm1", ordinary_problem(5), time_s=300.0).status == "holds"


def test_a_saddle_that_larger_starts_see_where_the_labels_differ_is_no_violation():
    """‖D_+‖ = 10‖D_−‖: two falls of the loss from λ√m = 0.0005√max|y|."""
    from biasflow.theory.relu.relu_examples import in_cones

    model, data = bf.TwoLayer(16, 4), bf.Dataset(np.eye(4), [3.0, 3.0, -0.3, -0.3])
    problem = bf.Problem(
        model, data, bf.SquareLoss("half-mean"), in_cones(model.init(1.0, key=0), data, 1e-12)
    )
    verdict = bf.verify("B/saddles", problem, time_s=300.0)
    assert verdict.status != "violated" and verdict.checks


def rotated_pair(label, scale=1e-7, m=12, key=0):
    data = bf.Dataset(np.array([[0.8, 0.6], [-0.6, 0.8]]), np.array([1.0, label]))
    model = bf.TwoLayer(m, 2)
    return bf.Problem(
        model, data, bf.SquareLoss("half-mean"), model.init(scale / np.sqrt(m), key=key)
    )


@pytest.mark.parametrize(
    ("label", "scale", "m", "key", "counted"),
    [
        (-0.3, 1e-7, 12, 0, 0),
        (-0.4, 1e-7, 12, 0, 1),
        (-0.5, 1e-7, 12, 0, 1),
        (-0.5, 1e-6, 12, 0, 1),
        (-0.5, 1e-8, 12, 0, 1),
        (-0.6, 1e-7, 12, 0, 1),
        (-0.95, 1e-7, 12, 0, 2),
        (-0.5, 1e-7, 20, 0, 2),
        (-0.5, 1e-7, 12, 1, 2),
    ],
)
def test_larger_starts_pass_no_saddle_where_the_labels_are_fitted_together(
    label, scale, m, key, counted
):
    """With ‖D_+‖ = 2‖D_−‖ and a cluster that starts small two falls are seen from 0.0005√max|y|: a
    factor of three between them, which was asked for once, is not close enough."""
    verdict = bf.verify("B/saddles", rotated_pair(label, scale, m, key), time_s=120.0)
    falls = [c for c in verdict.checks if c.quantity.startswith("falls of the loss from λ√m")]
    assert len(falls) == 2 and verdict.status != "violated"
    assert [c.measured for c in falls if not c.reason] == [1.0] * counted
    assert all("half fitted" in c.reason for c in falls[counted:])


def test_two_logistic_growths_are_counted_as_one_where_they_are_close():
    """The threshold, against the count of sums of logistic falls of any two rates; twice as far
    apart they are counted as two."""
    from biasflow.theory.relu.relaxations import GROWTHS_TOGETHER, growths

    for slow in (0.05, 0.3, 0.5, 0.9, 1.0):
        problem = rotated_pair(-slow)
        for apart, count in ((GROWTHS_TOGETHER, 1), (2 * GROWTHS_TOGETHER, 2)):
            first, second = 10.0, 10.0 + apart / slow
            times = np.arange(0.0, second + 12 / slow, 0.25)
            shares = [
                0.5 * (1 + np.tanh(rate * (times - middle)))
                for rate, middle in ((1.0, first), (slow, second))
            ]
            outputs = np.stack(shares, axis=1) * problem.data.y
            assert growths(problem, outputs) == count, (slow, apart)


def test_what_idle_neurons_start_with_is_not_held_against_larger_starts():
    """0.05√max|y| is not small for labels of a thirtieth of max|y|: what the start brings is half
    of what a neuron for each label adds, and the excess was called violated."""
    data = bf.Dataset(bf.data.orthonormal(3, 5, key=30).X, [2.456, -0.159, -0.086])
    model = bf.TwoLayer(22, 5)
    start = in_cones(model.init(1.0, key=30), data, 1e-20)
    problem = bf.Problem(model, data, bf.SquareLoss("half-mean"), start)
    verdict = bf.verify("B/saddles", problem, time_s=120.0)
    excess = next(c for c in verdict.checks if c.quantity.startswith("‖θ∞‖² over its least"))
    assert excess.measured > 0.5 and verdict.status == "inconclusive"
