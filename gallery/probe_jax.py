"""Does this network learn features? A plain JAX classifier of handwritten digits, probed at four
times of its training."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

import biasflow as bf

X, y = (jnp.asarray(a) for a in load_digits(return_X_y=True))
init = lambda seed: [  # noqa: E731
    jax.random.normal(jax.random.PRNGKey(3 * seed + k), shape) * (2 / shape[0]) ** 0.5
    for k, shape in enumerate([(64, 128), (128, 128), (128, 10)])
]
network = lambda w, x: jax.nn.relu(jax.nn.relu(x / 16 @ w[0]) @ w[1]) @ w[2]  # noqa: E731


def loss(w):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(network(w, X)), y[:, None], 1))


step = jax.jit(lambda w: jax.tree.map(lambda a, g: a - 0.2 * g, w, jax.grad(loss)(w)))
w, checkpoints = init(0), {}
for k in range(301):
    checkpoints.update({k: w} if k in (0, 10, 30, 100, 300) else {})
    w = step(w)
found = bf.probe(
    network, [*checkpoints.values()], X[:300], y[:300], init=init, output=3, times=[*checkpoints]
)
print(found.describe())
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "probe_jax.png")
out.parent.mkdir(parents=True, exist_ok=True)
found.plot().savefig(out, dpi=150)
