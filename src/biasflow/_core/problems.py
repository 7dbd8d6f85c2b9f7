"""What is asked: data, a model with its loss and start, a mirror flow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import Array, instance, system, vector
from .starts import place
from .trees import grown, leaf_map


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Inputs X (n, d) with labels y (n,); `truth` is the planted predictor, where there is one."""

    X: Array
    y: Array
    name: str = ""
    truth: Array | None = None

    def __post_init__(self) -> None:
        X, y = system(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        if self.truth is not None:
            object.__setattr__(self, "truth", vector("truth", self.truth, X.shape[1]))

    def __repr__(self) -> str:
        name = f"{self.name}, " if self.name else ""
        return (
            f"Dataset({name}n = {self.n}, d = "
            f"{self.d}{', planted truth' if self.truth is not None else ''})"
        )

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What a gradient flow needs: model, data, loss and start.

    The start is e^{log_scale}·params0. Where floats hold it, it is written into params0 and
    log_scale is zero afterwards; below their range it stays as it was given, which `TwoLayer`
    networks can do: log_scale is then a number, or one for each neuron.
    """

    model: Any
    data: Dataset
    loss: Any
    params0: Any
    log_scale: Any = 0.0

    def __post_init__(self) -> None:
        instance("data", self.data, Dataset)
        params0, log_scale = self.model.checked(self.params0, self.data.d), self.log_scale
        if not isinstance(log_scale, float) or log_scale != 0.0:
            params0, log_scale = place(self.model, params0, log_scale)
        object.__setattr__(self, "params0", params0)
        object.__setattr__(self, "log_scale", log_scale)

    def __repr__(self) -> str:
        below = "" if self.in_floats else f", from e^{np.max(self.log_scale):g}·params0"
        return f"Problem({self.model!r}, {self.data!r}, {self.loss!r}{below})"

    @property
    def in_floats(self) -> bool:
        """Whether floats hold the start: then it is params0."""
        return isinstance(self.log_scale, float) and self.log_scale == 0.0

    @property
    def start(self) -> Any:
        """The state at t = 0 in floats: zero where the start is below their range."""
        return (
            self.params0
            if self.in_floats
            else leaf_map(lambda leaf: grown(leaf, self.log_scale), self.params0)
        )


@dataclass(frozen=True, eq=False, repr=False)
class MirrorProblem:
    """Mirror flow d/dt ∇φ(β) = −Xᵀ(Xβ − y) from β₀ (None: where ∇φ vanishes)."""

    potential: Any
    X: Array
    y: Array
    beta0: Array | None = None

    def __post_init__(self) -> None:
        X, y = system(self.X, self.y)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", y)
        if self.beta0 is not None:
            object.__setattr__(self, "beta0", vector("beta0", self.beta0, X.shape[1]))

    def __repr__(self) -> str:
        n, d = self.X.shape
        return (
            f"MirrorProblem({type(self.potential).__name__}, n = {n}, d = "
            f"{d}{'' if self.beta0 is None else ', from beta0'})"
        )
