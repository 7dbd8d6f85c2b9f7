"""Docstrings are plain text with numpydoc sections; here their bars, stars and hanging lines become
what reStructuredText takes them for."""

import re

UNDERLINE = re.compile(r"-{3,}\s*")


def escaped(line):
    """Signs that mean something else in reStructuredText, outside of code."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(
        part if part.startswith("`") else re.sub(r"(?<=\w)_(?!\w)", r"\\_", _signs(part))
        for part in parts
    )


def _signs(text):
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")


def paragraphs(lines):
    """Prose, lists and hanging lines, each an item of its own."""
    items, hanging = [], any(line.startswith(" ") for line in lines)
    for line in lines:
        starts = not items or line.startswith("- ") or (hanging and not line.startswith(" "))
        after_list = bool(items) and items[-1].startswith("- ") and not line.startswith(" ")
        if starts or after_list:
            items.append(line.strip())
        else:
            items[-1] += " " + line.strip()
    return items


def rewrite(app, what, name, obj, options, lines):
    first = next((k for k, line in enumerate(lines) if UNDERLINE.fullmatch(line)), len(lines) + 1)
    prose, rest = lines[: first - 1], lines[first - 1 :]
    made, block = [], []
    for line in [*prose, ""]:
        if line.strip():
            block.append(escaped(line))
        elif block and block[0].startswith(" "):  # code, indented
            made += ["::", "", *(f"   {text.replace(chr(92), '')}" for text in block), ""]
            block = []
        elif block and block[0].startswith(">>>"):
            made += [*block, ""]
            block = []
        elif block:
            for item in paragraphs(block):
                made += [item, ""]
            block = []
    shown, printed = [], False
    for line in rest:
        printed = bool(line.strip()) and (printed or line.lstrip().startswith(">>>"))
        shown.append(line if printed else escaped(line))
    lines[:] = made + shown


ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")


def name_aliases(app, what, name, obj, options, signature, returned):
    """Types that are known by a name, in signatures as in the code."""
    return signature and ALIAS.sub(r"\1", signature), returned and ALIAS.sub(r"\1", returned)


def skip(app, what, name, obj, options, skipped):
    """Methods that scikit-learn adds to every estimator."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", name_aliases)
    app.connect("autodoc-process-docstring", rewrite, priority=100)  # before napoleon
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
