"""How far a network is from the F1 max margin while it is trained, with proof at every time (C,
Proposition 12)."""

from __future__ import annotations

import numpy as np

from .._core.arguments import instance, positive_int
from .._core.problems import Problem
from .._core.results import Trajectory
from ..errors import InputError, RefusedError
from ..limits import MarginCertificate, margin_certificate
from ..models import TwoLayer, TwoLayerParams

EACH_S = 60.0
"""Seconds for the certificate of one state."""


def margin_certificates(trajectory: Trajectory, every: int = 1) -> tuple[MarginCertificate, ...]:
    """`limits.margin_certificate` of the states of a trained ReLU network, each with the weights ∇S
    that the training has there.

    Parameters
    ----------
    trajectory : Trajectory
        Of `gradient_flow` or `margin_ascent` on a TwoLayer network whose inputs end in a constant
        one.
    every : int
        Take each state, each second, …, and the last.

    Returns
    -------
    tuple of limits.MarginCertificate
        direction_slack and sample_slack say which of the two conditions is still open.

    Examples
    --------
    >>> data = bf.data.with_bias(bf.Dataset([[-1.0], [1.0]], [-1.0, 1.0]))
    >>> run = bf.training.margin_ascent(data, bf.TwoLayer(6, 2).init(1.0, key=0), steps=2000)
    >>> found = bf.diagnostics.margin_certificates(run, every=1000)
    >>> bool(found[-1].gap < found[0].gap)
    True
    """
    instance("trajectory", trajectory, Trajectory)
    problem = trajectory.problem
    relu = (
        isinstance(problem, Problem)
        and isinstance(problem.model, TwoLayer)
        and problem.model.activation == "relu"
    )
    if not isinstance(problem, Problem) or not relu or trajectory.sample_weights is None:
        raise RefusedError(
            "margin_certificates: needs a ReLU TwoLayer network trained by gradient_flow or "
            "margin_ascent on classes"
        )
    data = problem.data
    if np.any(data.X[:, -1] != 1):
        raise InputError(
            "trajectory: the last column of its inputs is not constant one; append it with "
            "bf.data.with_bias"
        )
    every = positive_int("every", every)
    last = len(trajectory.times) - 1
    weights = trajectory.sample_weights
    a, W = trajectory.states
    return tuple(
        margin_certificate(
            TwoLayerParams(a[k], W[k]), data.X[:, :-1], data.y, weights=weights[k], time_s=EACH_S
        )
        for k in sorted({*range(0, last, every), last})
    )
