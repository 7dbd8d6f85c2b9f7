"""What a probe found, in words for someone who trained the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .measures import Estimate

if TYPE_CHECKING:
    from .probing import Probe

SENTENCES = {
    "kernel": (
        "it trained like a kernel machine: its features are those of its start, and only "
        "their weights were learned"
    ),
    "rich": (
        "it learned features: a linear model on its initial features does not describe what "
        "it learned"
    ),
    "between": (
        "it is neither a kernel machine nor far from one, or the errors are too large to tell"
    ),
    "dead": (
        "no weight moves its predictions on these inputs any more (every unit is off): there "
        "is nothing to judge"
    ),
    "unmoved": "its predictions on these inputs are what they were: there is nothing to judge",
}
SAME_MEMORY = (
    "Every weight is what it was, to the last bit: checkpoints that are not copies, such as "
    "net.state_dict(), share memory with the live network and change with it; take "
    "copy.deepcopy(net.state_dict()) before training goes on."
)
"""What is said where no weight has changed, which no training does."""


def paragraph(probe: Probe) -> str:
    """Verdict, evidence, references, homogeneity."""
    sentences = [f"Verdict: {probe.verdict}; {SENTENCES[probe.verdict]}."]
    if probe.verdict not in ("unmoved", "dead"):
        sentences += [_gap(probe), _machine(probe), _kernel(probe), _gradients(probe)]
    elif probe.final["weight_movement"].value == 0:
        sentences.append(SAME_MEMORY)
    sentences += [_labels(probe), _when(probe), _degree(probe), _kept(probe), _errors(probe)]
    sentences += probe.notes
    return " ".join(sentence for sentence in sentences if sentence)


def _gap(probe: Probe) -> str:
    gap = probe.final["linear_gap"]
    return (
        f"Linearised at its start, with the same change of weights, the network misses {gap} of "
        f"what it learned on these {len(probe.trained)} inputs (0: a kernel machine; a network "
        "that learned all of it by features: 1)."
    )


def _machine(probe: Probe) -> str:
    if "machine_gap" not in probe.final:
        return ""
    return (
        "On these inputs, which were held out, its predictions are "
        f"{probe.final['machine_gap']} of what it learned away from those of the kernel machine of "
        "its start through the same predictions on the training inputs (an unrelated network: "
        f"{probe.null['machine_gap']})."
    )


def _when(probe: Probe) -> str:
    told = probe.alignment
    return "" if told is None or told.reason else told.describe()


def _kept(probe: Probe) -> str:
    return "" if probe.conserved is None else probe.conserved.describe()


def _kernel(probe: Probe) -> str:
    moved, null = probe.final["kernel_movement"], probe.null["kernel_movement"]
    if np.isnan(moved.value):
        return "Its tangent kernel vanishes at the start, so that its movement has no unit."
    text = (
        f"Its tangent kernel moved by {moved} of its own norm (its shape alone turned by "
        f"{probe.final['kernel_turn']})"
    )
    if not _known(null):
        return (
            f"{text}; no reference over seeds: drawn {probe.drawn}, they have the same kernel "
            "(init= draws others)."
        )
    times = moved.value / null.value
    compared = (
        f"{times:.1f} times as far as" if times >= 0.1 else f"{100 * times:.2g}% of the way that"
    )
    ending = "a change of seed moves it" if times >= 0.1 else "a change of seed takes it"
    return (
        f"{text}; untrained networks of other seeds are {null} away, so training moved it "
        f"{compared} {ending}."
    )


def _gradients(probe: Probe) -> str:
    turned, null = probe.final["gradient_distance"], probe.null["gradient_distance"]
    if np.isnan(turned.value):
        return (
            "The gradient vanishes at every input, at the start or now, so that its turn is "
            "not defined."
        )
    seeds = f" ({null} between seeds)" if _known(null) else ""
    return (
        f"The gradient at an input turned by {turned} in cosine distance{seeds}, and the weights "
        f"moved by {probe.final['weight_movement'].value:.2g} of their norm."
    )


def _labels(probe: Probe) -> str:
    after, gain = probe.final["label_alignment"], probe.final["label_gain"]
    if not np.isfinite(gain.value):
        return ""
    change = f"{'rose' if gain.value > 0 else 'fell'} by {abs(gain.value):.2g} ± {gain.error:.1g}"
    if abs(gain.value) <= 2 * gain.error:
        change = "did not change beyond its error"
    rank, before = probe.final["effective_rank"], probe.start["effective_rank"]
    return (
        f"The kernel's alignment with the labels {change}, to {after.value:.2g}; its effective "
        f"rank is {rank}, at the start {before}."
    )


def _degree(probe: Probe) -> str:
    found = probe.homogeneity
    if found is None:
        return "The predictions vanish, so no degree of homogeneity can be measured."
    if found:
        return f"The network is homogeneous of degree {found.degree:.4g} in its weights."
    return (
        f"The network is not homogeneous in its weights (⟨w, ∇f⟩/f = {found.degree:.3g} ± "
        f"{found.spread:.1g} over inputs), so"
        " theorems on homogeneous networks do not apply to it as they stand."
    )


def _errors(probe: Probe) -> str:
    runs = (
        f" and the spread of {probe.runs} runs"
        if probe.runs > 1
        else "; give runs= for an error over trainings"
    )
    return (
        f"Errors are standard errors over inputs (jackknife){runs}; other seeds were drawn "
        f"{probe.drawn}."
    )


def _known(null: Estimate) -> bool:
    return bool(np.isfinite(null.value) and null.value > 0)
