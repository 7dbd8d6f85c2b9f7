"""The shipping command reproduces a shipped point: on a CPU, in float32, from the images up."""

import json

import pytest

from biasflow.cli.ship_command import ship_figure
from biasflow.errors import DataFileError
from biasflow.experiments.regimes.image_figures import BORNE_AT_ONE
from biasflow.experiments.regimes.image_results import WIDE_RESULTS, read_results, shipped
from biasflow.experiments.regimes.image_shipping import FILE
from biasflow.images import images
from biasflow.images.classifiers import VggNetwork

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


@pytest.mark.slow
def test_the_step_that_the_flow_bears_on_cifar10():
    """2/λ for the largest eigenvalue λ of JᵀHJ, where H is the loss's curvature at uniform
    probabilities, by power iteration on 64 images; a minute."""
    import jax
    import jax.numpy as jnp

    try:
        held = images("cifar10")
    except DataFileError as reason:
        pytest.skip(str(reason))
    network, count = VggNetwork(), 64
    x = jnp.asarray(network.prepared(held.train_x, held.test_x)[0][:count])

    @jax.jit
    def iterated(params, x, v):
        f, pull = jax.vjp(lambda params: network(params, x), params)
        _, push = jax.vjp(lambda slope: pull(slope)[0], jnp.zeros_like(f))
        (moved,) = push(v)
        curved = (moved - jnp.mean(moved, axis=1, keepdims=True)) / (10 * count)
        (u,) = pull(curved)
        return jnp.sum(moved * curved), u

    params, v = network.init(1.0, key=0), network.init(1.0, key=5)
    for _ in range(7):
        size = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(v)))
        largest, v = iterated(params, x, jax.tree.map(lambda leaf, size=size: leaf / size, v))
    print(f"2/λ = {2 / float(largest):.3g}")
    assert 2 / float(largest) == pytest.approx(BORNE_AT_ONE, rel=0.01)
