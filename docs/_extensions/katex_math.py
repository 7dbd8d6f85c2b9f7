"""Formulas set by the KaTeX that lies beside the pages: nothing is fetched from elsewhere."""

from html import escape

from docutils import nodes
from docutils.nodes import SkipNode

SCRIPTS = ("katex/katex.min.js", "katex/auto-render.min.js", "render_math.js")


def inline(writer, node):
    writer.body.append(f'<span class="math">\\({escape(node.astext())}\\)</span>')
    raise SkipNode


def display(writer, node):
    text = f"\\[{escape(node.astext())}\\]"
    writer.body.append(f'<div class="math" id="{node["ids"][0]}">' if node["ids"] else "<div>")
    writer.body.append(f"{text}</div>\n")
    raise SkipNode


def add_katex(app, pagename, templatename, context, doctree):
    """Only pages with formulas load it."""
    if doctree is None or next(doctree.findall(is_math), None) is None:
        return
    app.add_css_file("katex/katex.min.css")
    for script in SCRIPTS:
        app.add_js_file(script, loading_method="defer")


def is_math(node):
    return isinstance(node, (nodes.math, nodes.math_block))


def setup(app):
    app.add_html_math_renderer("katex", (inline, None), (display, None))
    app.connect("html-page-context", add_katex)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
