"""When a gradient flow on weights is a mirror flow on the predictor (R, §3; W, Appendix A)."""

from __future__ import annotations

from .._core.problems import MirrorProblem, Problem
from ..errors import RefusedError
from .model import MirrorForm, MirrorModel, Model


def mirror(problem: Problem) -> MirrorProblem:
    """The mirror flow that the predictor of a network follows, time factor included.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    MirrorProblem

    Raises
    ------
    RefusedError
        Where there is none; it says why.

    Examples
    --------
    >>> data = bf.data.sparse_regression(n=3, d=5, sparsity=1, key=0)
    >>> problem = bf.Problem(bf.DiagonalNetwork(2), data, bf.SquareLoss("half"), scale=0.1)
    >>> bf.models.mirror(problem).X.shape
    (3, 5)
    """
    form = mirror_form(problem)
    if isinstance(form, str):
        raise RefusedError(f"mirror: {form}")
    return MirrorProblem(
        form.potential, problem.model.features(problem.data.X), problem.data.y, form.beta0
    )


def mirror_form(problem: Problem) -> MirrorForm | str:
    """The mirror form from this start, or a sentence that says why there is none."""
    if isinstance(problem.model, MirrorModel):
        return problem.model.mirror_form(problem.start, problem.loss, problem.data.n)
    return no_mirror_form(problem.model)


def no_mirror_form(model: Model) -> str:
    """What is said of models that are no `MirrorModel`."""
    return (
        f"{type(model).__name__} has no known mirror form: the activation pattern or the layers "
        "change along the flow, or gradients do not commute (bf.diagnostics.commuting_defect)"
    )
