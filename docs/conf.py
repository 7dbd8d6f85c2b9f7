"""How the site is built: `make docs`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_extensions")]

from importlib.metadata import version as installed  # noqa: E402

import gallery_scripts  # noqa: E402

project = "biasflow"
author = "biasflow contributors"
copyright = "biasflow contributors, MIT licence"
release = version = installed("biasflow")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "katex_math",
    "claim_pages",
    "figure_pages",
    "project_pages",
    "reference_pages",
    "plain_docstrings",
    "code_markup",
    "gallery_cards",
    "linked_words",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_extensions", "_templates", "_gallery", "**/GALLERY_HEADER.rst"]
nitpicky = True
default_role = "code"

myst_enable_extensions = ["deflist", "dollarmath", "colon_fence", "fieldlist", "attrs_inline"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"ArrayLike": "ArrayLike"}
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False
napoleon_use_ivar = True

sphinx_gallery_conf = gallery_scripts.configuration()

html_theme = "furo"
html_title = "biasflow"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_copy_source = False
html_show_sourcelink = False
html_math_renderer = "katex"
math_number_all = False


def setup(app):
    from pygments.lexers.special import TextLexer

    app.add_lexer("csv", TextLexer)
