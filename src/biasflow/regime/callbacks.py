"""The probe during training: copies of the weights at steps that grow like powers, numbers for a
logger within a time limit, and the whole story afterwards."""

from __future__ import annotations

import random
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._core.arguments import positive_float, positive_int
from ..errors import InputError
from ..limits.tangent.inputs import Batch, read_inputs
from ..limits.tangent.tangent_kernels import MEMORY
from .measures import read_labels
from .probing import FEWEST_INPUTS, Probe, probe

PER_DECADE = 4
"""Checkpoints while the number of steps grows tenfold, where the caller does not say."""
FIRST_INPUTS = 8
"""Inputs that the first live measurement is tried on; doubled while there is time."""
GROWTH = 4.0
"""By which the time of a measurement may grow when its inputs double: kernels have n² entries."""
LIVE_KEYS = 1
"""Untrained networks of a live measurement."""


@dataclass(frozen=True)
class Spent:
    """What the callback took, in seconds: copying weights and measuring, beside the time from its
    first call to its last; skipped: measurements for which there was no time, or that failed."""

    copying: float
    measuring: float
    elapsed: float
    calls: int
    measured: int
    skipped: int

    @property
    def share(self) -> float:
        """Of the time of the training without it."""
        own = self.copying + self.measuring
        return own / max(self.elapsed - own, 1e-9)


class ProbeCallback:
    """Records a training for the probe: call it at every step, with the number of the step.

    In a loop of your own `callback(step)`, or `callback(step, loss)`; the start is recorded when
    the callback is made, so make it before training. Keras takes `callback.for_keras()` among the
    callbacks of `fit`, Lightning `callback.for_lightning()` among those of its Trainer.
    Afterwards `callback.found` is a `regime.Probe` of everything that was recorded, and
    `callback.plot()` draws it.

    At steps that grow like powers of ten the weights are copied. With `live=True` the measures are
    taken then too and given to `log`: on as many of the inputs as `time_s` allows, and not at all
    where measuring would take more than `share` of the training. Modules of PyTorch are put into
    evaluation mode and back, module by module; states of random generators and gradients stay what
    they are, so that the training is the same, bit for bit, with and without the callback.

    Parameters
    ----------
    network
        As for `probe`, one that holds its own weights: a module of PyTorch, a Keras model, a Flax
        nnx module; or any other with `weights=`.
    X, y
        As for `probe`: the inputs looked at, and their labels.
    weights : callable, optional
        Returns the weights as `probe` takes them as a checkpoint; by default read off the network.
    live : bool
        Whether to measure during training.
    log : callable, optional
        Told every live measurement: a dictionary of numbers, and the step.
    time_s : float
        Seconds that one call may measure for.
    share : float
        Of the training's time that measuring may take.
    memory_b : float
        Bytes of copies; beyond, every second one but the first is dropped, and fewer are made.
    per_decade : int
        Copies while the number of steps grows tenfold.
    options
        Of `probe`, for `found`; by default with layers, and buffers of the last checkpoint.

    Attributes
    ----------
    times, losses
        Steps of the copies held, and the losses that were given with them (NaN where not).
    live
        Steps and numbers of the live measurements.
    failures
        Steps at which a live measurement failed, and why: the first is a warning, none ends the
        training.

    Examples
    --------
    >>> w, X = np.zeros(3), np.eye(5)[:, :3] + 1
    >>> call = bf.regime.ProbeCallback(lambda w, X: X @ w, X, weights=lambda: w)
    >>> for step in range(1, 101):
    ...     w = w + 0.01
    ...     call(step)
    >>> print(call.times[:5], call.found.verdict)
    [0, 1, 2, 4, 8] kernel
    """

    def __init__(
        self,
        network: Any,
        X: ArrayLike | Mapping[str, ArrayLike],
        y: ArrayLike | None = None,
        *,
        weights: Callable[[], Any] | None = None,
        live: bool = False,
        log: Callable[[dict[str, float], int], Any] | None = None,
        time_s: float = 5.0,
        share: float = 0.1,
        memory_b: float = MEMORY,
        per_decade: int = PER_DECADE,
        **options: Any,
    ) -> None:
        self.network, self.X, self.y = network, X, y
        inputs = read_inputs(X)
        if len(inputs) < FEWEST_INPUTS:
            raise InputError(f"X: expected at least {FEWEST_INPUTS} inputs, found {len(inputs)}")
        read_labels(y, len(inputs))
        given: Any = y
        given = given.detach().cpu() if hasattr(given, "detach") else given
        self._inputs, self._labels = inputs, None if y is None else np.asarray(given)
        self._weights = _own_weights(network) if weights is None else weights
        self._measures_live, self._log = live or log is not None, log
        self.time_s, self.share = positive_float("time_s", time_s), positive_float("share", share)
        self.memory_b = positive_float("memory_b", memory_b)
        self._ratio = 10 ** (1 / positive_int("per_decade", per_decade))
        self._options = {"layers": True, "buffers": "last", **options}
        self.times: list[int] = []
        self.losses: list[float] = []
        self.live: list[tuple[int, dict[str, float]]] = []
        self.failures: list[tuple[int, str]] = []
        self._copies: list[Any] = []
        self._next, self._last = 1, 0
        self._looked, self._took = 0, 0.0
        self._copying = self._measuring = 0.0
        self._calls = self._skipped = 0
        self._begun = self._seen = time.monotonic()
        self._record(0, float("nan"))

    def __call__(self, step: int, loss: Any = None) -> None:
        """After step number `step` (from 1); loss: a number, for the picture."""
        self._calls += 1
        self._seen = time.monotonic()
        self._last = step
        if step < self._next:
            return
        while self._next <= step:
            self._next = max(self._next + 1, int(np.ceil(self._next * self._ratio)))
        self._record(step, _number(loss))
        if self._measures_live:
            self._measure(step)

    @property
    def spent(self) -> Spent:
        """What it cost so far."""
        elapsed = max(self._seen, time.monotonic() if not self._calls else self._seen) - self._begun
        parts = self._copying, self._measuring, elapsed
        return Spent(*parts, self._calls, len(self.live), self._skipped)

    @property
    def found(self) -> Probe:
        """The probe of everything that was recorded, and of the weights as they are now."""
        copies, times = list(self._copies), list(self.times)
        if self._last > times[-1]:
            copies, times = [*copies, self._copy()], [*times, self._last]
        if len(copies) < 2:
            raise InputError("found: no step was recorded yet; call the callback after every step")
        with undisturbed(self.network):
            return probe(self.network, copies, self.X, self.y, times=times, **self._options)

    def plot(self) -> Any:
        """A matplotlib figure: loss, movements, alignment and layers, through the training."""
        from .probe_drawing import draw_story

        return draw_story(self.found, self.times, self.losses)

    def _record(self, step: int, loss: float) -> None:
        begun = time.monotonic()
        self._copies.append(self._copy())
        self.times.append(step)
        self.losses.append(loss)
        size = _bytes(self._copies[0])
        while len(self._copies) > 2 and size * len(self._copies) > self.memory_b:
            count = len(self._copies)
            kept = [
                0,
                *range(1 + count % 2, count, 2),
            ]  # the first, and every second up to the last
            self._copies = [self._copies[k] for k in kept]
            self.times = [self.times[k] for k in kept]
            self.losses = [self.losses[k] for k in kept]
            self._ratio *= self._ratio
        self._copying += time.monotonic() - begun

    def _copy(self) -> Any:
        return _copied(self._weights())

    def _measure(self, step: int) -> None:
        """The numbers of this step, on as many inputs as there is time for."""
        begun = time.monotonic()
        allowed = min(self.time_s, self.share * (begun - self._begun) - self._measuring)
        count = self._affordable(allowed)
        numbers = self._numbers(count, step) if count else None
        self._measuring += time.monotonic() - begun
        if numbers is None:
            self._skipped += 1
            return
        self.live.append((step, numbers))
        if self._log is not None:
            self._log(numbers, step)

    def _numbers(self, count: int, step: int) -> dict[str, float] | None:
        """Of a probe on so many inputs; None where it fails, which is no reason to end a training:
        its weights may be NaN for good."""
        try:
            with undisturbed(self.network):
                return self._probed(count).scalars()
        except Exception as error:  # a probe calls the user's network, which may raise anything
            reason = f"{type(error).__name__}: {error}"
            if not self.failures:
                warnings.warn(
                    f"ProbeCallback: step {step} was not measured, and the training goes on "
                    f"(further ones: failures). {reason}",
                    RuntimeWarning,
                    stacklevel=4,
                )
            self.failures.append((step, reason))
            return None

    def _affordable(self, allowed: float) -> int:
        """Inputs that can be measured in this time, by what the last measurement took; the first
        one is made on few, once a hundredth of its limit is allowed."""
        if not self._looked:
            return min(FIRST_INPUTS, len(self._inputs)) if allowed >= 0.01 * self.time_s else 0
        if self._took > allowed:
            return 0
        count, needed = self._looked, GROWTH * self._took
        while count < len(self._inputs) and needed <= allowed:
            count, needed = min(2 * count, len(self._inputs)), GROWTH * needed
        return count

    def _probed(self, count: int) -> Probe:
        begun = time.monotonic()
        rows = np.unique(np.linspace(0, len(self._inputs) - 1, count).round().astype(int))
        some = self._inputs[rows]
        labels = None if self._labels is None else self._labels[rows]
        found = probe(
            self.network,
            [self._copies[0], self._copy()],
            dict(some.parts) if isinstance(some, Batch) else some,
            labels,
            **{**self._options, "keys": LIVE_KEYS},
        )
        self._looked, self._took = count, time.monotonic() - begun
        return found

    # Lightning calls these by name, with its trainer and module.

    def on_train_batch_end(
        self, trainer: Any, module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """After a batch, for Lightning."""
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        self(int(trainer.global_step), loss)

    def for_lightning(self) -> Any:
        """This callback as one of Lightning's, whose Trainer takes no others."""
        library = next(
            (m for m in ("lightning.pytorch", "pytorch_lightning") if m in sys.modules), None
        )
        if library is None:
            raise InputError("for_lightning: Lightning is not loaded; import it first")
        own = self

        class LightningProbe(sys.modules[library].Callback):  # type: ignore[misc]
            def on_train_batch_end(self, *given: Any, **named: Any) -> None:
                own.on_train_batch_end(*given, **named)

        return LightningProbe()

    def for_keras(self) -> Any:
        """This callback as one of Keras, which counts batches over all epochs."""
        keras = sys.modules.get("keras")
        if keras is None:
            raise InputError("for_keras: Keras is not loaded; import keras first")
        own = self

        class KerasProbe(keras.callbacks.Callback):  # type: ignore[name-defined]
            steps = 0

            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                self.steps += 1
                if self.steps >= own._next and hasattr(self.model, "jax_state_sync"):
                    self.model.jax_state_sync()  # JAX's fit keeps weights to itself meanwhile
                own(self.steps, (logs or {}).get("loss"))

        return KerasProbe()


def _number(loss: Any) -> float:
    """A loss as a number; a tensor without its graph."""
    if loss is None:
        return float("nan")
    return float(loss.detach() if hasattr(loss, "detach") else loss)


def _own_weights(network: Any) -> Callable[[], Any]:
    """What reads the weights off a network that holds them."""
    for reader in ("state_dict", "get_weights"):
        if callable(getattr(network, reader, None)):
            return lambda: getattr(network, reader)()
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and isinstance(network, nnx.Module):
        return lambda: nnx.state(network)
    raise InputError(
        f"network: {type(network).__name__} does not hold its weights; say where they are "
        "(weights=lambda: params)"
    )


def _copied(weights: Any) -> Any:
    """A copy that the training does not change, off the accelerator where it is PyTorch's."""
    if isinstance(weights, Mapping) and all(hasattr(t, "detach") for t in weights.values()):
        return {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}
    if isinstance(weights, (list, tuple)) and all(isinstance(w, np.ndarray) for w in weights):
        return [w.copy() for w in weights]
    import jax

    return jax.tree.map(lambda leaf: np.array(leaf), weights)


def _bytes(copy: Any) -> float:
    if isinstance(copy, dict) and all(hasattr(t, "element_size") for t in copy.values()):
        return float(sum(t.numel() * t.element_size() for t in copy.values()))
    import jax

    return float(sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(copy)))


@contextmanager
def undisturbed(network: Any) -> Iterator[None]:
    """The network in evaluation mode, and its modes and all generators of random numbers as they
    were afterwards."""
    torch = sys.modules.get("torch")
    with ExitStack() as stack:
        state, plain = np.random.get_state(), random.getstate()
        stack.callback(np.random.set_state, state)
        stack.callback(random.setstate, plain)
        if torch is not None:
            stack.enter_context(torch.random.fork_rng(_devices(torch)))
            if isinstance(network, torch.nn.Module):
                modes = [(module, module.training) for module in network.modules()]
                network.eval()
                for module, training in modes:
                    stack.callback(setattr, module, "training", training)
        yield


def _devices(torch: Any) -> list[int]:
    return list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
