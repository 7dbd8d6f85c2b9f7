"""Code as HTML that reads well by eye and by ear. Sphinx writes a signature with a line for each
parameter as a list of definitions without terms, inside of a term: here they are plain lines. Names
in tables may break after a dot, an underscore or a bracket, so that a phone shows the columns."""

import re

from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

LIST_TAG = re.compile(r"<(/?)d[ld]\b[^>]*>")
"""A list of definitions, or one of them, begun or ended."""
JOINT = re.compile(r"(?<=[A-Za-z)][._(])(?=\w)(?![^<]*>)")
"""Where a name may break; not inside of a tag."""


def as_lines(piece):
    """The same text; a list becomes a block, and each of its items a line in it."""
    return LIST_TAG.sub(_line, piece)


def _line(tag):
    return "</span>" if tag[1] else f'<span class="sig-{"lines" if "<dl" in tag[0] else "line"}">'


def with_joints(piece):
    """The same text, with places at which it may break."""
    return JOINT.sub("<wbr>", piece)


class CodeTranslator(HTML5Translator):
    def visit_desc_parameterlist(self, node):
        self._parameters_begun = len(self.body)
        super().visit_desc_parameterlist(node)

    def depart_desc_parameterlist(self, node):
        super().depart_desc_parameterlist(node)
        self.body[self._parameters_begun :] = map(as_lines, self.body[self._parameters_begun :])

    def visit_literal(self, node):
        self._literal_begun = len(self.body)
        super().visit_literal(node)

    def depart_literal(self, node):
        super().depart_literal(node)
        if in_a_table(node):
            self.body[self._literal_begun :] = map(with_joints, self.body[self._literal_begun :])


def in_a_table(node):
    while node is not None and not isinstance(node, nodes.entry):
        node = node.parent
    return node is not None


def setup(app):
    app.set_translator("html", CodeTranslator)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
