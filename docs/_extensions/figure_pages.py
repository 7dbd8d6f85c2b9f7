"""A page for every figure: its picture, what it shows, the command that draws it, the paper's
numbers beside ours."""

from pathlib import Path

import draw_figures

from formulas import with_formulas
from written_pages import ORPHAN, table, write_pages

DOCS = Path(__file__).parents[1]


def picture(experiment):
    """The kept picture, which opens at its full size, and what it is a picture of."""
    path = draw_figures.picture_of(experiment.id)
    alt, grid = " ".join(experiment.alt.split()), experiment.grids[draw_figures.PRESET]
    shown = (
        "results that were computed on a GPU and travel with the package"
        if "shipped_in" in grid.settings
        else f"{grid.size} points of its grid, where `--preset paper` computes "
        f"{experiment.grids['paper'].size}"
    )
    return (
        f"```{{image}} ../../images/figures/{path.name}\n:alt: {alt}\n"
        f":target: ../../_images/{path.name}\n```\n\n"
        f"*The preset `{draw_figures.PRESET}`: {shown}. The picture is a link to itself at full "
        "size.*"
    )


def figure_page(experiment, rows):
    id = experiment.id
    parts = [f"{ORPHAN}# `{id}`", with_formulas(experiment.caption)]
    parts += ["One of the [figures](../index.md)."]
    parts.append(picture(experiment))
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


def pages():
    import biasflow as bf
    from biasflow.theory.papers import PAPERS

    numbers, made, by_paper = numbers_by_figure(), {}, {}
    for id in bf.figures():
        experiment = bf.experiments.experiment(id)
        by_paper.setdefault(id.partition("/")[0], []).append(experiment)
        made[f"{id}.md"] = figure_page(experiment, numbers.get(id, ()))
    parts = ["# Figures", "Every figure of the four papers, redrawn, and ours of later work."]
    for paper in (paper for paper in PAPERS if paper.tag in by_paper):
        figures = by_paper[paper.tag]
        parts.append(f"## {paper.tag}: {paper.title}")
        parts.append("\n".join([":::::{container} gallery-cards", *map(card, figures), ":::::"]))
    made["index.md"] = "\n\n".join(parts) + "\n"
    return made


def card(figure):
    """Its picture, which needs no words beside these, its link, and what it shows."""
    name = draw_figures.picture_of(figure.id).name
    return (
        f"::::{{container}} gallery-card\n```{{image}} ../images/figures/{name}\n:alt:\n```\n\n"
        f":::{{container}} gallery-title\n[`{figure.id}`]({figure.id}.md)\n:::\n\n"
        f"{with_formulas(first_sentence(figure.caption))}\n::::\n"
    )


def first_sentence(caption):
    return caption.partition(". ")[0].rstrip(".") + "."


def write(app):
    write_pages(Path(app.srcdir) / "figures", pages())


def setup(app):
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
