"""Words in code that name something become links: `bf.limit` to its page of the reference, `W/thm2`
to the claim, `W/fig1` to the figure, `docs/probe.md` to the page."""

import re

from docutils import nodes

from biasflow.theory.papers import LETTERS

NAME = re.compile(r"(?:bf|biasflow)\.([A-Za-z_][\w.]*)")
ROOM_NAME = re.compile(r"([a-z]+\.[A-Za-z_]\w*)")
ID = re.compile(rf"([{LETTERS}]/[\w.-]*\w)")
PAGE = re.compile(r"(?:docs/)?([\w/]+)\.md")


def page_of(text, env):
    """The page that this word is about; None where there is none."""
    pages = env.found_docs
    for pattern in (NAME, ROOM_NAME):
        found = pattern.match(text)
        if found:
            name = found[1]
            while name:
                if f"reference/names/{name}" in pages:
                    return f"reference/names/{name}"
                name = name.rpartition(".")[0]
    found = ID.match(text)
    if found:
        for folder in ("claims", "figures"):
            if f"{folder}/{found[1]}" in pages:
                return f"{folder}/{found[1]}"
    found = PAGE.fullmatch(text)
    if found and found[1] in pages:
        return found[1]
    return None


def link_words(app, doctree, here):
    if not hasattr(app.builder, "get_relative_uri"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        around = (nodes.reference, nodes.title, nodes.term)
        if any(isinstance(parent, around) for parent in ancestors(literal)):
            continue
        page = page_of(literal.astext(), app.env)
        if page is None or page == here:
            continue
        link = nodes.reference(
            "", "", literal.deepcopy(), internal=True,
            refuri=app.builder.get_relative_uri(here, page),
        )  # fmt: skip
        literal.replace_self(link)


def ancestors(node):
    while node.parent is not None:
        node = node.parent
        yield node


def resolve_type(app, env, node, content):
    """Types in signatures: ours are links where they are public, the rest is text."""
    if node.get("refdomain") != "py" or node.get("reftype") not in ("class", "obj", "data", "exc"):
        return None
    last = node["reftarget"].rpartition(".")[2]
    names = [page for page in env.found_docs if page.startswith("reference/names/")]
    pages = [page for page in names if page.rpartition("/")[2].rpartition(".")[2] == last]
    if len(pages) != 1 or not last[:1].isupper():
        return content
    link = nodes.reference("", "", content, internal=True)
    link["refuri"] = app.builder.get_relative_uri(node["refdoc"], pages[0])
    return link


def setup(app):
    app.connect("doctree-resolved", link_words)
    app.connect("missing-reference", resolve_type)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
