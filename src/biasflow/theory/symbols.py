"""Which symbols a text uses: the papers' formulas are written in Unicode, and a reader must find
each of their letters defined."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .papers import LETTERS

MARKS = "\u0302\u0304\u0303\u0307\u0332"
"""Combining hat, bar, tilde, dot and bar below: part of the letter before them."""
LETTER = "A-Za-zΑ-Ωα-ωϕℓ𝗐𝒳āȧẇẏẋũûūȳŷ"
WORD = re.compile(r"[A-Za-z]{2,}(?:['’-][A-Za-z]+)*")
SHORT_WORDS = """
all an and map any are as at be but by can do far few for had has how if in is it its let may no nor
not of off on one or our out own per so the to too two up us use was way we who why yet you lie
met sum top new old end low law fit fix sit see say set cut six due get yes him her his she he
raw bad big did lot men now odd pay put ran Rao saw try ask add act age ago aid aim air art mix
tie key led ten run arc ray row go LP KKT SVM SGD App eq eqs gap
"""
"""English words and abbreviations of at most three letters; any other run of two or three letters
is a product of symbols."""
FUNCTIONS = """
log ln exp sin cos tan sinh cosh tanh arcsin arcsinh artanh min max sup inf lim argmin sign diag div
Im Var linf
"""
"""Functions that mathematics shares; `SIGNS` of the glossary has those that need words."""
KNOWN = frozenset(SHORT_WORDS.split()) | frozenset(FUNCTIONS.split())
SUBSCRIPT = r"_(?:\{[^}]*\}|‖[^‖]*‖|min|max|eff|L[12]|[A-Za-zα-ω0-9]|[±+−∞*])"
SYMBOL = re.compile(
    rf"Rad_n|[{LETTER}][{MARKS}]?(?:'(?!s\b)|[*′″₀₁₂₃₄₅₆₇₈₉₊₋±⋆∞]|{SUBSCRIPT}|\^\([a-z]\))*",
)
ASIDE = re.compile(
    r"`[^`]*`"  # code
    r"|\d+(?:\.\d+)?e[+−-]?\d+"  # a float
    rf"|\b[{LETTERS}](?:/[\w.-]+|'s\b)"  # a claim, or a paper
    r"|\((?:i|ii|iii|iv|v)\)"  # a numbered item
    r"|\bs\.t\.|'s\b"
)
"""What is no formula."""
INDEX = re.compile(r"_(?:\{[ijklst](?:,\s?[ijklst])*\}|\{i₀\}|[ijklst](?![A-Za-z]))")
"""A subscript that only counts."""


def symbols_in(text: str) -> Iterator[str]:
    """The symbols of a text, in order, each once; indices that only count are left off."""
    seen = set()
    for symbol in _symbols(text):
        plain = INDEX.sub("", symbol)
        if plain not in seen:
            seen.add(plain)
            yield plain


def _symbols(text: str) -> Iterator[str]:
    text = ASIDE.sub(" ", text)
    place = 0
    while place < len(text):
        word = None if text.startswith("Rad_n", place) else WORD.match(text, place)
        if word and not _is_product(word.group(), text, word):
            place = word.end()
            continue
        symbol = SYMBOL.match(text, place)
        if symbol is None:
            place += 1
            continue
        place = symbol.end()
        if not _is_article(text, symbol):
            yield symbol.group()


def _is_product(word: str, text: str, match: re.Match[str]) -> bool:
    """Whether letters without a space stand for symbols: few of them, and no English word; or
    letters that a subscript follows, of which the last is a symbol."""
    if word in KNOWN or word.lower() in KNOWN:
        return False
    after = text[match.end() : match.end() + 1]
    return len(word) <= 3 or after == "_"


def _is_article(text: str, symbol: re.Match[str]) -> bool:
    before, after = text[: symbol.start()], text[symbol.end() :][:1]
    if symbol.group() in ("A", "I"):  # at the beginning of a sentence only
        return after == " " and (not before.strip() or before.rstrip()[-1] in ".:;")
    return symbol.group() == "a" and after == " " and (not before or before[-1] in " (")
