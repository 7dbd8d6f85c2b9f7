"""When a gradient flow on weights is a mirror flow on the predictor (R, §3; W, Appendix A)."""

from __future__ import annotations

from .._core.problems import MirrorProblem, Problem
from ..errors import RefusedError


def mirror(problem: Problem) -> MirrorProblem:
    """The mirror flow that the predictor follows, time factor included, or a refusal that says why
    there is none."""
    form = problem.model.mirror_form(problem.params0, problem.loss, problem.data.n)
    if isinstance(form, str):
        raise RefusedError(f"mirror: {form}")
    return MirrorProblem(
        form.potential, problem.model.features(problem.data.X), problem.data.y, form.beta0
    )
