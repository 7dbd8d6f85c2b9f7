"""Signatures with a line for each parameter: Sphinx writes these lines as a list of definitions that
define nothing, within the name that is defined; here they are plain lines."""

import re

from sphinx.writers.html5 import HTML5Translator

TAG = re.compile(r"<(/?)d[ld]\b[^>]*>")
"""A list of definitions, or one of them, begun or ended."""


def as_lines(pieces):
    """The same text; a list becomes a block, and each of its items a line in it."""
    return [TAG.sub(_line, piece) for piece in pieces]


def _line(tag):
    return "</span>" if tag[1] else f'<span class="sig-{"lines" if "<dl" in tag[0] else "line"}">'


class SignatureTranslator(HTML5Translator):
    def visit_desc_parameterlist(self, node):
        self._begun = len(self.body)
        super().visit_desc_parameterlist(node)

    def depart_desc_parameterlist(self, node):
        super().depart_desc_parameterlist(node)
        self.body[self._begun :] = as_lines(self.body[self._begun :])


def setup(app):
    app.set_translator("html", SignatureTranslator)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
