"""The study over scales and widths, on images made up here: the network is a convolutional one, its
measures are the probe's, and a call that was interrupted goes on."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import biasflow as bf
from biasflow.experiments.regimes import scale_figure
from biasflow.images import scale_trainings as study
from biasflow.images.image_records import Images
from biasflow.sweeps.grids import Grid

RNG = np.random.default_rng(0)
SETTING = {"scales": [0.2, 5.0], "seeds": [0], "train": 12, "test": 8, "probe": 6, "target": 0.2}
SETTING |= {"times": [0, 200], "data": "made up"}


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    def images(data, train, test):
        x = RNG.integers(0, 255, (train + test, 28, 28, 1)).astype(np.uint8)
        y = (np.arange(train + test) % 10).astype(np.uint8)
        return Images(x[:train], y[:train], x[train:], y[train:])

    study.study_images.cache_clear()
    monkeypatch.setattr(study, "chosen_images", images)


def test_products_with_patches_are_convolutions():
    shape = study.Shape(4, 5)
    weights = shape.start(0, 1.0)
    images = RNG.standard_normal((3, 14, 14, 1)).astype(np.float32)
    hidden = jnp.asarray(images)
    for matrix, stride in zip(weights[:-1], study.STRIDES, strict=False):
        kernel = matrix.reshape(3, 3, hidden.shape[-1], 5)
        hidden = jax.nn.relu(
            jax.lax.conv_general_dilated(
                hidden,
                kernel,
                (stride, stride),
                ((1, 1), (1, 1)),
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )
        )
    expected = hidden.reshape(3, -1) @ weights[-1]
    np.testing.assert_allclose(study.predictions(weights, images), expected, rtol=2e-4, atol=1e-5)


def test_measures_are_the_probes_and_a_second_call_goes_on(monkeypatch, tmp_path):
    kept = {}
    ending = study._measures

    def watched(images, seen):
        kept.setdefault("seen", []).append(seen)
        return ending(images, seen)

    monkeypatch.setattr(study, "_measures", watched)
    grid = Grid({"depth": (3,), "width": (4,)}, SETTING)
    (path,) = scale_figure.ship_scales(grid, None, tmp_path, None, lambda _: None)
    data = scale_figure.read_results(Path(path).read_bytes())
    last = data.isel(time=-1, seed=0, depth=0, width=0)
    assert np.all(last["train_loss"] <= 0.2) and last["linear_gap"][0] > last["linear_gap"][1]
    # kernels and linearisation of the last lane, against bf.probe's own
    images = study.study_images("made up", 12, 8, 6)
    start = [part.astype(np.float64) for part in study.Shape(3, 4).start(0, 5.0)]
    K = bf.tangent_kernel(study.predictions, start, images.probe_x, output="trace")
    first = kept["seen"][-1][2].sum(axis=0)
    np.testing.assert_allclose(first, K, rtol=1e-3, atol=1e-3 * np.max(K))
    monkeypatch.setattr(scale_figure, "scale_trainings", None)  # nothing is trained again
    scale_figure.ship_scales(grid, None, tmp_path, None, lambda _: None)
    summary = scale_figure.summarise(data)
    assert summary["transition"].shape == (1, 1)
    scale_figure.draw(summary)
