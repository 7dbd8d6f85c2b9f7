"""Two threads that compute at once get what one gets, bit for bit, and leave JAX's precision as it
was."""

import threading

import numpy as np

import biasflow as bf

X, y = np.random.default_rng(0).standard_normal((4, 6)), np.arange(4.0)
Z, classes = (
    np.random.default_rng(1).standard_normal((6, 2)),
    np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]),
)
Z[:, 0] = classes * (np.abs(Z[:, 0]) + 0.2)


def shallow(weights, X):
    import jax.numpy as jnp

    return jnp.tanh(X @ weights["W"]) @ weights["a"]


WEIGHTS = {"W": X[:, :3].T @ X[:, :3], "a": np.array([1.0, -2.0, 0.5])}
DIAGONAL, TWO, HALF = bf.DiagonalNetwork(2), bf.TwoLayer(5, 2), bf.SquareLoss("half")
CALLS = {
    "projection": lambda: bf.bregman_projection(bf.potentials.Hypentropy(0.1), X, y).value,
    "min_l1": lambda: bf.limits.min_l1(X, y).value,
    "dual flow": lambda: (
        bf.gradient_flow(DIAGONAL, bf.Dataset(X, y), HALF, DIAGONAL.init(0.1, dim=6)).final.plus
    ),
    "ReLU flow": lambda: (
        bf.gradient_flow(TWO, bf.Dataset(Z[:2], y[:2]), HALF, TWO.init(0.1), t1=1.0).final.W
    ),
    "ascent": lambda: bf.training.margin_ascent(bf.Dataset(Z, classes), TWO.init(1.0), 50).final.W,
    "margin": lambda: np.array(bf.limits.f1_max_margin(Z, classes, time_s=20.0).objective),
    "tangent kernel": lambda: bf.tangent_kernel(shallow, WEIGHTS, X[:, :3]),
    "training": lambda: (
        bf.training.train_batch(
            TWO, bf.Dataset(Z, classes), HALF, [TWO.init(0.5)], [0.01], 50
        ).params.W
    ),
}


def test_threads_do_not_disturb_each_other():
    import jax

    before = jax.config.jax_enable_x64
    alone = {name: call() for name, call in CALLS.items()}
    found: list[dict[str, np.ndarray]] = [{}, {}]

    def work(mine: dict[str, np.ndarray], names: list[str]) -> None:
        for name in names:
            mine[name] = CALLS[name]()

    threads = [
        threading.Thread(target=work, args=(mine, list(CALLS)[::way]))
        for mine, way in zip(found, (1, -1), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mine in found:
        assert {name: value.tobytes() for name, value in mine.items()} == {
            name: value.tobytes() for name, value in alone.items()
        }
    assert jax.config.jax_enable_x64 == before
