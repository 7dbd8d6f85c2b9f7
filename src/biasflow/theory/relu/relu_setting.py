"""B's constants for a problem: D_±, the two clusters of neurons, ε, and the clock (B, §4.1 and
B.2).

B assumes ‖D_+‖ > ‖D_−‖; here `first` is the sign of the labels that are fitted first, so that
nothing needs swapping. The α and β of B.2 lack a factor 1/n² in print: y_k/n = ⟨D_±, x_k⟩ is what
they compare with ‖D_±‖.

Inputs may have any lengths κ_k, which B sets to one "for convenience": y_kκ_k then stands where y_k
does in rates, y_k/κ_k in norms. λ may be below float range: everything that grows with its
logarithm is computed from that.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._core.arguments import Array, Index, Mask
from ..._core.problems import Problem
from ..._core.trees import grown
from ...flows.relu.cluster_growth import Growth
from ...models import TwoLayerParams


@dataclass(frozen=True, eq=False)
class LabelCluster:
    """Neurons of one sign that are active on all inputs with labels of that sign (S_{±,1}), and
    what they align with."""

    sign: float
    neurons: Index
    D: Array
    V: Array
    growth: Growth

    @property
    def capacity(self) -> float:
        """What Σ‖w_j‖² of the cluster ends at: ‖V‖, V = Σ_± y_kx_k/κ_k²; n‖D_±‖ on orthonormal
        inputs."""
        return float(np.linalg.norm(self.V))

    @property
    def target(self) -> Array:
        """±V/‖V‖, the direction that fits the labels; that of D_± where all inputs have one
        length."""
        return self.sign * self.V / self.capacity

    @property
    def rate(self) -> float:
        """‖D_±‖."""
        return float(row_norms(self.D))  # squares of 1e200 overflow

    @property
    def direction(self) -> Array:
        """±D_±/‖D_±‖."""
        return self.sign * self.D / self.rate

    def size(self, params: TwoLayerParams) -> Array:
        """u_± = Σ‖w_j‖² over the cluster."""
        return np.sum(params.W[..., self.neurons, :] ** 2, axis=(-2, -1))

    def misalignment(self, params: TwoLayerParams) -> float:
        """max over the cluster of ‖D_±‖ − ⟨w_j/‖w_j‖, ±D_±⟩, free of cancellation."""
        w = unit_rows(params.W[self.neurons])
        return float(np.max(self.rate * np.sum((w - self.direction) ** 2, axis=1) / 2))


class Setting:
    """What B's statements need to know about a problem with a two-layer ReLU network."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.X, self.y = problem, problem.data.X, problem.data.y
        self.n, self.start = problem.data.n, problem.first_state
        self.lengths = np.linalg.norm(self.X, axis=1)

    @cached_property
    def clusters(self) -> tuple[LabelCluster, ...]:
        """The cluster of each sign of labels that occurs, the one that grows first in front."""
        found = [self._cluster(sign) for sign in (1.0, -1.0) if np.any(sign * self.y > 0)]
        return tuple(sorted(found, key=lambda cluster: -cluster.rate))

    def _cluster(self, sign: float) -> LabelCluster:
        wanted = sign * self.y > 0
        X, y, lengths = self.X[wanted], self.y[wanted], self.lengths[wanted]
        a, W = self.problem.start
        neurons = np.flatnonzero((np.sign(a) == sign) & np.all(W @ X.T >= 0, axis=1))
        return LabelCluster(
            sign, neurons, y @ X / self.n, (y / lengths**2) @ X, Growth(y, lengths, self.n)
        )

    @property
    def first(self) -> LabelCluster:
        return self.clusters[0]

    @property
    def second(self) -> LabelCluster:
        return self.clusters[1]

    @property
    def ratio(self) -> float:
        """r = ‖D_+‖/‖D_−‖ > 1."""
        return self.first.rate / self.second.rate

    @property
    def scale(self) -> float:
        """λ: the root mean square of the entries of W, so that w_j = λg_j with g of size one; zero
        where no float holds it."""
        return float(np.exp(self.log_scale))

    @cached_property
    def log_scale(self) -> float:
        """log λ."""
        W = self.problem.start.W
        shifts = np.broadcast_to(self.problem.log_scale, len(W))
        size = np.max(np.abs(W), axis=1)
        top = float(np.max(np.log(size[size > 0]) + shifts[size > 0]))
        return top + 0.5 * float(np.log(np.mean(grown(W, shifts - top) ** 2)))

    @cached_property
    def unit(self) -> TwoLayerParams:
        """g: the start over λ."""
        a, W = self.problem.start
        shifts = np.broadcast_to(self.problem.log_scale, len(a)) - self.log_scale
        return TwoLayerParams(grown(a, shifts), grown(W, shifts))

    @property
    def c(self) -> float:
        """max‖w_j‖/λ."""
        return float(np.max(np.linalg.norm(self.unit.W, axis=1)))

    @cached_property
    def epsilon(self) -> float:
        """The largest ε that B.2 allows: (1+3ε)·max(1−α, 1/r) ≤ 1−ε and (1+3rε)(1−β) ≤ 1−ε, α, β =
        min y_k²κ_k²/(2n²‖D_±‖²)."""
        alpha, beta = (self._least_share(cluster) / 2 for cluster in self.clusters)
        slow = max(1 - alpha, 1 / self.ratio)
        return min((1 - slow) / (1 + 3 * slow), beta / (1 + 3 * self.ratio * (1 - beta)))

    def _least_share(self, cluster: LabelCluster) -> float:
        """min y_k²κ_k²/Σy_k²κ_k² over the labels of a sign."""
        pulls = (self.y * self.lengths)[cluster.sign * self.y > 0]
        return float(np.min(pulls**2) / np.sum(pulls**2))

    @property
    def exponent(self) -> float:
        """1 − κ, κ = max_± √(1 − min y_k²κ_k²/Σ_± y_k²κ_k²): idle neurons end at λ^{1−κ} at
        most."""
        return 1 - max(float(np.sqrt(1 - self._least_share(cluster))) for cluster in self.clusters)

    @cached_property
    def growths(self) -> tuple[tuple[int, int, float], ...]:
        """Neurons outside the clusters: index, cluster of their sign, and ‖D_A‖/‖D_±‖.

        A: the labels of their sign that they are active on. D_A is all they can grow along while h
        ≈ 0: gates on orthogonal inputs do not open again (B, Lemma 6).
        """
        found = []
        for i, cluster in enumerate(self.clusters):
            pulls = self.y * self.lengths
            for j in np.setdiff1d(
                np.flatnonzero(np.sign(self.unit.a) == cluster.sign), cluster.neurons
            ):
                own = pulls[cluster.sign * self.y > 0]
                found.append(
                    (
                        int(j),
                        i,
                        float(
                            np.sqrt(
                                np.sum(own[self._active(int(j), cluster)] ** 2) / np.sum(own**2)
                            )
                        ),
                    )
                )
        return tuple(found)

    def _active(self, j: int, cluster: LabelCluster) -> Mask:
        """On which of a cluster's labels a neuron starts active."""
        return np.asarray(self.X[cluster.sign * self.y > 0] @ self.unit.W[j] > 0)

    @property
    def slowest(self) -> float:
        """1 − κ with the κ of the neurons that there are: λ^{1−κ} is the size at which the largest
        of them ends."""
        return 1 - max((growth for _, _, growth in self.growths), default=0.0)

    def idle_sizes(self, offsets: Array) -> Array:
        """What ‖w_j‖ of the neurons outside the clusters may grow to, (m,); zero in the clusters.

        d‖w_j‖/dt ≤ ‖D_A(t)‖, which falls with the cluster's growth; if that is logistic, its
        integral is the time of the
        midpoint: ‖w_j(∞)‖ ≤ ‖w_j(0)‖exp(‖D_A‖T), T = −ln λ/‖D_±‖ + offset. Inputs of other lengths
        add to T, and what labels of the other sign exceed while their cluster turns adds to ‖D_A‖.
        offsets: in B's clock, of the first and second cluster.
        """
        signs = [cluster.sign for cluster in self.clusters]
        alone = ~np.isin(np.sign(self.unit.a), signs)  # no label has their sign: they only shrink
        sizes = np.where(alone, row_norms(self.unit.W) * self.scale, 0.0)
        for j, i, growth in self.growths:
            cluster = self.clusters[i]
            others = [each.growth for each in self.clusters if each is not cluster]
            time = float(offsets[i]) + cluster.growth.delay(self._active(j, cluster))
            start = float(np.log(np.linalg.norm(self.unit.W[j])))
            log_size = (
                start
                + (1 - growth) * self.log_scale
                + growth * cluster.rate * time
                + sum(other.overshoot for other in others)
            )
            sizes[j] = np.exp(log_size)
        return sizes

    def power(self, share: float) -> float:
        """λ^{share·ε}."""
        return float(np.exp(share * self.epsilon * self.log_scale))

    @property
    def speed(self) -> float:
        """B's time that passes in a unit of the flow's: 1 for 'half-mean'."""
        return 2 * self.n * float(self.problem.loss.factor(self.n))

    def time(self, share: float, cluster: LabelCluster) -> float:
        """−share·ln λ/‖D_±‖ in the flow's own clock."""
        return -share * self.log_scale / cluster.rate / self.speed

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """The four times of B's Figure 1."""
        eps, r = self.epsilon, self.ratio
        return (
            self.time(eps, self.second),
            self.time(1 + 3 * eps, self.first),
            self.time(1 - eps, self.second),
            self.time(1 + 3 * r * eps, self.second),
        )

    @property
    def least_norm(self) -> float:
        """2(‖V_+‖ + ‖V_−‖), the least ‖θ‖² of an interpolator: 2n(‖D_+‖ + ‖D_−‖) on orthonormal
        inputs (B, Proposition 1)."""
        return 2 * sum(cluster.capacity for cluster in self.clusters)

    @property
    def multipliers(self) -> Array:
        """λ_k = y_k/(κ_k²‖V_±‖), which are y_k/(n‖D_±‖) on orthonormal inputs: the dual of least
        norm (B, App. C)."""
        found = np.zeros(self.n)
        for cluster in self.clusters:
            own = cluster.sign * self.y > 0
            found[own] = self.y[own] / self.lengths[own] ** 2 / cluster.capacity
        return found


def row_norms(W: Array) -> Array:
    """‖w_j‖ over the last axis, of rows whose squares may underflow."""
    top = np.max(np.abs(W), axis=-1, keepdims=True)
    return np.asarray(
        (top * np.linalg.norm(W / np.where(top > 0, top, 1.0), axis=-1, keepdims=True))[..., 0]
    )


def unit_rows(W: Array) -> Array:
    """w_j/‖w_j‖; zero where w_j is."""
    norms = row_norms(W)[..., None]
    top = np.where(norms > 0, norms, 1.0)
    return np.asarray(W / top)


def squared_norm(params: TwoLayerParams) -> float:
    """‖θ‖²."""
    return float(np.sum(params.a**2) + np.sum(params.W**2))


def distance(first: TwoLayerParams, second: TwoLayerParams) -> float:
    """‖θ − θ'‖."""
    return float(np.sqrt(np.sum((first.a - second.a) ** 2) + np.sum((first.W - second.W) ** 2)))
