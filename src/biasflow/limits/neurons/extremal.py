"""Extremal vectors of any data set, in exact arithmetic: the directions in which small neurons can
grow (Maennel et al. 2018; Boursier and Flammarion 2024, arXiv:2401.10791, Definition 1).

With q_k = −∂ℓ_k and D(u) = Σ_kσ'(⟨u, x_k⟩)q_kx_k, any number of [slope, 1] for σ'(0), a small
neuron of sign s turns along s·D(u) and so climbs s·G, G(u) = Σ_kq_kσ(⟨u, x_k⟩) over unit u.
Critical are the u with c·u in D(u) for some c, which is G(u): neurons of sign s grow at the rate
s·c. On a face of the arrangement of the hyperplanes ⟨u, x_k⟩ = 0 such a u is ± the projection of
one vector onto the span V of the face. Inputs on one line share their kink: D is the
subdifferential of G, and where their bends cancel there is none. No square root is taken: whether
it lies in that face, and which σ'(0) make up for the rest, is decided in rationals, of the floats
as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..._core.arguments import Array, Index, instance
from ..._core.facts import Fact, Facts, Shown
from ..._core.problems import Dataset, dataset
from ..._core.showing import drawing_room
from ...losses import SquareLoss
from ...losses.loss import Loss
from ...models import TwoLayer, TwoLayerParams
from ...models.two_layer import two_layer_for
from .exact_faces import Pieces, list_faces

FEW = 6
"""Directions that are printed."""


@dataclass(frozen=True, eq=False, repr=False)
class ExtremalVectors(Shown):
    """All unit u with c·u in D(u), c ≠ 0, the largest |c| first.

    directions: u, (k, d). growth: c = G(u), (k,): neurons of sign s along u grow at the rate s·c,
    and c·u is the extremal vector itself. gates: the σ' with Σσ'_kq_kx_k = c·u, (k, n), the proof.
    sides: the signs of ⟨u, x_k⟩, (k, n), zero where exactly so. attracts: (k,), the sign of the
    neurons that turn towards u from everywhere around it, 0 where there are none (a saddle of G).
    complete: whether it is proven that there are no others. weights: q, (n,).
    """

    directions: Array
    growth: Array
    gates: Array
    sides: Index
    attracts: Index
    complete: bool
    weights: Array
    data: Dataset

    def __len__(self) -> int:
        return len(self.growth)

    @property
    def vectors(self) -> Array:
        """D = c·u, (k, d)."""
        return self.growth[:, None] * self.directions

    @property
    def rates(self) -> Array:
        """Growth of the neurons that turn towards u, (k,): negative where they shrink, NaN where
        none do."""
        return np.where(self.attracts == 0, np.nan, self.attracts * self.growth)

    @property
    def attracting(self) -> ExtremalVectors:
        """Those towards which neurons turn, and which they do not leave."""
        return self._chosen(self.attracts != 0)

    @property
    def defects(self) -> Array:
        """‖Σσ'_kq_kx_k − c·u‖ over Σ|q_k|‖x_k‖ in floats, (k,): in rationals it is zero."""
        pulled = self.gates * self.weights @ self.data.X
        size = float(np.abs(self.weights) @ np.linalg.norm(self.data.X, axis=1))
        return np.asarray(np.linalg.norm(pulled - self.vectors, axis=1) / size)

    def _chosen(self, which: Any) -> ExtremalVectors:
        parts = {
            name: getattr(self, name)[which]
            for name in ("directions", "growth", "gates", "sides", "attracts")
        }
        return replace(self, **parts)

    def facts(self) -> Facts:
        words = {1: "positive neurons turn here", -1: "negative ones do", 0: "nobody stays"}
        lines = [
            Fact(
                f"G = {c:+.4g}",
                "u = ["
                + ", ".join(f"{x:.4g}" for x in u[:FEW])
                + (", …]" if len(u) > FEW else "]")
                + f"; {words[int(s)]}",
            )
            for u, c, s in zip(
                self.directions[:FEW], self.growth[:FEW], self.attracts[:FEW], strict=True
            )
        ]
        if len(self) > FEW:
            lines.append(Fact("and", f"{len(self) - FEW} more"))
        known = "all of them" if self.complete else "others may be lost to rounding"
        return Facts(
            f"{len(self)} extremal vectors of {self.data.n} samples in R^{self.data.d}, {known}",
            tuple(lines),
        )

    def plot(self) -> Any:
        """A matplotlib figure: G around the circle with its critical points, or these alone."""
        return drawing_room().extremal_picture(self)


def extremal_vectors(
    data: Dataset,
    loss: Loss | None = None,
    model: TwoLayer | None = None,
    params: TwoLayerParams | None = None,
) -> ExtremalVectors:
    """The directions along which small neurons can grow, for any data set, each with its proof.

    D(u) = −Σ_k∂ℓ(f(x_k), y_k)·σ'(⟨u, x_k⟩)·x_k, set-valued on kinks; extremal is c·u in D(u). From
    tiny starts every neuron comes to rest or turns towards one of those that attract. Directions
    at which D(u) contains zero are not listed: neurons rest there.

    Parameters
    ----------
    data : Dataset
        Inputs that span a plane, up to 600 of distinct lines; or up to 8 in any dimension. Of more
        inputs in more dimensions faces are listed in floats first, and proven one by one.
    loss : Loss, optional
        Any; 'half-mean' squares, B's, unless said otherwise. It sets the clock.
    model : TwoLayer, optional
        Sets the activation (a ReLU unless said otherwise).
    params : models.TwoLayerParams, optional
        A network that is already there: its predictions are the f(x_k). Zero unless given.

    Returns
    -------
    limits.ExtremalVectors

    Raises
    ------
    RefusedError
        Where there are too many faces to list.

    Examples
    --------
    >>> found = bf.limits.extremal_vectors(bf.Dataset([[1.0, 0.2], [0.1, 1.0]], [1.0, -0.5]))
    >>> found
    2 extremal vectors of 2 samples in R^2, all of them
      G = +0.4876: u = [0.995, -0.0995]; positive neurons turn here
      G = -0.2402: u = [-0.1961, 0.9806]; negative ones do
    """
    data = dataset(data)
    loss = SquareLoss("half-mean") if loss is None else instance("loss", loss, Loss)
    model = TwoLayer(1, data.d) if model is None else instance("model", model, TwoLayer)
    labels = loss.checked(data.y)
    f = np.zeros(data.n)
    if params is not None:
        f = np.asarray(model(two_layer_for(params, data.d).checked(params, data.d), data.X))
    weights = -np.asarray(loss.gradient(f, labels), dtype=float)
    return extremal_of(data, weights, model.negative_slope)


def extremal_of(data: Dataset, weights: Array, slope: float = 0.0) -> ExtremalVectors:
    """The same for given weights q_k of the samples."""
    pieces = Pieces(data.X, weights, Fraction(slope))
    complete, faces = list_faces(pieces)
    found = {}
    for zero, patterns in faces:
        for face in pieces.critical(zero, patterns):
            found[face.sides, face.positive] = face
    n, d = data.X.shape
    u, growth = np.zeros((len(found), d)), np.zeros(len(found))
    gates, sides = np.zeros((len(found), n)), np.zeros((len(found), n), dtype=np.intp)
    attracts = np.zeros(len(found), dtype=np.intp)
    for row, face in enumerate(found.values()):
        u[row], growth[row] = pieces.direction(face)
        gates[row], sides[row] = pieces.gates(face)
        attracts[row] = face.attracts
    everything = ExtremalVectors(u, growth, gates, sides, attracts, complete, weights, data)
    return everything._chosen(np.lexsort((*u.T[::-1], -np.abs(growth))))


def is_silent(data: Dataset, weights: Array, allowed: Array) -> bool:
    """Whether Σq_k‖x_k‖ over the inputs of every ray is zero up to the sum of what is allowed for
    each |q_k|: then G is zero in all directions, whatever the units of inputs and labels."""
    reach = np.linalg.norm(data.X, axis=1)
    left: dict[tuple[int, int], tuple[float, float]] = {}
    for ray, q, most, length in zip(
        Pieces(data.X, weights, Fraction(0)).side, weights, allowed, reach, strict=True
    ):
        found, bound = left.get(ray, (0.0, 0.0))
        left[ray] = found + q * length, bound + most * length
    return all(abs(found) <= bound for found, bound in left.values())
