"""C/fig1, C/fig3 and C/fig4: the numbers, what the pictures rest on, and the animation; networks
smaller than quick."""

import io

import numpy as np
import pytest
from PIL import Image

import biasflow as bf
from biasflow.experiments import experiment
from biasflow.experiments.margin.boundaries import elapsed, scaled
from biasflow.experiments.margin.planes import SQUARE, TICKS, angle, on_square
from biasflow.experiments.margin.slices import arrival, field, follow, population
from biasflow.experiments.margin.two_biases import antisymmetric
from biasflow.models import augmented
from biasflow.report import gif
from biasflow.sweeps import sweep
from biasflow.sweeps.grids import Grid

SMALL1 = {
    "n": 30,
    "m": 60,
    "k": 3,
    "steps": 20_000,
    "scales": [1.0, 40.0],
    "end": 300.0,
    "rtol": 1e-3,
}
SMALL3 = {"n": 40, "k": 3, "m": 100, "end": 300.0, "frames": 12, "rtol": 1e-3}
GRIDS = {
    "C/fig1": Grid({"seed": (0, 2)}, SMALL1),
    "C/fig3": Grid({"sigma": (40.0, 4000.0), "seed": (1,)}, SMALL3),
    "C/fig4": experiment("C/fig4").grids["quick"],
}


@pytest.fixture(scope="module")
def summaries():
    known = {}

    def summary(name):
        if name not in known:
            chosen = experiment(name)
            known[name] = chosen.summarise(sweep(chosen.point, GRIDS[name]))
        return known[name]

    return summary


KNOWN = {
    "C/fig1": {
        "steps of C, both layers: margin over γ₁": (0.7, 1.0),
        "flow from σ = 1: margin over γ₁": (0.75, 1.0),
        "flow from σ = 40: margin over γ₁": (0.96, 1.0),
        "largest margin over γ₁": (0.97, 1.0),
    },
    "C/fig3": {
        "closest angle to the tangent kernel's max margin (degrees)": (0.0, 3.0),
        "angle to the F1 max margin at the end (degrees)": (0.0, 8.0),
        "margin over γ₁ at the end": (0.97, 1.0),
        "closest angle to the tangent kernel's max margin, σ = 40 (degrees)": (8.0, 35.0),
    },
    "C/fig4": {
        "largest change of ‖a‖² − b² from the set": (0.0, 1e-9),
        "trajectories from the set that reach a = 0": (0.0, 0.0),
    },
}
"""What training sets of either preset gave one by one: C prints none of these."""


@pytest.mark.parametrize("name", list(GRIDS))
def test_numbers_are_what_they_were(summaries, name):
    attributes = summaries(name).attrs
    for number, (low, high) in KNOWN[name].items():
        assert low <= attributes[number] <= high, number


@pytest.mark.parametrize("name", list(GRIDS))
def test_draws(summaries, name):
    drawn = experiment(name).draw(summaries(name))
    assert drawn.axes or [part.axes for part in drawn.subfigs]


def test_animation_is_a_small_gif_that_moves(summaries):
    summary = summaries("C/fig3").isel(frame=[0, 5, 11])
    content = gif(experiment("C/fig3").animate(summary))
    with Image.open(io.BytesIO(content)) as movie:
        assert movie.format == "GIF" and movie.n_frames == 3 and movie.width < 1000
    assert len(content) / 3 * experiment("C/fig3").grids["paper"].settings["frames"] < 2_500_000


# C/fig1.


def test_no_training_beats_the_certified_margins(summaries):
    summary = summaries("C/fig1")
    slack = 1e-9 + float(summary["gamma1_gap"].max())
    assert float(summary["margin"].max()) <= 1 + slack
    assert float(summary["both_margin"].max()) <= 1 + slack
    assert float(summary["output_margin"].max()) <= 1 + 1e-9
    assert np.all(summary["gamma2"] <= 2 * summary["gamma1"] * (1 + slack))


def test_steps_stand_for_the_time_of_the_flow(summaries):
    """C's steps are Euler's method on the flow; later on they are too long for it, and
    oscillate."""
    assert elapsed(np.array([0.0, 1.0, 3.0])) == pytest.approx(
        [0, 0.5, 0.5 * (1 + 2**-0.5 + 3**-0.5)]
    )
    summary = summaries("C/fig1").isel(seed=0)
    for time in (5.0, 10.0):
        flow = np.interp(time, summary["time"], summary["margin"].sel(sigma=1.0))
        steps = np.interp(time, summary["step_time"], summary["both_margin"])
        assert abs(flow - steps) < 0.05


def test_starts_have_the_scale_of_c():
    unit = bf.TwoLayer(50, 3).init(1.0, key=0, balanced=False)
    start = scaled(unit, 40.0)
    assert np.allclose(start.W * np.sqrt(50), 40 * unit.W) and np.allclose(
        start.a * np.sqrt(50), 40 * unit.a
    )


# C/fig3.


def test_starts_are_antisymmetric():
    start = antisymmetric(20, 400.0, 3)
    assert np.max(np.abs(bf.TwoLayer(20, 3)(start, augmented(SQUARE[::50])))) < 1e-12 * np.sum(
        start.W**2
    )


def test_one_training_shows_two_biases(summaries):
    run = summaries("C/fig3").sel(sigma=4000.0, seed=1)
    tangent, f1 = run["angle_tangent"].values, run["angle_f1"].values
    nearest = int(np.argmin(tangent))
    assert 0 < nearest < tangent.size - 1
    assert tangent[nearest] < 0.1 * f1[nearest] and f1[-1] < 0.2 * tangent[-1]
    assert float(run["moved"][nearest]) < 0.01
    assert float(run["tangent_margin"][nearest]) > 0.97
    assert float(run["margin"].max()) <= 1 + float(run["gamma1_gap"]) + 1e-9


def test_angles():
    f = on_square(lambda X: X[:, 0])
    assert f.shape == (TICKS.size, TICKS.size) and np.array_equal(f[3], TICKS)
    assert angle(f, 7 * f) < 1e-6 and angle(f, -f) == pytest.approx(180)
    assert angle(f, on_square(lambda X: X[:, 1])) == pytest.approx(90)


# C/fig4.


def test_the_field_is_the_gradient_of_the_first_variation():
    ds = population(3)

    def value(w):
        return float(np.mean(ds.y * w[2] * np.maximum(ds.X @ w[:2], 0)))

    for w in ([0.4, 0.0, -0.7], [-0.2, 0.0, 0.5], [0.3, 0.07, 0.9]):
        w = np.array(w)
        numerical = [(value(w + e) - value(w - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
        assert field(ds, w) == pytest.approx(numerical, abs=1e-3 if w[1] else 1e-9)


def test_the_plane_and_the_set_are_invariant_and_deaths_are_on_time(summaries):
    summary = summaries("C/fig4")
    assert np.max(np.abs(summary["field_bias"])) < 1e-12
    assert summary.attrs["distance from the plane"] < 1e-12
    assert summary.attrs["share of trajectories from elsewhere that reach a = 0"] == pytest.approx(
        2 / 6
    )
    assert summary.attrs["error of their arrival times"] < 1e-6
    assert summary.attrs["largest change of ‖a‖² − b² off the set"] < 1e-8


def test_neurons_off_the_plane_keep_the_set_too():
    """The invariant does not need the plane: a bias, kinks inside the intervals."""
    ds = population(3)
    start = np.array([0.5, 0.3, np.hypot(0.5, 0.3)])
    path, dies = follow(ds, start, np.linspace(0, 1, 20))
    assert dies == np.inf
    norm = np.hypot(path[:, 0], path[:, 1])
    assert np.max(np.abs(norm - path[:, 2])) < 1e-8 * np.max(norm)


def test_arrival_is_never_from_the_set_or_inside():
    assert (
        arrival(0.2, (0.5, -0.5)) == np.inf
        and arrival(0.2, (0.5, -0.3)) == np.inf
        and arrival(0.2, (0.3, 0.5)) == np.inf
    )
    assert arrival(0.2, (-0.3, -0.5)) == pytest.approx(np.arctanh(0.6) / 0.2)
