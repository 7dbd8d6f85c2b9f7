"""What tells the error of a margin flow: companions on other steps, against two flows from kink to
kink."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import biasflow as bf
from biasflow.flows.margin.companions import GRIDS, compared_places, follow_branch, other_branch
from biasflow.flows.margin.margin_march import March, normalised
from biasflow.flows.margin.tangents import view_of
from biasflow.theory.relu.relu_witness import gated_flow

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
CELLS = ("smooth margin", "exponential", "logistic")
FRESH = range(30_000, 30_008)
"""Of problems that no table contains."""
ALIKE = (("smooth margin", 1068), ("exponential", 1206), ("logistic", 1170))
"""Where a looser second run took the same steps: errors of 1e-5 and more beside estimates of
1e-16."""
UNSEEN = (
    ("exponential", 5019),
    ("smooth margin", 5129),
    ("logistic", 5169),
    ("smooth margin", 5078),
)
"""Where one kink close to the end of a step is most of the error, and halving all steps changed it
by a tenth or less."""

PASSING = (("exponential", 52_098),)
"""Where a neuron comes to rest on a kink between two places of comparison: 1.75 times its estimate,
gone a step later."""
CHANCE = (("smooth margin", 50_041), ("exponential", 50_298))
"""Where finer and coarser steps happened to be off by nearly as much at a kink: errors of 1.25 and
1.07 times their estimates."""
SOON = (("smooth margin", 40_164),)
"""Where a neuron dies within a twentieth of the first step: an error of 1.6e-7 beside an estimate
of 3e-9."""


def exceeded(monkeypatch, cell, seed):
    """The largest true error over its estimate."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import error_estimates

    return max(
        (over for over, _ in error_estimates.ratios(error_estimates.examine(cell, seed))),
        default=0.0,
    )


@pytest.mark.parametrize("cell", CELLS)
def test_no_error_exceeds_its_estimate_on_fresh_problems(cell, monkeypatch):
    found = [exceeded(monkeypatch, cell, seed) for seed in FRESH]
    assert np.count_nonzero(found) >= len(FRESH) // 2 and max(found) <= 1


@pytest.mark.parametrize("cell, seed", [*ALIKE, *UNSEEN, *PASSING, *CHANCE, *SOON])
def test_errors_that_second_runs_share_are_seen(cell, seed, monkeypatch):
    """Failed for a second run at a looser tolerance, of the same steps in halves, not cut at kinks,
    or only from a sixth on."""
    assert 0.05 < exceeded(monkeypatch, cell, seed) <= 1


def dying(size):
    """One neuron on one sample, a < 0 and ⟨w, x⟩ = size: on C's clock it dies when tanh(‖x‖t) =
    size/(‖x‖|a|)."""
    x, a, across = np.array([0.9, 1.2]), -0.4, np.array([0.24, -0.18])
    length = float(np.linalg.norm(x))
    dies = float(np.arctanh(-size / (length * a)) / length)
    start = bf.models.TwoLayerParams(np.array([a]), (size / length**2 * x + across)[None])
    end = bf.models.TwoLayerParams(np.array([-np.sqrt(a**2 - (size / length) ** 2)]), across[None])
    return bf.TwoLayer(1, 2), bf.Dataset(x[None], np.ones(1)), start, dies, end


@pytest.mark.parametrize("later", [1.003, 1.03, 1.3, 4.0, 20.0])
@pytest.mark.parametrize("size", [1e-7, 1e-5, 3e-4, 3e-3, 0.1])
def test_a_neuron_that_dies_near_an_end_of_a_step_leaves_an_error_that_is_seen(size, later):
    """The march and its companions share the start, and the time at which they are compared. The
    error was up to 2e6 times the estimate where a neuron dies soon after the one, 6e3 times where
    it does soon before the other; elsewhere it was often nan."""
    model, data, start, dies, end = dying(size)
    times = np.array([later * dies])
    flow = bf.gradient_flow(
        model, data, bf.SmoothMargin(bf.ExponentialLoss()), start, times=times, rtol=1e-3
    )
    off = max(
        float(np.max(np.abs(leaf[-1] - true))) for leaf, true in zip(flow.states, end, strict=True)
    )
    assert off <= flow.error[-1] < np.inf


def test_wherever_in_a_step_a_neuron_dies_the_finer_companion_is_off_by_much_less():
    """It ends a step there, so that its distance is the error, and the estimate five times that.
    Before, both were off by as much
    where chance would have it: the largest of these was 1.27."""
    found = []
    for size in np.linspace(0.005, 0.3, 60):
        model, data, start, dies, end = dying(size)
        times = np.array([2 * dies])
        flow = bf.gradient_flow(
            model, data, bf.SmoothMargin(bf.ExponentialLoss()), start, times=times, rtol=1e-3
        )
        off = max(
            float(np.max(np.abs(leaf[-1] - true)))
            for leaf, true in zip(flow.states, end, strict=True)
        )
        found.append(off / flow.error[-1])
    assert max(found) <= 0.25


def test_companions_end_no_step_where_the_march_does():
    for first, spacing, _ in GRIDS:
        ends = Fraction(first).limit_denominator(9) + Fraction(spacing).limit_denominator(
            9
        ) * np.arange(30)
        assert all(abs(end - round(end)) >= Fraction(1, 6) for end in ends)


@pytest.mark.parametrize(
    "steps, saved", [(100, [0, 10, 99, 100]), (100, list(range(101))), (5, [5]), (1, [0, 1])]
)
def test_they_are_compared_at_the_end_and_seldom(steps, saved):
    places = compared_places(steps, saved)
    assert (
        places[-1] == steps
        and len(places) <= min(len(saved), 6 + steps // 6 + 1)
        and min(places) >= 1
    )


def network(key):
    data = bf.data.with_bias(bf.data.clusters(n=6, k=2, key=key))
    model = bf.TwoLayer(4, 3)
    return model, data, model.init(0.5, key=key)


@pytest.mark.parametrize("loss", [bf.SmoothMargin(), bf.LogisticLoss()])
def test_the_other_branch_has_one_gate_changed_and_begins_within_the_error(loss):
    model, data, start = network(2)
    march = March(
        view_of(model, data.X, data.y),
        getattr(loss, "loss", loss),
        isinstance(loss, bf.LogisticLoss),
        1e-3,
    )
    weights = bf.SmoothMargin(march.loss).weights(model(start, data.X), data.y)
    march.run(normalised(start, weights), np.array([4.0]), np.inf)
    places = list(range(len(march.points)))
    # no gate of these comes within a local error
    assert other_branch(march, places, np.zeros(len(places))) is None
    found = other_branch(march, places, np.full(len(places), 0.3))
    ours, theirs = march.points[found.step].params.W, found.point.params.W
    changed = np.argwhere(np.sign(ours @ data.X.T) != np.sign(theirs @ data.X.T))
    assert len({int(j) for j, _ in changed}) == 1 and np.max(np.abs(ours - theirs)) <= 0.5
    beside = follow_branch(march, found, places[1:], bool)
    assert beside is None or (beside.steps[0] == found.step and beside.steps[-1] == places[-1])


def test_goals_on_the_clock_of_the_risk_cost_few_steps():
    """After one, steps are as long again as before: they began anew at the sliver that was left, 40
    steps for 21."""
    model, data, start = network(1)
    whole = bf.gradient_flow(model, data, bf.LogisticLoss(), start, t1=20.0, rtol=1e-4)
    times = np.linspace(1.0, 20.0, 8)
    saved = bf.gradient_flow(model, data, bf.LogisticLoss(), start, times=times, rtol=1e-4)
    assert saved.stats["steps"] <= whole.stats["steps"] + len(times)


def test_errors_of_margins_norms_and_weights_cover_them():
    """Every one at every step, by raw gradients from kink to kink."""
    rng, over = np.random.default_rng(11), []
    for key in range(6):
        n = int(rng.integers(3, 8))
        X = np.c_[rng.standard_normal((n, 2)), np.ones(n)]
        data, model = (
            bf.Dataset(X, np.where(X @ rng.standard_normal(3) > 0, 1.0, -1.0)),
            bf.TwoLayer(6, 3),
        )
        loss = (bf.SmoothMargin(), bf.LogisticLoss())[key % 2]
        flow = bf.gradient_flow(
            model, data, loss, model.init(0.5, key=key), t1=(1.0, 10.0)[key % 2], rtol=1e-4
        )
        true = gated_flow(flow.problem, None, flow.times[1:], 1e-12, 20.0)
        assert not isinstance(true, str)
        predictions, stats = model(true.states, data.X), flow.stats
        norms = np.sum(true.states.a**2, axis=1) + np.sum(true.states.W**2, axis=(1, 2))
        weights = bf.SmoothMargin(getattr(loss, "loss", loss)).weights(predictions, data.y)
        gaps = {
            "log_norm": np.abs(np.log(norms) - stats["log_norm"][1:]),
            "margin": np.abs(np.min(data.y * predictions, axis=1) / norms - stats["margin"][1:]),
            "weights": 0.5 * np.sum(np.abs(weights - stats["weights"][1:]), axis=1),
        }
        over += [np.max(gap / (stats[f"{name}_error"][1:] + 1e-12)) for name, gap in gaps.items()]
    assert max(over) <= 3 and np.mean(np.array(over) > 1) <= 0.1
