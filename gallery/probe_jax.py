"""
Does this network learn features?
=================================

A plain JAX classifier of handwritten digits, probed at four times of its training.
"""

import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

# %%
# Any JAX function of parameters and inputs will do.
X, y = (jnp.asarray(array) for array in load_digits(return_X_y=True))
shapes = [(64, 128), (128, 128), (128, 10)]


def init(seed):
    keys = [jax.random.PRNGKey(3 * seed + k) for k in range(3)]
    return [
        jax.random.normal(key, shape) * (2 / shape[0]) ** 0.5
        for key, shape in zip(keys, shapes, strict=True)
    ]


def network(w, x):
    hidden = jax.nn.relu(x / 16 @ w[0])
    return jax.nn.relu(hidden @ w[1]) @ w[2]


def loss(w):
    chances = jax.nn.log_softmax(network(w, X))
    return -jnp.mean(jnp.take_along_axis(chances, y[:, None], 1))


@jax.jit
def step(w):
    return jax.tree.map(lambda weights, slope: weights - 0.2 * slope, w, jax.grad(loss)(w))


# %%
# Train it, and keep five checkpoints.
w, checkpoints = init(0), {}
for k in range(301):
    if k in (0, 10, 30, 100, 300):
        checkpoints[k] = w
    w = step(w)

# %%
# How far did it move, compared with networks of other seeds? Given `init`, the probe draws those
# itself.
found = bf.probe(
    network,
    list(checkpoints.values()),
    X[:300],
    y[:300],
    init=init,
    output=3,
    times=list(checkpoints),
)
print(found.describe())
figure = found.plot()
keep(figure)
