"""Worlds for C's remarks: Dirac starts, sparse classifiers, projections."""

import dataclasses

import numpy as np
from margin_static_worlds import random_measure, scaled, wrapped
from worlds import World

import biasflow as bf
from biasflow.theory.margin import decay, interchange, points, projections, sparsity
from biasflow.theory.margin.margin_examples import cluster_data, point_problem


def own_paces(factor):
    """Neurons of which each is faster than the one before."""

    def spoil(patch):
        right = bf.TwoLayer.gradient

        def paced(self, params, X, output):
            found = right(self, params, X, output)
            return found._replace(W=found.W * factor ** np.arange(len(found.W))[:, None])

        patch.setattr(bf.TwoLayer, "gradient", paced)

    return spoil


def scattered_flow(patch):
    """The library's flow, its neurons each turned a little."""
    right = points.gradient_flow

    def turned(*args, **named):
        found = right(*args, **named)
        turn = (
            1e-3
            * np.random.default_rng(0).standard_normal(found.states.W.shape)
            * np.abs(found.states.W).max()
        )
        return dataclasses.replace(found, states=found.states._replace(W=found.states.W + turn))

    patch.setattr(points, "gradient_flow", turned)


def two_points(patch):
    """A start at two points."""
    problem = point_problem(0)
    W = problem.start.W.copy()
    W[0] = W[0][::-1]
    return {"problem": dataclasses.replace(problem, start=problem.start._replace(W=W))}


def no_positive_part(patch):
    """Linear neurons, which have both signs, on classes that a line separates."""
    problem = point_problem(0)
    data = bf.data.with_bias(bf.Dataset(np.array([[1.0, 0.5], [-1.0, 0.3]]), np.array([1.0, -1.0])))
    W = np.outer(np.linalg.norm(problem.start.W, axis=1), [1.0, 0.0, 0.0])
    patch.setattr(bf.TwoLayer, "__call__", lambda self, params, X: params.a @ (params.W @ X.T))
    start = problem.start._replace(a=np.abs(problem.start.a), W=W)
    return {"problem": dataclasses.replace(problem, data=data, start=start)}


def twice_the_atoms(found, *_):
    """A measure of which each atom is two, near each other."""
    few, tight, missed = found
    u = np.vstack([few.directions, few.directions + 1e-4])
    u /= np.linalg.norm(u, axis=1)[:, None]
    return (
        bf.models.Particles(u, np.tile(few.signs, 2), np.tile(few.log_masses, 2) - np.log(2)),
        tight,
        missed,
    )


def limit_of_fewer_labels(patch):
    data = cluster_data(0)
    return {"problem": data, "limit": bf.limits.f1_max_margin(data.X[:6], data.y[:6])}


def of_fewer_samples(patch):
    """γ₁ of six samples given for all of them."""
    data = cluster_data(0, 12, d=3, k=2)
    return {"problem": data, "limit": bf.limits.f1_max_margin(data.X[:4], data.y[:4])}


def rough_kernel(patch):
    """A kernel with a kink."""
    right = sparsity.circle_kernel
    patch.setattr(
        sparsity,
        "circle_kernel",
        lambda rows, others: right(rows, others) - 0.01 * np.abs(rows @ others.T - 1.0),
    )


def bound_times(factor):
    def spoil(patch):
        right = projections.Line.bound.fget
        patch.setattr(projections.Line, "bound", property(lambda self: factor * right(self)))

    return spoil


def constants_of_rank_alone(patch):
    """Lemma 20 as printed, r = 1: c(Δ₁/R)² whatever R, c as at R = 1, on inputs a hundred times
    smaller."""
    patch.setattr(
        projections.Line,
        "bound",
        property(lambda self: 1 / (2 + 16 * np.sqrt(2) * (self.radius / self.distance) ** 2)),
    )
    data = cluster_data(0, 12, d=3, k=2)
    return {"problem": bf.Dataset(data.X / 100, data.y)}


def penalty(change):
    """Another weight decay: change(½Σa², ½Σ‖w‖²)."""
    return lambda patch: patch.setattr(
        decay,
        "weight_decay",
        lambda network: change(np.sum(network.a**2) / 2, np.sum(network.W**2) / 2),
    )


def half_a_gain(patch):
    """A dual that sees half of what neurons gain: a lower bound that is none."""
    right = decay.Decayed.gain
    patch.setattr(
        decay.Decayed,
        "gain",
        lambda self, q: 0.9 * right(self, q) if np.ptp(q) > 0 else right(self, q),
    )


def conjugate_times(factor):
    """A dual value that is too large: the bound is none."""

    def spoil(patch):
        right = decay.Decayed.conjugate
        patch.setattr(decay.Decayed, "conjugate", lambda self, q: factor * right(self, q))

    return spoil


def fading(patch):
    """Margins that fall, by a hundredth for each e-fold of the norm."""
    right = interchange.scores

    def faded(problem, params):
        size = sum(np.sum(leaf**2) for leaf in params)
        return right(problem, params) * (1 - 0.01 * np.log(size))

    patch.setattr(interchange, "scores", faded)
    right_states = interchange.Trained.state
    patch.setattr(
        interchange.Trained,
        "state",
        lambda self, k: type(self.problem.start)(
            *(np.exp(self.log_norms[k] / 2) * leaf for leaf in right_states(self, k))
        ),
    )


def backwards(patch):
    """Raw gradients from their end to their start."""
    flow = interchange.raw_flow

    def other(*args, **named):
        found = flow(*args, **named)
        return dataclasses.replace(found, states=found.states[::-1], error=found.error[::-1])

    patch.setattr(interchange, "raw_flow", other)


def must_grow(patch):
    """As printed in the proof of Corollary 11: the margin would have to grow by n/‖ν‖."""
    patch.setattr(interchange, "lost_by", lambda n, log_norms: -n * np.exp(-log_norms))


SOLVER = (projections, "f1_max_margin")
WORLDS = (
    World("C/dirac", "neurons of different speeds", own_paces(1.01)),
    World("C/dirac", "a flow that scatters them", scattered_flow),
    World("C/dirac", "a start at two points", two_points),
    World("C/dirac", "features of both signs", no_positive_part),
    World("C/interchange", "margins that fade", fading),
    World("C/interchange", "raw gradients backwards", backwards),
    World("C/interchange", "the sign of Corollary 11 as printed", must_grow),
    World("C/sparse", "two atoms for each", wrapped(sparsity, "few_atoms", twice_the_atoms)),
    World("C/sparse", "a random measure", wrapped(sparsity, "f1_max_margin", random_measure)),
    World(
        "C/sparse",
        "γ₁ × 1.001",
        wrapped(sparsity, "f1_max_margin", scaled(objective=1.001, primal=1.001, dual=1.001)),
    ),
    World("C/sparse", "γ₁ of fewer samples given", limit_of_fewer_labels),
    World("C/sparse", "a kernel with a kink", rough_kernel),
    World("C/weight-decay", "decay of the output layer alone", penalty(lambda a, w: 2 * a)),
    World("C/weight-decay", "neurons decay twice as much", penalty(lambda a, w: a + 2 * w)),
    World("C/weight-decay", "decay × 1.01", penalty(lambda a, w: 1.01 * (a + w))),
    World("C/weight-decay", "the path norm squared", penalty(lambda a, w: (a + w) ** 2)),
    World("C/weight-decay", "a bound that neurons pass", half_a_gain),
    World("C/weight-decay", "a dual value × 1.001", conjugate_times(1.001)),
    World(
        "C/sec6",
        "γ₁ × 1.2, no classifier of it",
        wrapped(*SOLVER, scaled(objective=1.2, primal=1.2, dual=1.2)),
    ),
    World("C/sec6", "γ₁'s upper bound halved", wrapped(*SOLVER, scaled(dual=0.5))),
    World("C/sec6", "twenty times the bound", bound_times(20.0)),
    World("C/sec6", "constants of r alone, as printed, on small inputs", constants_of_rank_alone),
    World("C/sec6", "a random measure", wrapped(*SOLVER, random_measure)),
    World("C/sec6", "γ₁ of fewer samples given", of_fewer_samples),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
