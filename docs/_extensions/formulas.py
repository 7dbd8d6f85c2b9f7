"""Formulas in plain Unicode, as the code writes them, turned into TeX between dollars; what is not
understood stays as it was."""

import re
import unicodedata

from biasflow.theory.papers import LETTERS

FUNCTIONS = {
    "arcsinh", "argmax", "argmin", "artanh", "cos", "cosh", "diag", "div", "exp", "inf", "lim",
    "ln", "log", "max", "min", "rank", "sign", "sin", "sinh", "sup", "tanh", "Im", "Var",
}  # fmt: skip
OPERATORS = set("=≤≥<>≠≈≪≫→∈∉⊂+−-·/×∘~∝≳≲↦∩∪∖")
SIGNS = OPERATORS | set("^_{}‖|⟨⟩∇∂∫ΣΠ√∞†*′'[]±½¼⅓⌈⌉₊ℓ⊥∓") - set("-/'*[]")
"""A token with one of them is no word."""
OPENING, CLOSING = "([{⟨", ")]}⟩"
ACCENTS = {
    "\u0302": "hat",
    "\u0303": "tilde",
    "\u0304": "bar",
    "\u0305": "overline",
    "\u0307": "dot",
    "\u0332": "underline",
}
REPLACED = {
    "−": "-",
    "‖": r"\Vert ",
    "·": r"\cdot ",
    "½": r"\tfrac12 ",
    "¼": r"\tfrac14 ",
    "⅓": r"\tfrac13 ",
    "~": r"\sim ",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "†": r"^{\dagger}",
    "…": r"\dots ",
    "Σ": r"\textstyle\sum ",
    "′": "'",
    "⊥": r"\perp ",
    "–": "-",
}


ID = re.compile(rf"[{LETTERS}]/[\w.-]*\w")
CALL = re.compile(r"[\d−]*(?:[A-Za-z]{1,2}'*|margin|sign)?[(\[]\S*")
"""f(x), P[…], 4(M − …: what begins like this may be a formula."""
SYMBOL = re.compile(r"\d*[A-Za-z]['*]*")
HYPHENED = re.compile(r"\S+-[A-Za-z]{3,}|[A-Za-z]{3,}-\S+|\S+'s")


def is_word(token, following=""):
    """Whether it belongs to a sentence rather than to a formula."""
    bare = token.strip('.,;:?!"“”')
    if not bare or ID.fullmatch(bare.strip("()")):
        return True
    inner = bare.strip("()")
    if inner in FUNCTIONS or inner in OPERATORS or inner == "dt":
        return False
    if inner in ("a", "A", "I"):
        return following.strip() not in OPERATORS or not following.strip()
    if re.fullmatch(r"\d[\d.,]*", inner):
        return following.strip() not in OPERATORS or not following.strip()
    if HYPHENED.fullmatch(inner):
        return True
    if SYMBOL.fullmatch(inner):
        return False
    if any(letter in SIGNS or is_symbol(letter) for letter in inner):
        return False
    return not (CALL.fullmatch(bare) and re.fullmatch(r"\W*(\w{1,2}|margin|sign)?\b.*", bare))


def is_symbol(letter):
    """A Greek letter, an index or exponent, or a combining accent."""
    name = unicodedata.name(letter, "")
    words = ("GREEK", "SUBSCRIPT", "SUPERSCRIPT", "COMBINING", "DOUBLE-STRUCK", "MODIFIER LETTER")
    return any(word in name for word in words)


def balance(text):
    depth = 0
    for letter in text:
        depth += (letter in OPENING) - (letter in CLOSING)
        if depth < 0:
            return -1
    return depth


def with_formulas(text):
    """The text as Markdown, its formulas in TeX; code between backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _converted(part) for part in parts)


def _converted(text):
    tokens = re.split(r"(\s+)", text)
    made, k = [], 0
    while k < len(tokens):
        token = tokens[k]
        if not token or token.isspace():
            made.append(token)
            k += 1
            continue
        end, formula = _formula(tokens, k)
        if formula is None and token.startswith("(") and len(token) > 1 and not is_word(token[1:]):
            made.append("(")
            tokens[k] = token[1:]
            continue
        if formula is None:
            made.append(ID.sub(r"`\g<0>`", token) if ID.search(token) else escaped(token))
            k += 1
            continue
        body, after = formula
        made.append(f"${tex(body)}${escaped(after)}")
        k = end
    return "".join(made)


def _formula(tokens, first):
    """Where the formula that begins here ends, and it: what stands before, itself, what follows."""
    found, best = "", None
    for k in range(first, len(tokens)):
        token = tokens[k]
        if token.isspace() or not token:
            found += token
            continue
        following = "".join(tokens[k + 1 : k + 3])
        inside = found and balance(found) > 0 and len(token.strip("),.:]")) <= 1
        after_operator = found.strip()[-1:] in OPERATORS and re.fullmatch(r"a?[\d.,]*", token)
        if is_word(token, following) and not inside and not after_operator:
            break
        found += token
        bare = found.rstrip(".,;:")
        lacking = balance(bare)
        if lacking == -1 and bare.endswith(")") and balance(bare[:-1]) == 0:
            best = k + 1, (bare[:-1], ")" + found[len(bare) :])
            break
        if lacking < 0:
            break
        if lacking == 0:
            best = k + 1, (bare, found[len(bare) :])
            if bare != found:
                break
    if best is None or not _worth_setting(best[1][0]):
        return first, None
    return best


def _worth_setting(body):
    """Numbers alone, and signs between words, read well as they are."""
    if re.fullmatch(r"[\d.,\s]*", body) or body in OPERATORS or body in FUNCTIONS:
        return False
    return body.count("|") % 2 == 0 and body.count("‖") % 2 == 0


def escaped(text):
    return re.sub(r"([\\*_<\[\]$|~])", r"\\\1", text)


def tex(text):
    """A formula of Unicode as TeX."""
    text = unicodedata.normalize("NFD", text)
    for accent, command in ACCENTS.items():
        text = re.sub(rf"(.){accent}", rf"\\{command}{{\1}}", text)
    text = unicodedata.normalize("NFC", text)
    text = re.sub(r"_\*", "_{⋆}", text)
    text = re.sub(r"\^\(([^()]*)\)", r"^{(\1)}", text)
    text = _roots(_sets(text))
    text = re.sub(r"_(L1|L2|F1|F2|min|max|eff|opt|ij|jk|ik|kj|\d+)", r"_{\1}", text)
    text = re.sub(r"(?<![\\A-Za-z])([A-Za-z]{2,}[12]?)(?![A-Za-z])", _upright, text)
    text = re.sub(r"(?<=[^\s,+=≤≥<>≠→∈(−·~-]) +(?=[^\s+=≤≥<>≠→∈)−·~-])", r"\\; ", text)
    text = re.sub(r"ᵀ†", r"^{\\top\\dagger}", text).replace("ᵀ", r"^{\top}")
    text = text.replace("*", "^{*}").replace("⋆", "*")
    text = re.sub(r"Π(?=\|)", r"\\textstyle\\prod ", text)
    for letter, command in REPLACED.items():
        text = text.replace(letter, command)
    return text


def _upright(found):
    name = found[1]
    if name in FUNCTIONS:
        return rf"\operatorname{{{name}}}"
    return rf"\mathrm{{{name}}}" if len(name) > 2 or name[-1] in "12" else name


def _sets(text):
    """Braces that are no index or exponent, as signs; words among symbols as words."""
    made, kept = "", []
    for k, letter in enumerate(text):
        if letter == "{":
            kept.append(k > 0 and (text[k - 1] in "^_" or made.endswith(COMMANDS)))
            made += letter if kept[-1] else r"\{"
        elif letter == "}":
            made += letter if not kept or kept.pop() else r"\}"
        else:
            made += letter
    return made


COMMANDS = tuple(f"\\{name}" for name in ACCENTS.values())


def _roots(text):
    while (at := text.find("√")) >= 0:
        if text[at + 1 : at + 2] == "(":
            end = at + 2
            while end < len(text) and balance(text[at + 1 : end]) != 0:
                end += 1
            inside, rest = text[at + 2 : end - 1], text[end:]
        else:
            norm = r"√((?:max|min)?(‖|\|).*?\2[₀-₉]?|\d+|.(?:_\{[^}]*\}|_.)?)"
            found = re.match(norm, text[at:])
            inside, rest = found[1], text[at + len(found[0]) :]
        text = f"{text[:at]}\\sqrt{{{inside}}}{rest}"
    return text
