"""Pictures are drawn once for the same data and code."""

import dataclasses

import numpy as np
import pytest
import xarray

import stub_science
from biasflow import experiments
from biasflow.report import pictures as module
from biasflow.sweeps import Store

DATA = xarray.Dataset({"a": ("t", np.arange(3.0))}, attrs={"told": [1.0, 2.0]})


@pytest.fixture
def drawn(monkeypatch):
    """What was asked to be drawn."""
    asked = []

    def draw(experiment, summary):
        asked.append(summary)
        return b"picture", b"movie"

    monkeypatch.setattr(module, "_drawn", draw)
    return asked


def test_the_same_data_are_drawn_once(tmp_path, drawn):
    figure, store = experiments.experiment("R/fig1"), Store(tmp_path)
    for _ in range(2):
        assert module.pictures(figure, DATA, store) == (b"picture", b"movie")
    assert len(drawn) == 1
    module.pictures(figure, DATA, None)
    assert len(drawn) == 2
    module.pictures(experiments.experiment("R/fig4"), DATA, store)
    assert len(drawn) == 3


@pytest.mark.parametrize(
    "other",
    [
        DATA + 1e-12,
        DATA.rename(a="b"),
        DATA.astype("float32"),
        DATA.assign_attrs(told=[1.0, 2.5]),
        DATA.assign_coords(t=[0, 1, 2]),
        DATA.assign(word=((), "x")),
    ],
)
def test_other_data_are_drawn_anew(tmp_path, drawn, other):
    figure, store = experiments.experiment("R/fig1"), Store(tmp_path)
    module.pictures(figure, DATA, store)
    module.pictures(figure, other, store)
    assert len(drawn) == 2


def test_what_others_draw_is_drawn_every_time(tmp_path, drawn):
    """Their code is not known to the store."""
    figure = dataclasses.replace(experiments.experiment("R/fig1"), draw=stub_science.draw)
    for _ in range(2):
        module.pictures(figure, DATA, Store(tmp_path))
    assert len(drawn) == 2
