"""Where the probe's thresholds come from: networks whose regime is known without the probe.

    python -m biasflow.regime.calibration --picture calibration.png

Of every network two ends are known: what the kernel machine of its start predicts (the least norm
of the tangent kernel through the network's own training predictions, exact), and where it goes
itself from a vanishing start (for diagonal networks the least ℓ1 norm, exact; for the others a
training from a small one). Its *position* is how far its own predictor is from the kernel machine,
in units of the distance of the two ends,

    p = ‖f − f_kernel‖/‖f_rich − f_kernel‖,

0 in the kernel regime and 1 in the rich one, on β itself or on inputs that were not trained on.
(The distance from f_rich has no part in it: ReLU networks have many rich ends.)
The probe sees nothing of that: its measures are of weights and gradients at the training inputs.
'kernel' says that f is the kernel machine's, 'rich' that it has left it, not that it arrived at the
other end: 'kernel' is wrong where p > 1/4, 'rich' where p < 1/4, and 'between' abstains. How many
rich ones are not half way is told beside. Thresholds are chosen on two families, and tried on other
seeds, shapes and depths.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.trees import leaf_map
from .._numerics.deadlines import RECORDED_S
from .._numerics.double_precision import jax_in_double
from ..data import sparse_regression
from ..flows import limit
from ..limits import min_l1, tangent_interpolator, tangent_kernel_limit
from ..models import DeepNetwork, DiagonalNetwork, DiagonalParams
from ..training.paced_descent import paced_descent
from .measures import Estimate
from .probing import KERNEL_BELOW, RICH_ABOVE, judged, probe

COMMAND = "python -m biasflow.regime.calibration"
KERNEL_TRIED = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
RICH_TRIED = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Thresholds that are tried."""
MOST_WRONG = 0.05
"""Share of wrong verdicts up to which thresholds may abstain less: verdicts are given at two
standard errors, which allow for as many."""
VANISHING = 0.02
"""Scale of the start, relative to He's, that stands for a vanishing one in trained networks."""
LEFT, HALF = 0.25, 0.5
"""Positions at which the kernel regime counts as left, with 6% of the squared distance of the ends,
and half of the way."""
APART = 0.1
"""Distance of the two ends, relative to the rich one, below which they are the same."""
STEPS, TARGET = 20_000, 1e-4
"""Of a training: at most, and the share of the first loss at which it ends."""


@dataclass(frozen=True)
class Known:
    """A training whose position between the regimes is known, and what the probe measured."""

    family: str
    scale: float
    seed: int
    position: float
    final: Mapping[str, Estimate]


def diagonal_runs(
    family: str, scales: Sequence[float], seeds: Iterable[int], n: int, d: int, sparsity: int
) -> list[Known]:
    """Diagonal networks of depth two on sparse regression, by their exact limits."""
    found = []
    for seed in seeds:
        data, model = sparse_regression(n, d, sparsity, 0.0, key=seed), DiagonalNetwork(2)
        rich = min_l1(data.X, data.y).value
        for scale in scales:
            start = model.init(scale, dim=d)
            beta = limit(model, data, scale=scale, time_s=RECORDED_S).value
            root = np.sqrt(beta**2 / 4 + scale**4)  # w₊w₋ = α²
            end = DiagonalParams(np.sqrt(root + beta / 2), np.sqrt(root - beta / 2))
            kernel = tangent_kernel_limit(model, data, start).value
            final = probe(model, [start, end], data.X, data.y, keys=1).final
            found.append(Known(family, scale, seed, _position(beta, kernel, rich), final))
    return found


def trained_runs(
    family: str,
    model: DeepNetwork,
    scales: Sequence[float],
    seeds: Iterable[int],
    n: int = 24,
) -> list[Known]:
    """Networks whose start is identically zero, trained on the sign of x₁x₂."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng([seed, 77])
        X, held_out = (rng.standard_normal((count, model.widths[0])) for count in (n, 200))
        y = np.sign(X[:, 0] * X[:, 1])
        direction, tried = model.init(1.0, key=seed), (VANISHING, *scales)
        starts = [leaf_map(partial(np.multiply, scale), direction) for scale in tried]
        ends = _trained(model, starts, X, y)
        rich = model(ends[0], held_out)
        for scale, start, end in list(zip(tried, starts, ends, strict=True))[1:]:
            kernel = tangent_interpolator(model, start, X, model(end, X)).value(held_out)
            if np.linalg.norm(kernel - rich) < APART * np.linalg.norm(rich):
                continue
            final = probe(model, [start, end], X, y, keys=1).final
            position = _position(model(end, held_out), kernel, rich)
            found.append(Known(family, scale, seed, position, final))
    return found


def _trained(model: DeepNetwork, starts: Sequence[Any], X: Array, y: Array) -> list[Any]:
    """Where trainings from all these starts end."""
    import jax
    import jax.numpy as jnp

    with jax_in_double():
        descent = paced_descent(lambda w, X: model(w, X)[:, None], X, y[:, None], TARGET)
        together = jax.tree.map(lambda *parts: jnp.stack(parts), *starts)
        ends = descent.advance(descent.opened(together), 0, STEPS).weights
        return [
            jax.tree.map(lambda part, k=k: np.asarray(part[k]), ends) for k in range(len(starts))
        ]


def _position(value: Array, kernel: Array, rich: Array) -> float:
    return float(np.linalg.norm(value - kernel) / np.linalg.norm(rich - kernel))


def calibration_runs(few: bool = False) -> list[Known]:
    """Those that thresholds are chosen on."""
    alphas = np.geomspace(1e-3, 30.0, 6 if few else 19).tolist()
    scales = np.geomspace(0.05, 10.0, 5 if few else 13).tolist()
    two = DeepNetwork((3, 60), symmetric=True)
    return [
        *diagonal_runs("diagonal, depth 2", alphas, range(2 if few else 4), 15, 40, 3),
        *trained_runs("two layers, ReLU", two, scales, range(1 if few else 2)),
    ]


def held_out_runs(few: bool = False) -> list[Known]:
    """Other seeds of the same families, another shape and another depth."""
    alphas = np.geomspace(2e-3, 20.0, 5 if few else 16).tolist()
    scales = np.geomspace(0.06, 8.0, 4 if few else 11).tolist()
    two, three = (DeepNetwork(widths, symmetric=True) for widths in ((3, 60), (3, 30, 30)))
    return [
        *diagonal_runs("diagonal, depth 2", alphas, [100], 15, 40, 3),
        *diagonal_runs("diagonal, larger", alphas, [100], 30, 120, 5),
        *trained_runs("two layers, ReLU", two, scales, [101]),
        *(() if few else trained_runs("three layers, ReLU", three, scales, [101])),
    ]


@dataclass(frozen=True)
class Rates:
    """Of verdicts: kernel ones that are wrong and all of them, rich ones likewise, how many rich
    ones are not half way, and of how many networks."""

    wrong_kernel: int
    kernel: int
    wrong_rich: int
    rich: int
    on_the_way: int
    total: int

    @property
    def wrong(self) -> float:
        """Share of verdicts that are wrong."""
        return (self.wrong_kernel + self.wrong_rich) / max(self.kernel + self.rich, 1)

    @property
    def abstained(self) -> float:
        return 1 - (self.kernel + self.rich) / self.total

    def __str__(self) -> str:
        return (
            f"{self.wrong_kernel} of {self.kernel} 'kernel' and {self.wrong_rich} of {self.rich} "
            f"'rich' wrong ({self.on_the_way} not half way); {100 * self.abstained:.0f}% of "
            f"{self.total} 'between'"
        )


def rates(
    runs: Sequence[Known], kernel_below: float = KERNEL_BELOW, rich_above: float = RICH_ABOVE
) -> Rates:
    """How verdicts with these thresholds do."""
    verdicts = [(judged(run.final, kernel_below, rich_above), run.position) for run in runs]
    kernel = [p for verdict, p in verdicts if verdict == "kernel"]
    rich = [p for verdict, p in verdicts if verdict == "rich"]
    wrong = sum(p > LEFT for p in kernel), sum(p < LEFT for p in rich)
    halfway = sum(p < HALF for p in rich)
    return Rates(wrong[0], len(kernel), wrong[1], len(rich), halfway, len(runs))


def chosen(runs: Sequence[Known]) -> tuple[float, float]:
    """The thresholds with the fewest abstentions among those with at most `MOST_WRONG` of either
    verdict wrong; each by itself."""
    kernel = max(
        (t for t in KERNEL_TRIED if _share(rates(runs, t, 9.0), "kernel") <= MOST_WRONG),
        default=KERNEL_TRIED[0],
    )
    rich = min(
        (t for t in RICH_TRIED if _share(rates(runs, -1.0, t), "rich") <= MOST_WRONG),
        default=RICH_TRIED[-1],
    )
    return kernel, rich


def _share(found: Rates, verdict: str) -> float:
    wrong, of = getattr(found, f"wrong_{verdict}"), getattr(found, verdict)
    return wrong / max(of, 1)


def report(runs: Sequence[Known], held_out: Sequence[Known]) -> str:
    """Tables: every threshold by itself, the choice, and what it does elsewhere."""
    lines = [f"{len(runs)} networks to choose on, {len(held_out)} held out.", ""]
    lines += ["threshold   wrong 'kernel' below it   wrong 'rich' above it   not half way"]
    for t in sorted({*KERNEL_TRIED, *RICH_TRIED}):
        low, high = rates(runs, t, 9.0), rates(runs, -1.0, t)
        lines.append(
            f"{t:9g}   {low.wrong_kernel:10d} of {low.kernel:3d}"
            f"         {high.wrong_rich:8d} of {high.rich:3d}   {high.on_the_way:17d}"
        )
    kernel, rich = chosen(runs)
    lines += [
        "",
        f"At most {100 * MOST_WRONG:g}% wrong: kernel below {kernel:g}, rich above {rich:g}.",
    ]
    lines += [f"In use: kernel below {KERNEL_BELOW:g}, rich above {RICH_ABOVE:g}.", ""]
    for name, some in (("chosen on", runs), ("held out", held_out)):
        for family in dict.fromkeys(run.family for run in some):
            lines.append(f"{name}, {family}: {rates([r for r in some if r.family == family])}")
        lines.append(
            f"{name}, all: {rates(some)}; {100 * rates(some).wrong:.1f}% of verdicts wrong"
        )
    return "\n".join(lines)


def draw_calibration(runs: Sequence[Known], held_out: Sequence[Known]) -> Any:
    """Positions over the linear gap, and over the kernel movement, with the thresholds."""
    from .._core.look import COLOURS, MUTED, panels, titled

    figure, axes = panels(2, height=4.0, width=5.2)
    families = list(dict.fromkeys(run.family for run in (*runs, *held_out)))
    for axis, name in zip(axes, ("linear_gap", "kernel_movement"), strict=True):
        for colour, family in zip(COLOURS, families, strict=False):
            for some, marker in ((runs, "o"), (held_out, "x")):
                own = [r for r in some if r.family == family]
                axis.plot(
                    [max(r.final[name].value, 1e-4) for r in own],
                    [r.position for r in own],
                    marker,
                    ms=4,
                    color=colour,
                    alpha=0.6,
                )
            axis.plot([], [], "o", ms=4, color=colour, label=family)
        axis.plot([], [], "x", ms=4, color=MUTED, label="held out")
        axis.axvspan(axis.get_xlim()[0], KERNEL_BELOW, color=COLOURS[0], alpha=0.07, lw=0)
        axis.axvspan(RICH_ABOVE, 1e4, color=COLOURS[1], alpha=0.07, lw=0)
        axis.axhline(LEFT, color=MUTED, lw=1, ls=":")
        axis.set(xscale="log", xlim=(8e-5, None if name == "kernel_movement" else 3.0))
        axis.set(xlabel=name.replace("_", " "), ylabel="position (0: kernel machine, 1: rich end)")
        titled(axis, "what is known, against what the probe sees")
    axes[0].legend(fontsize=7.5, frameon=False, loc="upper left")
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, choose, print; a picture where one is asked for."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.splitlines()[0])
    parser.add_argument("--few", action="store_true", help="a few networks: a minute")
    parser.add_argument("--picture", type=Path, help="where to draw")
    given = parser.parse_args(arguments)
    runs, held_out = calibration_runs(given.few), held_out_runs(given.few)
    print(report(runs, held_out))
    if given.picture is not None:
        draw_calibration(runs, held_out).savefig(given.picture, dpi=110)


if __name__ == "__main__":
    main()
