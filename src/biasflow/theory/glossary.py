"""Every symbol that the claims use, defined. Papers use letters for different things, and claims
within a paper too: the nearest definition counts."""

from __future__ import annotations

from .margin.margin_glossary import MARGIN, MARGIN_CLAIMS
from .mirror.mirror_glossary import MIRROR, MIRROR_CLAIMS
from .papers import PAPERS
from .regimes.regime_glossary import REGIME_CLAIMS, REGIMES
from .relu.relu_glossary import RELU, RELU_CLAIMS
from .since.since_glossary import SINCE, SINCE_CLAIMS

GENERAL = {
    "e": "Euler's number, 2.718…",
    "i": "a counter, of samples or coordinates",
    "i'": "another such counter",
    "j": "a counter, of neurons or coordinates",
    "j'": "another such counter",
    "k": "a counter, of samples",
    "l": "another counter, of samples",
    "t": "time of the flow; in descent the number of steps",
    "Σ": "a sum",
    "Π": "a product",
    "P": "a probability",
    "E": "a mean over random draws",
    "ℓ": "ℓ1, ℓ2, ℓ∞: the norms Σ|β_i|, √(Σβ_i²), max|β_i|",
    "ℓ∞": "the norm max|β_i|",
    "n": "the number of samples",
    "d": "the number of columns of the inputs; before another letter, as in dt, a differential",
    "m": "the number of neurons",
}
"""Letters that mean the same wherever a paper does not say otherwise."""
SIGNS = {
    "‖": ("‖·‖", "the norm of a vector (ℓ2 unless an index says otherwise), or a measure's mass"),
    "⟨": ("⟨·, ·⟩", "the inner product of two vectors"),
    "∇": ("∇", "a gradient"),
    "′": ("f′, f″", "the first and the second derivative of a function on a line"),
    "″": ("f′, f″", "the first and the second derivative of a function on a line"),
    "∂": ("∂", "a partial derivative, or, as in ∂_t, one in time"),
    "∫": ("∫", "an integral, over time or against a measure"),
    "ᵀ": ("ᵀ", "a transposed matrix"),
    "†": ("†", "a pseudo-inverse; ‖Xᵀ†‖ is one over the least singular value of X in the ℓ2 norm"),
    ")₊": ("( )₊", "the positive part, max(·, 0): a ReLU"),
    ")_+": ("( )_+", "the positive part, max(·, 0): a ReLU"),
    "∘": ("∘", "a product coordinate by coordinate, or a composition of functions"),
    "1[": ("1[·]", "one where the condition holds, else zero"),
    "∝": ("∝", "proportional to"),
    "~": ("~", "of the same leading order"),
    "≳": ("≳", "at least, up to a constant"),
    "∖": ("∖", "the points of the first set that are not in the second"),
    "⌈": ("⌈·⌉", "the next integer above"),
    "Im ": ("Im", "the image of a matrix: all combinations of its columns"),
    "inf ": ("inf", "the least value, or the bound below which none is"),
    "argmin": ("argmin", "where a function is least"),
    "arcsinh": ("arcsinh", "the inverse function of sinh"),
    "artanh": ("artanh", "the inverse function of tanh"),
    "diag(": ("diag", "a diagonal matrix"),
    "div(": ("div", "the divergence of a field"),
    "Var": ("Var", "a variance"),
    "⊥": ("⊥", "the part perpendicular to a direction"),
}
"""Signs of mathematics by what they are found by: how they are written, and what they mean."""
PLAIN = frozenset("·−–±×²³⁴⁵⁶⁷⁸⁹¹⁰⁻⁺₀₁₂₃₄₅₆₇₈₉₊₋∩⟩⌉≤≥<>≠≈→↦∞∈√½¼|…§’“”ŁŽłĽó#∗")
"""Signs that need no definition."""
PAPER_SYMBOLS = {"R": MIRROR, "B": RELU, "C": MARGIN, "W": REGIMES, "S": SINCE}
CLAIM_SYMBOLS = MIRROR_CLAIMS | RELU_CLAIMS | MARGIN_CLAIMS | REGIME_CLAIMS | SINCE_CLAIMS


def define(id: str, symbol: str) -> str | None:
    """What a symbol means in a claim; None where nobody has said."""
    for table in (CLAIM_SYMBOLS.get(id, {}), PAPER_SYMBOLS.get(id[:1], {}), GENERAL):
        if symbol in table:
            return table[symbol]
    return None


def signs_in(text: str) -> list[tuple[str, str]]:
    """The signs of a text with their meanings."""
    return [meaning for found_by, meaning in SIGNS.items() if found_by in text]


def glossary_page() -> str:
    """All of it as Markdown: signs, what all papers share, then each paper with its exceptions."""
    lines = [
        "# Symbols",
        "",
        "Every symbol of the claims. `biasflow explain ID` prints those of one claim; this page is",
        "made from the same table (`python tests/print_glossary.py > docs/glossary.md`).",
        "",
        "## Signs",
        "",
        *_table(dict(SIGNS.values())),
        "## In all papers, where they do not say otherwise",
        "",
        *_table(GENERAL),
    ]
    for paper in PAPERS:
        authors = f"{paper.authors}, " if paper.authors else ""
        lines += [f"## {paper.tag}: {authors}*{paper.title}*", ""]
        lines += _table(PAPER_SYMBOLS[paper.tag])
        own = {id: table for id, table in CLAIM_SYMBOLS.items() if id[:1] == paper.tag}
        lines += ["In single claims:", "", "| claim | symbol | meaning |", "|---|---|---|"]
        lines += [
            f"| `{id}` | {_cell(symbol)} | {_cell(meaning)} |"
            for id, table in own.items()
            for symbol, meaning in table.items()
        ]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _table(symbols: dict[str, str]) -> list[str]:
    rows = [f"| {_cell(symbol)} | {_cell(meaning)} |" for symbol, meaning in symbols.items()]
    return ["| symbol | meaning |", "|---|---|", *rows, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
