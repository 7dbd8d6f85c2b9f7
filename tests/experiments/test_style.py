"""One palette for every figure, which readers with colour blindness can tell apart; figures in
words."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import biasflow
from biasflow._core.look import ACCENTS, COLOURS, MARK, MUTED
from biasflow.experiments import EXPERIMENTS

SEEN_BY = {
    "all cones": np.eye(3),
    "no green cones": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no red cones": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
}
"""Linear RGB as deuteranopes and protanopes see it (Machado, Oliveira and Fernandes 2009, severity
1)."""
NOTICEABLE = 2.3
"""A just noticeable difference in CIE Lab (Mahy, Van Eycken and Oosterlinck 1994)."""


def linear(colour):
    c = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(x > (6 / 29) ** 3, np.cbrt(x), x / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_lab_of_known_colours():
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.02)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.05)


@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_can_be_told_apart(eyes):
    seen = {colour: lab(SEEN_BY[eyes] @ linear(colour)) for colour in (*COLOURS, MUTED, "#ffffff")}
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 10 * NOTICEABLE, (one, other)


def test_a_palette_that_cannot_be_told_apart_is_noticed():
    red, green = (
        lab(SEEN_BY["no green cones"] @ linear(colour)) for colour in ("#d1495b", "#3a7d44")
    )
    assert np.linalg.norm(red - green) < 10 * NOTICEABLE


def test_figures_have_no_colours_of_their_own():
    """The probe, in a layer below, repeats three of them."""
    package = Path(biasflow.__file__).parent
    found = {
        path: set(re.findall(r"#[0-9a-fA-F]{6}", path.read_text(encoding="utf-8")))
        for path in package.rglob("*.py")
    }
    assert {
        path.name for path, colours in found.items() if colours and "experiments" in path.parts
    } == set()
    assert set().union(*found.values()) == {*COLOURS, MUTED, MARK, *ACCENTS}


@pytest.mark.parametrize("figure", EXPERIMENTS, ids=lambda e: e.id)
def test_every_figure_is_told_in_words(figure):
    assert (
        60 < len(figure.alt) < 700 and figure.alt.endswith(".") and figure.alt not in figure.caption
    )


@pytest.mark.parametrize("accent", ACCENTS)
def test_accents_are_seen_on_light_and_on_dark(accent):
    """Contrasts of 2.7 and more: WCAG asks for 3 of what carries meaning alone; these stand beside
    words that say the same."""
    light = float(np.array([0.2126, 0.7152, 0.0722]) @ linear(accent))
    assert 1.05 / (light + 0.05) >= 2.7 and (light + 0.05) / 0.05 >= 3
