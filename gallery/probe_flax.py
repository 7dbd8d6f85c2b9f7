"""
A Flax network, probed while it learns
======================================

The module as it is, and its variables at a few times of the training: when do its features move?
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

digits = load_digits()
X, y = jnp.asarray(digits.data[:300] / 16), jnp.asarray(digits.target[:300])


# %%
# A network of ten outputs.
class Network(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(64)(x))
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(10)(x)


network = Network()
variables = network.init(jax.random.PRNGKey(0), X)


# %%
# Gradient descent; the variables are kept at a few times.
@jax.jit
def step(variables):
    def loss(variables):
        log_shares = jax.nn.log_softmax(network.apply(variables, X))
        return -jnp.mean(log_shares[jnp.arange(len(y)), y])

    return jax.tree.map(lambda w, g: w - 0.2 * g, variables, jax.grad(loss)(variables))


times, kept = [0], [variables]
for k in range(1, 401):
    variables = step(variables)
    if k in (5, 20, 80, 400):
        times.append(k)
        kept.append(variables)


# %%
# The picture of the probe: movements, their time, and what linearising explains.
def init(key):
    return network.init(jax.random.PRNGKey(key), X)


found = bf.probe(network, kept, X[:60], y[:60], times=times, init=init, keys=2)
print(found)
keep(found.plot())
