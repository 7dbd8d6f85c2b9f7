"""Networks on a user's data, and what their labels call for."""

from __future__ import annotations

import numpy as np

from .._core.problems import Dataset, Problem
from ..errors import InputError


def problem_on(data: Dataset, network: str, scale: float, depth: int, width: int) -> Problem:
    """A network of this kind on the data, at its start; InputError where labels are not for it."""
    if network == "margin":
        _need_signs(data.y)
    return NETWORKS[network](data, scale, depth, width)


def _need_signs(y: np.ndarray) -> None:
    values = [f"{value:g}" for value in np.unique(y)]
    if set(values) <= {"-1", "1"}:
        return
    if len(values) == 2:
        raise InputError(
            f"--network margin: labels are {values[0]} and {values[1]}, a margin is about −1 and "
            f"+1; --labels {','.join(values)} maps them"
        )
    if len(values) == 1:
        raise InputError(
            f"--network margin: all labels are {values[0]}; a margin is about −1 and +1"
        )
    raise InputError(
        f"--network margin: labels have {len(values)} different values, a margin is about −1 and "
        "+1; --network diagonal, relu and directions fit numbers"
    )


def advice(data: Dataset, network: str) -> str | None:
    """What else to try with these labels."""
    values = set(np.unique(data.y).tolist())
    if network == "margin" or len(values) != 2:
        return None
    if values == {-1.0, 1.0}:
        return "labels are ±1: `--network margin` asks for a classifier and its margin"
    if values == {0.0, 1.0}:
        return (
            "labels are 0 and 1, fitted as numbers; `--labels 0,1 --network margin` asks for a "
            "classifier and its margin"
        )
    return None


def _diagonal(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    from ..losses import SquareLoss
    from ..models import DiagonalNetwork

    model = DiagonalNetwork(depth)
    return Problem(model, data, SquareLoss("sum"), model.init(scale, dim=data.d))


def _directions(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """Random directions that stay fixed, from R's start."""
    from ..losses import SquareLoss
    from ..models import random_network

    model, params = random_network(width, data.d, scale)
    return Problem(model, data, SquareLoss("half"), params)


def _relu(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """A two-layer ReLU network trained in full, from B's balanced start."""
    from ..losses import SquareLoss
    from ..models import TwoLayer

    model = TwoLayer(width, data.d)
    return Problem(model, data, SquareLoss("half-mean"), model.init(scale))


def _margin(data: Dataset, scale: float, depth: int, width: int) -> Problem:
    """A two-layer ReLU network with a bias, trained on the smooth margin of classes ±1, from a
    balanced start (C)."""
    from ..data import with_bias
    from ..losses import SmoothMargin
    from ..models import TwoLayer

    biased = with_bias(data)
    model = TwoLayer(width, biased.d)
    return Problem(model, biased, SmoothMargin(), model.init(scale / np.sqrt(width)))


NETWORKS = {"diagonal": _diagonal, "directions": _directions, "relu": _relu, "margin": _margin}
