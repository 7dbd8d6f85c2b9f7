"""The thumbnails of the gallery as cards: picture, title and what is to be seen. sphinx-gallery has
the title beside an empty link and the words where only a mouse finds them."""

from pathlib import PurePosixPath

from docutils import nodes

import gallery_scripts

OPENED, CLOSED = "sphx-glr-thumbcontainer", "sphx-glr-thumbnail-title"
"""What the raw pieces before and after a thumbnail contain."""


def make_cards(app, doctree, here):
    words = gallery_scripts.descriptions()
    for opening in [raw for raw in doctree.findall(nodes.raw) if OPENED in raw.astext()]:
        parent = opening.parent
        first = parent.index(opening)
        last = next(k for k in range(first, len(parent)) if CLOSED in parent[k].rawsource)
        parent[first : last + 1] = [card(parent[first : last + 1], words)]


def card(pieces, words):
    """A card of what sphinx-gallery wrote of one script."""
    link = next(found for piece in pieces for found in piece.findall(nodes.reference))
    image = next(found for piece in pieces for found in piece.findall(nodes.image))
    name = PurePosixPath(link["refuri"]).stem
    title = nodes.paragraph("", "", link.deepcopy(), classes=["gallery-title"])
    shown = nodes.paragraph("", words[name], classes=["gallery-words"])
    return nodes.container("", image.deepcopy(), title, shown, classes=["gallery-card"])


def setup(app):
    app.connect("doctree-resolved", make_cards)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
