"""
A Keras model before and after `fit`
====================================

`get_weights()` before and after is all the probe needs, on JAX or on PyTorch.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras
from sklearn.datasets import load_digits

import biasflow as bf
from pictures import keep

digits = load_digits()
X, y = digits.data[:300] / 16, digits.target[:300]
keras.utils.set_random_seed(0)
layers = [keras.layers.Dense(48, "relu"), keras.layers.Dense(48, "relu"), keras.layers.Dense(10)]
model = keras.Sequential([keras.Input((64,)), *layers])

# %%
# Train as ever.
start = model.get_weights()
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(keras.optimizers.Adam(1e-3), loss)
model.fit(X, y, epochs=15, verbose=0)

# %%
# Ten outputs, all looked at; layers by their names.
found = bf.probe(model, [start, model], X[:60], y[:60], layers=True, keys=2)
print(found)
for name, along in found.layers.items():
    print(f"{name}: kernel movement {along[-1]['kernel_movement']}")
keep(found.plot())
