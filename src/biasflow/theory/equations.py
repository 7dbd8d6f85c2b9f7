"""Where an equation of the papers is in the code: numbers to claims, or to what computes them.

Numbers are those of the papers' full texts, B's of its third version. An entry that is `step` is a
line of a proof: the claim tests what is proven, not the line.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError
from .papers import LETTERS
from .verdicts import Claim
from .verification import claim, claims

PACKAGE = Path(__file__).parents[1]


class Entry(NamedTuple):
    """What an equation or a run of them says, and where it is: claims' ids, or names in the package
    of what computes it."""

    says: str
    at: tuple[str, ...]
    step: bool = False


def _entries(*rows: tuple[str, str, str]) -> dict[str, Entry]:
    """From (numbers, where, what it says); numbers with a dot behind are steps of a proof."""
    return {
        numbers.rstrip("."): Entry(says, tuple(where.split()), numbers.endswith("."))
        for numbers, where, says in rows
    }


LINE = "models.diagonal.DiagonalNetwork"
FLOW = "flows.methods.gradient_flow"
Q = "potentials.hypentropy.Hypentropy"

EQUATIONS: dict[str, dict[str, Entry]] = {
    "R": _entries(
        ("1", "R/thm2.2 limits.projection.bregman_projection", "the Bregman projection of β₀"),
        ("2", "R/eq2", "dD_φ(β̄, β)/dt ≤ −(F − F*)"),
        ("3", "R/eq3", "F − F* ≤ D_φ(β̄, β₀)/t"),
        ("4", "R/thm2.3 limits.minimisers.mirror_limit", "the projection onto the closed domain"),
        ("5", "R/thm2.3", "F − F* ≤ D_φ(β̄, β₀)/t, where β̄ may lie on the boundary"),
        ("6", "R/lem2.5", "dD_φ/dt ≤ −2D_F ≤ −κD_φ^θ"),
    ),
    "B": _entries(
        ("1", "models.two_layer.TwoLayer losses.square.SquareLoss", "the network and its loss"),
        ("2", FLOW, "gradient flow dθ/dt = −∇L"),
        ("3", "B/eq9", "da_j/dt = ⟨D_j, w_j⟩, dw_j/dt = a_jD_j"),
        ("4", "models.two_layer.TwoLayer.init", "the balanced Gaussian start of size λ"),
        (
            "5–6",
            "B/assumption-3 theory.relu.relu_setting.Setting.clusters",
            "S_{±,1}: neurons active on all labels of their sign",
        ),
        ("7", "B/thm1 B/limit", "lim_{λ→0} lim_{t→∞} θ is an interpolator of least norm"),
        (
            "8",
            "B/eq8 limits.neurons.variation_norms.variation_norm",
            "the least ½‖θ‖² is the least variation norm",
        ),
        ("9", "B/eq9", "log-norms and directions: dρ_j/dt and d𝗐_j/dt"),
        ("10", "B/eq9 B/eq28", "early alignment: d𝗐_j/dt ≈ s_j(D_j⁰ − ⟨D_j⁰, 𝗐_j⟩𝗐_j)"),
        ("11", "B/lem6", "d⟨w_j, x_k⟩/dt on orthogonal inputs"),
        ("12", "B/lem7 theory.relu.relu_setting.Setting.time", "t_{+1} = −ε ln λ/‖D_+‖"),
        ("13", "B/lem7", "‖w_j‖ < 2cλ^{1−ε} up to t_{+1}"),
        ("14", "B/eq28", "d⟨𝗐_j, D_+⟩/dt from below, in the proof of Lemma 7; integrated, a tanh"),
        (
            "15",
            "B/lem2 theory.relu.relu_setting.Setting.time",
            "t_{−1} = −εr ln λ/‖D_+‖, the end of Lemma 8's phase",
        ),
        ("16", "B/lem2", "‖w_j‖ < 2cλ^{1−rε} up to t_{−1}"),
        ("17", "B/lem3", "t₂, when the first cluster is grown (Lemma 10)"),
        ("18.", "B/eq19", "directions of the first cluster: D_+/‖D_+‖ + d_j"),
        ("19", "B/eq19", "D_+^t = (1 − u_+/(n‖D_+‖) + h_+)D_+ + h_⊥"),
        ("20", "B/eq19", "u_+' from below, a logistic equation"),
        ("21.", "B/lem3 B/u-plus", "u_+ is at least the logistic curve"),
        ("22.", "B/lem3", "d⟨𝗐_j, D_+⟩/dt from below, up to t₂"),
        ("23", "B/lem4", "t₃, when the second cluster is grown (Lemma 11)"),
        ("24.", "B/eq19", "directions of the second cluster: −D_−/‖D_−‖ + d_j"),
        ("25.", "B/eq19", "what the second cluster predicts on its labels"),
        ("26", "B/eq19", "D_−^t = (1 − u_−/(n‖D_−‖) + h_−)D_− + h_⊥"),
        ("27.", "B/eq19 B/lem4", "½d‖D_+^t‖²/dt: the first labels stay fitted, Lemma 11 (iv)"),
        ("28", "B/eq28", "the process of directions and log-norms without λ (Lemma 12)"),
        ("29", "B/eq28", "log-norms of a cluster differ at t₃ as at t_{+1}, to 2λ^{ε/15}"),
        ("30", "B/lem13", "L ≤ λ^{ε'/2} near a least interpolator"),
        ("31", "B/lem14", "‖∇L‖² ≥ 2L·min u_±/n"),
        ("32", "B/lem15 B/lem5", "‖∇L‖² ≥ min{‖D_+‖, ‖D_−‖}·L near θ(t₃)"),
        ("33", "B/thm2 B/thm1", "the limit of small starts, in the quantitative theorem"),
        (
            "34",
            "B/prop1 limits.neurons.least_norm.min_norm_interpolator",
            "interpolators of least norm",
        ),
        (
            "35–37",
            "B/kkt limits.neurons.kkt.kkt_residual",
            "θ = Σλ_k∇h(x_k), KKT conditions, and neuron by neuron",
        ),
        (
            "38",
            "flows.relu.event_flow.integrate_events",
            "dθ/dt ∈ −∂L: the flow as a differential inclusion",
        ),
        ("39", "B/prop2", "the flow with a value of σ'(0)"),
        ("40.", "B/prop2", "the flow with gates frozen at t₀, in the proof of Proposition 2"),
    ),
    "C": _entries(
        (
            "1",
            "models.two_layer.TwoLayer models.signed.SignedTwoLayer",
            "h_m = (1/m)Σφ(w_j, x); the code's networks are plain sums",
        ),
        ("2", "models.particles.Particles", "h(μ, x) = ∫φ dμ, for a measure with atoms"),
        ("3", "C/pi2 models.sphere.sphere_measure", "Π₂: neurons on the sphere with their mass"),
        ("4", "C/gamma1 limits.neurons.f1_margin.f1_max_margin", "γ₁, the F1 max margin"),
        ("5", "C/gamma2 limits.neurons.f2_margin.f2_max_margin", "γ₂, the F2 max margin"),
        ("6", "C/eq6 losses.margin_losses.SmoothMargin", "S(u) = −log((1/n)Σℓ(−u_i))"),
        (
            "7",
            "C/clock flows.margin.margin_flow.integrate_margin",
            "dw/dt = m∇F_m, the flow of the smooth margin",
        ),
        ("8", "C/thm2 theory.margin.more_neurons.law_flow", "dX/dt = ∇F'_μ(X)"),
        ("9", "C/lem23 C/thm5 theory.margin.populations.Spread", "the smooth margin of a density"),
        ("10", "C/eq10 diagnostics.interclass.interclass_distance", "Δ_r, distance of classes"),
        ("11", "C/eq11 models.sphere.transport_growth", "∂_tν = −div(ν∇J') + 4J'ν"),
        ("12", "C/eq12", "the same for ν̄ = ν/‖ν‖"),
        ("13", "C/lem13 losses.margin_losses.soft_minimum", "S_β(u) = S(βu)/β"),
        ("14", "C/lem13 C/prop6", "min z_i·a ≤ G_β(a) ≤ min z_i·a + log(n)/β, for ℓ = exp"),
        ("15", "C/prop6", "the best margin of fixed directions after t steps"),
        ("16", "C/lem26", "D = {‖a‖ = |b|} and S_±"),
        ("17", "C/prop29", "γ₁ on a population, as a minimax"),
    ),
    "W": _entries(
        ("1", "training.trainings.train W/descent", "gradient descent w ← w − η∇L"),
        ("2", FLOW, "gradient flow ẇ = −∇L"),
        (
            "3",
            "W/sec3 limits.tangent.predictors.tangent_interpolator",
            "first-order expansion of f in w",
        ),
        ("4", LINE, "β = w₊² − w₋²"),
        ("5", "W/thm1 limits.projection.bregman_projection", "argmin Q_α s.t. Xβ = y"),
        ("6", "W/thm1", "β(∞) by exponentials of 4Xᵀ∫r (8c for the loss c‖·‖²)"),
        ("7", "W/thm1", "which is of the form that KKT asks for"),
        ("8", f"{LINE} W/thm3", "β = w₊^D − w₋^D"),
        ("9–12", "W/appA", "from β(∞) = f(Xᵀν) to ∇Q = f⁻¹: how Q is found"),
        ("13–15.", "W/thm1", "ẇ, its solution w(t), and β(t) = w₊² − w₋²"),
        ("16–18", "W/thm1", "β(t) = 2α²sinh(−4Xᵀ∫r) (8c for the loss c‖·‖²)"),
        ("19", f"W/thm1 {Q}", "∇Q_α(β) = arcsinh(β/2α²)"),
        ("20–23.", f"W/lem1 {Q}", "Q written out, and even"),
        ("24–27.", f"W/lem1 {Q}", "α²Q(β/α²)/ln(1/α²) written out, arcsinh as a logarithm"),
        ("28.", "W/lem1", "|a| ≤ √(a² + b²) ≤ |a| + |b|"),
        ("29–35.", "W/lem1", "α²Q/ln(1/α²) from above"),
        ("36", "W/lem1", "α²Q/ln(1/α²) ≤ (1+ε)‖β‖₁"),
        ("37–40.", "W/lem1", "α²Q/ln(1/α²) from below"),
        ("41", "W/lem1", "α²Q/ln(1/α²) ≥ (1−ε)‖β‖₁"),
        ("42", "W/lem1", "both, Lemma 1"),
        ("43–46.", f"W/lem2 {Q}", "q(1/(cα²)) written out, and between two logarithms"),
        ("47–51.", "W/lem2", "Q(e₁)/Q(1/√d) from below"),
        ("52–56.", "W/lem2", "what α = d^{−1/4−1/(8ε)} gives"),
        ("57", "W/lem2", "Q(e₁)/‖e₁‖₁ ≥ (1+ε)Q(1/√d)/‖1/√d‖₁"),
        ("58", "W/eq58", "the ratio increases with α"),
        (
            "59",
            "W/lem3 theory.regimes.regulariser.hypentropic_value",
            "Q as a sum of integrals of arcsinh",
        ),
        ("60–66.", "W/lem3", "φ and its derivatives up to the fourth"),
        ("67–68.", "W/lem3", "Taylor's theorem for φ − z²/(4α⁴)"),
        ("69–72.", "W/lem3", "|4α⁴Q − ‖β‖₂²| from above"),
        ("73", "W/lem3", "|4α⁴Q − ‖β‖₂²| ≤ ε‖β‖₂²"),
        ("74–80.", "W/thm2", "no β with ‖β‖₁ ≥ (1+2ε)‖β_L1‖₁ is the solution"),
        ("81–83.", "W/thm2", "‖β̂_α‖₁ by Lemma 1"),
        ("84", "W/thm2", "‖β̂_α‖₁ ≤ (1+ε)‖β_L1‖₁"),
        ("85–91.", "W/thm2", "no β with ‖β‖₂ ≥ (1+2ε)‖β_L2‖₂ is the solution"),
        ("92–94.", "W/thm2", "‖β̂_α‖₂² by Lemma 3"),
        ("95", "W/thm2", "‖β̂_α‖₂² ≤ (1+ε)‖β_L2‖₂²"),
        ("96–99.", "W/lem4", "ẇ_± for D ≥ 3, and their solutions"),
        ("100–101.", "W/lem4", "w_±^{2−D} stay positive"),
        ("102", "W/lem4", "|D(D−2)Xᵀ∫r| ≤ α^{2−D}"),
        ("103–104.", "W/thm3", "as α → 0, KKT conditions of min ℓ1"),
        ("105–106.", "W/thm3", "as α → ∞, Xᵀν → 0"),
        (
            "107",
            "W/thm3 theory.regimes.regulariser.beyond_linear",
            "h_D(z) = 2Dz/(D−2) + O(z³)",
        ),
        ("108–110.", "W/thm3", "β_i/[Xᵀμ]_i → 1 as α → ∞"),
        ("111", "W/thm3", "KKT conditions of min ℓ2 in the limit"),
    ),
}
"""Every numbered equation of the papers."""

STATEMENTS: dict[str, Entry] = {
    "R, Definition 2.1": Entry(
        "minimisers in the domain and in its closure",
        ("R/thm2.2", "R/thm2.3", "limits.minimisers.mirror_limit"),
    ),
    "C, Definition 1": Entry(
        "Wasserstein gradient flows", ("C/thm2", "theory.margin.more_neurons.law_flow")
    ),
    "C, Proposition 16": Entry("Proposition 6, with its proof", ("C/prop6", "C/mirror")),
    "C, Proposition 19": Entry("Proposition 7, with its proof", ("C/prop7", "C/mirror")),
    "C, Theorem 21": Entry("Theorem 8, with its proof", ("C/thm8", "C/lem20", "C/thm22")),
    "C, Theorem 27": Entry("Theorem 5, from any start on D", ("C/thm5",)),
}
"""Numbered statements that no claim's reference names; the others are found by the reference."""

KINDS = {
    "thm": "Theorem",
    "lem": "Lemma",
    "prop": "Proposition",
    "cor": "Corollary",
    "def": "Definition",
    "assumption": "Assumption",
    "fact": "Fact",
    "rem": "Remark",
}
NUMBERED = "".join(EQUATIONS)
"""Letters of papers whose equations and statements have numbers here."""
NUMBER = r"(?-i:[A-Z]\.?)?\d+(?:\.\d+)?"
ASIDE = r"(?: \([^)]*\))?"


@dataclass(frozen=True)
class Place:
    """A claim, or a function or class, that is an answer: what it states, whose statement that is,
    and file:line of the claim's check or of the function.

    asked: what the equation that was asked for says, where one was.
    """

    name: str
    statement: str
    reference: str
    where: str
    asked: str = ""

    def __str__(self) -> str:
        about = f"{self.reference}: {self.statement}" if self.reference else self.statement
        return f"{self.name}  {self.where}\n    {about}"


def find(query: str) -> tuple[Place, ...]:
    """Where something of the papers is in the code, the nearest first.

    Parameters
    ----------
    query : str
        An equation ('W 27', 'W (27)', 'C eq 6'), a statement ('B, Lemma 15'), the id of a claim, or
        words, all of which a claim's id, statement or reference must have; a paper's letter before
        them asks for that paper alone.

    Returns
    -------
    tuple of theory.Place

    Examples
    --------
    >>> [place.name for place in bf.theory.find("C eq 6")]
    ['C/eq6', 'biasflow.losses.margin_losses.SmoothMargin']
    """
    if not isinstance(query, str) or not query.strip():
        raise InputError(f"query: expected words such as 'W (27)', found {query!r:.80}")
    text = " ".join(query.split())
    by_id = {id.lower(): id for id in claims()}
    if text.lower() in by_id:
        return (_of_claim(by_id[text.lower()]),)
    for reader in (_equation, _statement):
        found = reader(text)
        if found:
            return found
    return tuple(
        _of_claim(id)
        for id in claims()
        if is_about(text, id, f"{claim(id).statement} {claim(id).reference}")
    )


def is_about(query: str, id: str, text: str) -> bool:
    """Whether an id and its text have all words of a query, and its paper where it names one."""
    words = re.findall(r"[^\s,()]+", query.lower())
    paper = f"{words.pop(0)}/" if re.match(rf"[{LETTERS}](?=[\s,]|$)", query, re.I) else ""
    return id.lower().startswith(paper) and all(_has(f"{id} {text}", word) for word in words)


def entry_of(paper: str, number: int) -> tuple[str, Entry] | None:
    """The entry that an equation is in, and its numbers, such as '24–27'."""
    for numbers, entry in EQUATIONS[paper].items():
        first, _, last = numbers.partition("–")
        if int(first) <= number <= int(last or first):
            return numbers, entry
    return None


def _equation(text: str) -> tuple[Place, ...]:
    asked = re.fullmatch(
        rf"([{NUMBERED}])\b[\s,/]*(?:eqs?\.?|equations?)?\s*\(?(\d{{1,3}})\)?", text, re.I
    )
    if asked is None:
        return ()
    paper, number = asked[1].upper(), int(asked[2])
    found = entry_of(paper, number)
    if found is None:
        last = re.split("–", list(EQUATIONS[paper])[-1])[-1]
        raise InputError(f"query: {paper} has equations (1) to ({last}), none is ({number})")
    numbers, entry = found
    run = f", in ({numbers})" if "–" in numbers else ""
    step = "; a step of the proof: the claim tests what it proves" if entry.step else ""
    return _places(entry, f"{paper} ({number}){run}: {entry.says}{step}")


def _statement(text: str) -> tuple[Place, ...]:
    asked = re.fullmatch(rf"([{NUMBERED}])[\s,/]*([a-z]+?)s?\.?[\s-]*({NUMBER})", text, re.I)
    short = next((s for s in KINDS if asked and _means(asked[2].lower(), s)), None)
    if asked is None or short is None:
        return ()
    paper, kind, number = asked[1].upper(), KINDS[short], _plain(asked[3])
    name = f"{paper}, {kind} {number}"
    if name in STATEMENTS:
        return _places(STATEMENTS[name], f"{name}: {STATEMENTS[name].says}")
    listed = rf"{NUMBER}{ASIDE}(?:(?:, and|,| and) {NUMBER}{ASIDE})*"
    several = re.compile(rf"(?:{kind}|{kind}s|{kind[:-1]}ies) ({listed})")
    own = f"{paper}/{short}{number}"
    found = []
    for id in claims():
        reference = claim(id).reference
        if re.search(rf"\b{paper}, ", reference) is None:
            continue
        for run in several.finditer(reference):
            numbers = re.findall(NUMBER, re.sub(r"\([^)]*\)", "", run[1]))
            if number in map(_plain, numbers):
                found.append((id != own, run.start(), id))
                break
    return tuple(_of_claim(id) for *_, id in sorted(found, key=lambda one: one[:2]))


def _plain(number: str) -> str:
    """'A.1' as in ids, 'A1'."""
    return number.replace(".", "") if number[0].isalpha() else number


def _means(word: str, short: str) -> bool:
    return word == short or (KINDS[short].lower().startswith(word) and len(word) > 2)


def _has(text: str, word: str) -> bool:
    return re.search(rf"(?<![^\W_]){re.escape(word)}", text.lower()) is not None


def _places(entry: Entry, asked: str) -> tuple[Place, ...]:
    return tuple(
        _of_claim(name, asked) if "/" in name else _of_name(name, asked) for name in entry.at
    )


def _of_claim(id: str, asked: str = "") -> Place:
    found: Claim = claim(id)
    return Place(id, found.statement, found.reference, _where(found.check), asked)


def _of_name(name: str, asked: str) -> Place:
    """A function or class by its dotted name; only now is its module imported."""
    value = pkgutil.resolve_name(f"{PACKAGE.name}.{name}")
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    return Place(f"{PACKAGE.name}.{name}", " ".join(paragraph.split()), "", _where(value), asked)


def _where(value: Any) -> str:
    """file:line, the file as it lies in the package; of another package's, its whole path."""
    while isinstance(value, (functools.partial, functools.cached_property)):
        value = value.func
    value = inspect.unwrap(value.fget if isinstance(value, property) and value.fget else value)
    file = Path(inspect.getsourcefile(value) or "")
    line = inspect.getsourcelines(value)[1]
    inside = file.is_relative_to(PACKAGE)
    return f"{file.relative_to(PACKAGE.parent).as_posix() if inside else file}:{line}"
