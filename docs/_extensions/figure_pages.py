"""A page for every figure: what it shows, the command that draws it, the paper's numbers beside
ours; its picture where that is a matter of seconds."""

import os
from pathlib import Path

from formulas import with_formulas
from written_pages import ORPHAN, table, write_pages

DOCS = Path(__file__).parents[1]
DRAWN = ("R/fig1",)
"""Figures whose quick preset takes seconds; the others are a command away."""


def picture(id, folder):
    """Where the picture is, drawn if it is not there yet; None where it takes longer."""
    kept = DOCS / "images" / f"{id.replace('/', '-')}.png"
    if kept.is_file():
        return f"../../images/{kept.name}"
    path = folder / "pictures" / kept.name
    if id not in DRAWN:
        return None
    if not path.is_file():
        import matplotlib as mpl

        import biasflow as bf

        with mpl.rc_context({"backend": "Agg"}):
            drawn = bf.experiments.draw(id, engine=bf.sweeps.Serial(), progress=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, dpi=110)
    return f"../pictures/{path.name}"


def figure_page(experiment, picture, rows):
    id = experiment.id
    parts = [f"{ORPHAN}# `{id}`", with_formulas(experiment.caption)]
    parts += ["One of the [figures](../index.md)."]
    if picture is not None:
        parts.append(f"```{{image}} {picture}\n:alt: {' '.join(experiment.alt.split())}\n```")
    else:
        parts.append("Drawing it takes longer than a page should wait: the commands are below.")
    parts += ["## The picture in words", with_formulas(experiment.alt)]
    parts += [
        "## Draw it",
        f"```sh\nbiasflow figure {id}                  # quick\n"
        f"biasflow figure {id} --preset paper   # the paper's size\n```",
        f'```python\nbf.experiments.draw("{id}").savefig("mine.pdf")\n'
        f'bf.figure("{id}")  # its data, an xarray.Dataset\n```',
        table(
            ("preset", "points of its grid"),
            [(name, f"{grid.size}") for name, grid in experiment.grids.items()],
        ),
    ]
    if rows:
        heads = (
            "number",
            "paper",
            "read",
            "ours",
            "our runs",
            "verdict",
            "where, and why they differ",
        )
        parts += ["## The paper's numbers and ours", table(heads, rows)]
        parts.append("[All numbers](../../reproduction.md), and when two of them agree.")
    else:
        parts += ["## The paper's numbers and ours", "The paper gives no number of this figure."]
    return "\n\n".join(parts) + "\n"


def numbers_by_figure():
    """The rows of docs/reproduction.md, without the column that names the figure."""
    from biasflow.theory.printed_pages import _rows

    found = {}
    for row in _rows((DOCS / "reproduction.md").read_text(encoding="utf-8")):
        if len(row) == 8 and row[0].startswith("`"):
            found.setdefault(row[0].strip("`"), []).append(row[1:])
    return found


def pages(folder):
    import biasflow as bf
    from biasflow.theory.papers import PAPERS

    numbers, made, by_paper = numbers_by_figure(), {}, {}
    for id in bf.figures():
        experiment = bf.experiments.experiment(id)
        by_paper.setdefault(id.partition("/")[0], []).append(experiment)
        made[f"{id}.md"] = figure_page(experiment, picture(id, folder), numbers.get(id, ()))
    parts = ["# Figures", "Every figure of the four papers, redrawn."]
    for paper in PAPERS:
        figures = by_paper[paper.tag]
        parts.append(f"## {paper.tag}: {paper.title}")
        rows = [
            (f"[`{figure.id}`]({figure.id}.md)", with_formulas(first_sentence(figure.caption)))
            for figure in figures
        ]
        parts.append(table(("figure", "what it shows"), rows))
    made["index.md"] = "\n\n".join(parts) + "\n"
    return made


def first_sentence(caption):
    return caption.partition(". ")[0].rstrip(".") + "."


def write(app):
    os.environ.setdefault("MPLBACKEND", "Agg")
    folder = Path(app.srcdir) / "figures"
    write_pages(folder, pages(folder))


def setup(app):
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
