"""Worlds for W's §4 and appendix B: the depth-2 model, its limits, samples and steps."""

import dataclasses

import numpy as np
from regimes_changes import (
    another_radius,
    divided,
    example,
    forbidden,
    kernel_solution,
    null_space,
    one_sided,
    rich_solution,
    smaller_unit,
    with_limit,
)
from worlds import World

import biasflow as bf
import biasflow.models.diagonal as diagonal
from biasflow.potentials import Hypentropy
from biasflow.theory.regimes import (
    depth_two,
    finite_steps,
    lemmas,
    sample_counts as samples,
    vanishing,
)


def at_another_scale(evidence):
    p = evidence.problem
    return bf.limit(p.model, p.data, scale=2 * p.start.plus[0]).value


def printed_clock(patch):
    real = diagonal.hyperbolic_form
    patch.setattr(
        diagonal, "hyperbolic_form", lambda plus, minus, factor, P: real(plus, minus, 2 * factor, P)
    )


def clock_and_exponent(patch):
    printed_clock(patch)
    patch.setattr(depth_two, "EXPONENT", 4.0)


def spoiled_flow(patch):
    """Checkpoints whose second half is off by one part in a thousand."""
    p = example("W/thm1")
    flow = bf.gradient_flow(p.model, p.data, p.loss, p.start)
    late = np.where(np.arange(len(flow.times)) > len(flow.times) // 2, 1.001, 1.0)[:, None]
    states = bf.models.DiagonalParams(flow.states.plus * late, flow.states.minus)
    return {"problem": p, "flow": dataclasses.replace(flow, states=states)}


def both_epsilons(factor):
    def spoil(patch):
        divided(depth_two, "least_epsilon_l1", factor)(patch)
        divided(depth_two, "least_epsilon_l2", factor)(patch)

    return spoil


def in_place_of_q(norm):
    return lambda patch: patch.setattr(
        lemmas, "by_definition", lambda problem, beta: norm(problem, beta)
    )


def steeper_lemma_3(patch):
    patch.setattr(
        lemmas, "lemma_3_epsilon", lambda alpha, norm: float((alpha / np.sqrt(norm) - 1) ** -8.0)
    )


def without_dimension(patch):
    """Lemma 1 without its e^{−d/(2ε‖β‖₁)}."""
    patch.setattr(
        lemmas,
        "lemma_1_epsilon",
        lambda alpha, norm, d: max(float(np.log(2 * norm) / (2 * np.log(1 / alpha))), 1e-3),
    )


def swapped(patch):
    real = lemmas.extremes
    patch.setattr(lemmas, "extremes", lambda d: (real(d)[1] / np.sqrt(d), np.sqrt(d) * real(d)[0]))


def another_path(change):
    def spoil(patch):
        real = vanishing.saddle_path
        patch.setattr(vanishing, "saddle_path", lambda X, y: change(real(X, y), X, y))

    return spoil


def random_plateaus(path, X, y):
    states = path.states.copy()
    states[1:-1] = np.random.default_rng(0).standard_normal(states[1:-1].shape)
    return dataclasses.replace(path, states=states)


def kernel_end(path, X, y):
    return dataclasses.replace(
        path, states=np.vstack([path.states[:-1], bf.limits.min_l2(X, y).value])
    )


def late_jumps(path, X, y):
    return dataclasses.replace(path, times=1.05 * path.times)


def biased_start(patch):
    rng = np.random.default_rng(0)
    p = example("W/limit")
    start = bf.models.DiagonalParams(rng.uniform(0.1, 1, p.data.d), rng.uniform(0.1, 1, p.data.d))
    return {"problem": dataclasses.replace(p, start=start)}


def at_r(patch):
    """Gradient flow's limit in place of that at r_eff."""
    real = finite_steps.effective_limit

    def changed(model, data, loss, params0, step, steps, **options):
        predicted, params = real(model, data, loss, params0, step, steps, **options)
        flow = bf.limit(model, data, loss, start=params0)
        return dataclasses.replace(flow, stats=predicted.stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def without_shift(patch):
    """r_eff, but from the start itself."""
    real = finite_steps.effective_limit

    def changed(model, data, loss, params0, step, steps, **options):
        predicted, params = real(model, data, loss, params0, step, steps, **options)
        potential = Hypentropy(
            log_alpha=np.log(2 * params0.plus * params0.minus) + predicted.stats["log_gain"]
        )
        value = bf.bregman_projection(potential, data.X, data.y)
        return dataclasses.replace(value, stats=predicted.stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def gain_without_square(patch):
    """Π(1−s) in place of Π(1−s²), so to speak: half of the gain."""
    real = finite_steps.effective_limit

    def changed(*arguments, **options):
        predicted, params = real(*arguments, **options)
        stats = {**predicted.stats, "log_gain": predicted.stats["log_gain"] / 2}
        return dataclasses.replace(predicted, stats=stats), params

    patch.setattr(finite_steps, "effective_limit", changed)


def fewer_samples(patch):
    """A fifth of the samples."""
    patch.setattr(samples, "SAMPLES_FACTOR", samples.SAMPLES_FACTOR / 5)


def dense_truth(patch):
    """A planted predictor with entries everywhere."""
    real = samples.sparse_regression
    patch.setattr(
        samples,
        "sparse_regression",
        lambda n, d, sparsity, noise, key: real(n, d, d, noise, key=key),
    )


"""Claims whose examples are at best consistent, and what is missing."""


WORLDS: tuple[World, ...] = (
    World("W/thm1", "clock and exponent both as printed, 4 for ‖·‖²", clock_and_exponent),
    World(
        "W/thm1",
        "the clock of the library's own flow twice as fast",
        printed_clock,
        "still true",
        "that flow is no evidence here: the limit does not depend on a clock, and the formula is "
        "compared with raw gradients",
    ),
    World("W/thm1", "∇_w raises", forbidden(bf.DiagonalNetwork)),
    World("W/thm1", "w₋ descends at half speed", one_sided),
    World("W/thm1", "r = α² in place of 2α²", another_radius),
    World(
        "W/thm1",
        "the limit moved inside the null space by 1e-3",
        with_limit("W/thm1", null_space(1e-3)),
    ),
    World(
        "W/thm1",
        "the limit moved inside the null space by 1e-8",
        with_limit("W/thm1", null_space(1e-8)),
    ),
    World("W/thm1", "the kernel solution as limit", with_limit("W/thm1", kernel_solution)),
    World("W/thm1", "the limit at another scale", with_limit("W/thm1", at_another_scale)),
    World("W/thm1", "a flow off by 1e-3 in its second half", spoiled_flow),
    World("W/thm2", "the kernel solution as limit", with_limit("W/thm2", kernel_solution)),
    World(
        "W/thm2",
        "the rich solution as limit, α = 10",
        with_limit("W/thm2", rich_solution, 1),
        key=1,
    ),
    World(
        "W/thm2",
        "the limit moved inside the null space by 1e-6",
        with_limit("W/thm2", null_space(1e-6)),
    ),
    World("W/thm2", "∇_w raises, α = 10", forbidden(bf.DiagonalNetwork), key=1),
    World(
        "W/thm2",
        "ε/100, α = 10",
        both_epsilons(100.0),
        "still true",
        "the theorem is loose: the excess is 1e-11 of ε there, as its sharpness says",
        key=1,
    ),
    World("W/thm2", "ε/100 where the excess is ε/63", both_epsilons(100.0), key=3),
    World("W/thm2", "ε/1e13, α = 10", both_epsilons(1e13), key=1),
    World("W/lem1", "ε/1.2", divided(lemmas, "lemma_1_epsilon", 1.2)),
    World("W/lem1", "ε/5", divided(lemmas, "lemma_1_epsilon", 5.0), key=1),
    World("W/lem1", "no threshold for d", without_dimension),
    World("W/lem1", "the library's potential at r = α²", smaller_unit),
    World(
        "W/lem1",
        "the kernel regime's ℓ2 in place of Q",
        in_place_of_q(lambda p, b: float(np.sum(b**2))),
    ),
    World("W/lem2", "5ε", divided(lemmas, "lemma_2_epsilon", 0.2), key=1),
    World(
        "W/lem2",
        "5ε, α = 1",
        divided(lemmas, "lemma_2_epsilon", 0.2),
        "still true",
        "at α = 1 the lemma is loose by a factor 24, as its sharpness says",
    ),
    World("W/lem2", "30ε, α = 1", divided(lemmas, "lemma_2_epsilon", 1 / 30)),
    World("W/lem2", "ℓ1 in place of Q", in_place_of_q(lambda p, b: float(np.sum(np.abs(b))))),
    World("W/lem2", "the two vectors swapped", swapped),
    World("W/lem2", "the library's potential at r = α²", smaller_unit),
    World(
        "W/lem3",
        "ε/30",
        divided(lemmas, "lemma_3_epsilon", 30.0),
        "still true",
        "the deviation is (‖β‖/α²)²/48 to leading order: ε may be 48 times smaller, as its "
        "sharpness says",
    ),
    World("W/lem3", "ε/100", divided(lemmas, "lemma_3_epsilon", 100.0)),
    World("W/lem3", "ε^{−1/8} in place of ε^{−1/4}", steeper_lemma_3),
    World("W/lem3", "ℓ1 in place of Q", in_place_of_q(lambda p, b: float(np.sum(np.abs(b))))),
    World("W/lem3", "the library's potential at r = α²", smaller_unit),
    World("W/samples", "a fifth of the samples", fewer_samples),
    World("W/samples", "a dense planted predictor", dense_truth),
    World(
        "W/samples",
        "min ℓ2 in place of min ℓ1",
        lambda patch: patch.setattr(samples, "min_l1", bf.limits.min_l2),
    ),
    World(
        "W/samples",
        "a kernel regime that needs √d",
        lambda patch: patch.setattr(samples, "kernel_error", lambda n, d, noise: 1 - n / d**0.5),
    ),
    World(
        "W/samples",
        "a kernel regime that fits no noise",
        lambda patch: patch.setattr(samples, "kernel_error", lambda n, d, noise: 1 - n / d),
    ),
    World("W/limit", "random plateaus", another_path(random_plateaus)),
    World("W/limit", "jumps 5% later", another_path(late_jumps)),
    World("W/limit", "an end at min ℓ2", another_path(kernel_end)),
    World(
        "W/limit",
        "the clock as printed, 4c",
        lambda patch: patch.setattr(vanishing, "EXPONENT", 4.0),
    ),
    World("W/limit", "a biased start that is not uniform", biased_start),
    World("W/descent", "gradient flow's limit, at r", at_r),
    World("W/descent", "r_eff without the shift", without_shift),
    World("W/descent", "half of the gain", gain_without_square),
    World("W/descent", "∇_w raises", forbidden(bf.DiagonalNetwork)),
)
FEWER: dict[str, str] = {}
CONSISTENT: dict[str, str] = {}
"""Claims whose examples are at best consistent, and what is missing."""
