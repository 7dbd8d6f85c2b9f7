"""The shipping command reproduces a shipped point: on a CPU, in float32, from the images up."""

import json

import pytest

from biasflow.cli.ship_command import ship_figure
from biasflow.errors import DataFileError
from biasflow.experiments.regimes.image_results import WIDE_RESULTS, read_results, shipped
from biasflow.experiments.regimes.image_shipping import FILE
from biasflow.images import images

TOLERANCE = 0.002
"""Of test errors: tensorfloat32 there, float32 here."""


@pytest.mark.slow
def test_the_shipping_command_reproduces_a_shipped_point(tmp_path, monkeypatch):
    """The first measurement of a run at α = 1, 5000 units on all of MNIST; ten epochs, minutes."""
    try:
        images("mnist")
    except DataFileError as reason:
        pytest.skip(str(reason))
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "store"))
    held = shipped(WIDE_RESULTS).sel(data="mnist", reading="unbiased", alpha=1.0, seed=0)
    step = 0.5
    epochs = int(held["epoch"][1])
    changes = {
        "data": ["mnist"],
        "reading": ["unbiased"],
        "alpha": [1.0],
        "seeds": [0],
        "searched": [["unbiased", 1e9, [step]]],
        "epochs": epochs,
    }
    changed = [f"{name}={json.dumps(value)}" for name, value in changes.items()]
    ship_figure("W/fig4e", "paper", tmp_path, None, changed)
    found = read_results((tmp_path / FILE).read_bytes()).squeeze(drop=True)
    there = held.sel(step=step, epoch=epochs)
    assert abs(float(found["test_error"]) - float(there["test_error_history"])) < TOLERANCE
    assert abs(float(found["train_error"]) - float(there["train_error_history"])) < TOLERANCE
