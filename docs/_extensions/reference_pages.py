"""A page for every public name, in the order of docs/api.md, from its docstring."""

import functools
import inspect
import re
from pathlib import Path

from written_pages import table, write_pages

DOCS = Path(__file__).parents[1]
PAGE = (DOCS / "api.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^\*\*(.+?)\*\*", re.M)


@functools.cache
def public_names():
    """What docs/api.md names, as it is written after `bf.`; a test keeps that page complete."""
    import biasflow as bf

    flat = [name for name in bf.__all__ if callable(getattr(bf, name))]
    found = {name: getattr(bf, name) for name in flat}
    for room, name in re.findall(r"`([a-z]+)\.(\w+)", PAGE):
        value = getattr(getattr(bf, room, None), name, None)
        if callable(value) and room in bf.__all__:
            found[f"{room}.{name}"] = value
    return found


def sections():
    """Headings of docs/api.md with the names that come first under them."""
    names, seen = public_names(), set()
    by_last = {name.rpartition(".")[2]: name for name in names}
    pieces = SECTION.split(PAGE)[1:]
    made = []
    for heading, text in zip(pieces[::2], pieces[1::2], strict=True):
        here = []
        for word in re.findall(r"`([\w.]+)", text):
            name = word if word in names else by_last.get(word)
            if name is not None and name not in seen:
                seen.add(name)
                here.append(name)
        if here:
            made.append((heading.rstrip(".,"), here))
    rest = sorted(set(names) - seen)
    if rest:
        made.append(("Further names", rest))
    return made


def name_page(name, value):
    path = f"biasflow.{name}"
    if not inspect.isclass(value):
        directive = f".. autofunction:: {path}"
    elif issubclass(value, BaseException):
        directive = f".. autoexception:: {path}"
    else:
        directive = f".. autoclass:: {path}\n   :members:"
    if any(map(is_told, getattr(value, "__bases__", ()))):
        directive += "\n   :show-inheritance:"
    title = f"``bf.{name}``"
    head = f":orphan:\n\n{title}\n{'=' * len(title)}\n\nOne of :doc:`all names <index>`."
    return f"{head}\n\n{directive}\n"


def is_told(base):
    """Whether a reader knows this base: one of ours that is public, or another package's."""
    if base.__module__.partition(".")[0] == "biasflow":
        return base in public_names().values()
    return base is not object and base.__module__ not in ("abc", "typing")


def tell_bases(app, name, obj, options, bases):
    if getattr(obj, "__bases__", None):
        bases[:] = [base for base in obj.__bases__ if is_told(base)]


def summary(value):
    """The first sentence of its docstring."""
    text = inspect.cleandoc(value.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.!?]) ", text)[0].replace("*", "\\*").replace("_", "\\_")


def pages():
    names = public_names()
    made = {f"{name}.rst": name_page(name, value) for name, value in names.items()}
    parts = [
        "# Every name",
        "After `import biasflow as bf`: what each takes, returns and refuses, from its docstring. "
        "[How they hang together](../../api.md) is on a page of its own.",
    ]
    for heading, here in sections():
        rows = [(f"[`bf.{name}`]({name}.rst)", summary(names[name])) for name in here]
        parts += [f"## {heading}", table(("name", "what it is"), rows)]
    made["index.md"] = "\n\n".join(parts) + "\n"
    return made


def write(app):
    write_pages(Path(app.srcdir) / "reference" / "names", pages())


def setup(app):
    app.connect("builder-inited", write)
    app.connect("autodoc-process-bases", tell_bases)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
