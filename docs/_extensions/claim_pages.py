"""A page for every claim, made from the claim itself, and an index for every paper."""

import functools
import sys
from pathlib import Path

from formulas import with_formulas
from written_pages import ORPHAN, table, write_pages

DOCS = Path(__file__).parents[1]
NETWORKS = {
    "--scale 1e-3": ("diagonal", 2),
    "--depth 3 --scale 1e-2": ("diagonal", 3),
    "--network directions --width 60 --scale 1e-3": ("directions", 2),
    "--network relu --width 60 --scale 1e-3": ("relu", 2),
    "--network margin --labels no,yes": ("margin", 2),
}
"""Options of `biasflow verify --data`, and the networks that they build."""
NUMBERS_SHOWN = 12
"""Checks shown of a claim that has more: the rest are the same at other sizes or places."""


def worlds_by_claim():
    """The rows of the mutation matrix, which the tests hold."""
    sys.path.insert(0, str(DOCS.parent / "tests" / "theory"))
    try:
        import margin_worlds
        import mirror_worlds
        import regimes_worlds
        import relu_worlds
        import since_worlds
    finally:
        sys.path.pop(0)
    found = {}
    for world in (
        *mirror_worlds.WORLDS,
        *relu_worlds.WORLDS,
        *margin_worlds.WORLDS,
        *regimes_worlds.WORLDS,
        *since_worlds.WORLDS,
    ):
        found.setdefault(world.claim, []).append(world)
    return found


def claim_page(claim, explanation, worlds, place):
    from biasflow.theory.claim_words import WORDS, title_of
    from biasflow.theory.papers import papers_of
    from biasflow.theory.printed_pages import errata_of, sharpness_of

    words = WORDS.get(claim.id)
    parts = [f"{ORPHAN}# `{claim.id}`: {title_of(claim)}"]
    if words is not None:
        parts.append(with_formulas(words.says))
    parts += [f"One of the [claims of {claim.id[0]}](index.md)."]
    parts += ["## Statement", with_formulas(claim.statement), f"*{claim.reference}*"]
    if claim.hypotheses:
        parts += ["## Hypotheses", "\n".join(hypotheses(claim))]
    if words is not None:
        parts += ["## What it means for you", with_formulas(words.means)]
    parts += ["## Run it on your data", run_lines(claim)]
    parts += ["## How it is tested", how_tested(claim)]
    numbers = measured(claim)
    if numbers:
        parts += ["### What its examples gave", numbers]
    if worlds:
        parts += ["## Worlds in which it is false", false_worlds(worlds)]
    sharp = sharpness_of(claim.id)
    if sharp is not None:
        parts += ["## How sharp it is", sharpness(claim, sharp)]
    errata = errata_of(claim.id)
    if errata:
        rows = [(e.where, with_formulas(e.printed), with_formulas(e.corrected)) for e in errata]
        parts += ["## Errata", table(("where", "printed", "corrected"), rows)]
    rows = [(with_formulas(term), with_formulas(text)) for term, text in explanation.symbols]
    parts += ["## Symbols", table(("symbol", "meaning"), rows)]
    parts += ["## Source", f"{claim.reference}. In the code: `{place}`."]
    for paper in papers_of(claim.id):
        parts += [f"{paper.authors}, *{paper.title}*, {paper.year}."]
        parts += [f"```bibtex\n{paper.bibtex}\n```"]
    return "\n\n".join(parts) + "\n"


def hypotheses(claim):
    from biasflow.theory.hypothesis_words import meaning_of

    for hypothesis in claim.hypotheses:
        else_none = "; else the claim does not apply" if hypothesis.structural else ""
        meaning = with_formulas(meaning_of(claim.id, hypothesis))
        yield f"- **{hypothesis.id}**: {with_formulas(hypothesis.statement)}{else_none}. {meaning}"


@functools.cache
def problems_on_tables():
    """A small problem of every kind that the command line makes of a table."""
    import numpy as np

    import biasflow as bf
    from biasflow.cli.data_problems import problem_on

    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 6))
    made = {}
    for options, (network, depth) in NETWORKS.items():
        labels = np.array([1.0, -1, 1, -1]) if network == "margin" else X[:, 0] - X[:, 1]
        made[options] = problem_on(bf.Dataset(X, labels), network, 1e-2, depth, 8)
    return made


def applies(claim, problem):
    from biasflow.theory.evidence import Evidence

    structural = [hypothesis for hypothesis in claim.hypotheses if hypothesis.structural]
    return all(hypothesis.test(Evidence(problem)) is None for hypothesis in structural)


def run_lines(claim):
    fitting = [options for options, problem in problems_on_tables().items()]
    fitting = [o for o in fitting if applies(claim, problems_on_tables()[o])]
    commands = [f"biasflow verify {claim.id} --data yours.csv {options}" for options in fitting]
    commands += [f"biasflow verify {claim.id}  # on the claim's own example"]
    lines = [
        "A table of yours, its last column the labels:"
        if fitting
        else "It is not about a network on a table; the command line has its examples:",
        "```sh\n" + "\n".join(commands) + "\n```",
        "In Python, on a problem of yours that it is about; else the verdict says what it needs:",
        f'```python\nbf.verify("{claim.id}", problem)\n'
        f'bf.verify("{claim.id}", problem, flow=yours)  # your own training as evidence\n'
        f'bf.falsify("{claim.id}", time_s=60)  # look for the problem on which it is tightest\n```',
    ]
    return "\n\n".join(lines)


def how_tested(claim):
    lines = [f"- Evidence of the kind *{claim.kind}*: {claim.kind.evidence}."]
    if claim.witness:
        lines.append(f"- Compared with: {with_formulas(claim.witness)}.")
    if claim.null:
        lines.append(
            f"- Null model, which knows nothing of the claim: {with_formulas(claim.null)}. Where "
            "it passes every check that has one, the verdict is not informative."
        )
    return "\n".join(lines)


def measured(claim):
    from biasflow.theory.recorded_checks import recorded_checks

    recorded = recorded_checks(claim.id)
    if not recorded:
        return ""
    signs = {"==": "=", "<=": "≤", ">=": "≥"}
    rows = []
    for key, check in recorded[:NUMBERS_SHOWN]:
        missing = check.measured != check.measured
        error = f" ± {check.error:.1g}" if check.error and not missing else ""
        rows.append(
            (
                with_formulas(check.quantity),
                f"{key}",
                "not measured" if missing else f"{check.measured:.4g}{error}",
                f"{signs[check.relation]} {check.bound:.4g}",
                "" if check.null is None else f"{check.null:.3g}",
                str(check.status),
            )
        )
    made = table(("what", "example", "measured", "must be", "null model", "status"), rows)
    more = len(recorded) - NUMBERS_SHOWN
    if more > 0:
        made += f"\n\nAnd {more} more, of the same kinds; `biasflow verify {claim.id}` prints them."
    return made


def false_worlds(worlds):
    """What was changed where the verdict says so, and what may change without harm."""
    noticed = [world for world in worlds if world.outcome == "noticed"]
    same = [world for world in worlds if world.outcome != "noticed"]
    lines = [
        "The statement, the data or the code is changed; the tests assert that the verdict then "
        "says so (`make matrix`):",
        "\n".join(f"- {with_formulas(world.change)}" for world in noticed),
    ]
    if same:
        lines += [
            "Changed without harm, since the statement does not rest on it:",
            "\n".join(
                f"- {with_formulas(world.change)}: {with_formulas(world.why)}" for world in same
            ),
        ]
    return "\n\n".join(lines)


def sharpness(claim, found):
    lines = [f"A search judged {found.judged} problems: {found.verdicts}."]
    if found.tighter == "1":
        lines.append("On one of them a bound is attained: it cannot be tightened.")
    elif found.tighter:
        lines.append(f"On all of them its bounds could be {found.tighter} times tighter.")
    if found.exponents:
        lines.append(f"Exponents as stated → as attained: {with_formulas(found.exponents)}.")
    lines.append(f"Tightest in: {with_formulas(found.check)}.")
    again = f"```sh\nbiasflow verify {claim.id} --problem '{found.lineage}'\n```"
    return " ".join(lines) + f"\n\n{again}"


def paper_page(paper, claims):
    from biasflow.theory.claim_words import title_of

    rows = [
        (f"[`{claim.id}`]({name_of(claim)}.md)", title_of(claim), claim.reference)
        for claim in claims
    ]
    subject = f"{paper.subject[:1].upper()}{paper.subject[1:]}."
    byline = f"{paper.authors}, {paper.year}. " if paper.authors else ""
    return (
        f"# {paper.tag}: {paper.title}\n\n{byline}{subject}\n\n"
        f"{table(('claim', 'what it says', 'where'), rows)}\n"
    )


def name_of(claim):
    return claim.id.partition("/")[2]


def index_page(papers, counts):
    lines = [
        "# Claims",
        "Every statement of the four papers, and some of later ones, as code that can fail: its "
        "hypotheses are checked on your data, its prediction is computed, and both are held "
        "against evidence that does not assume it. [How to read a verdict](../verdicts.md) says "
        "what the words mean.",
        table(
            ("paper", "claims", "about"),
            [
                (
                    f"[{paper}]({paper.tag}/index.md)",
                    str(counts[paper.tag]),
                    paper.subject,
                )
                for paper in papers
            ],
        ),
        "```{toctree}\n:hidden:\n\n" + "\n".join(f"{p.tag}/index" for p in papers) + "\n```",
    ]
    return "\n\n".join(lines) + "\n"


def pages():
    import biasflow as bf
    from biasflow.theory.papers import PAPERS
    from biasflow.theory.verification import claim as claim_of

    worlds = worlds_by_claim()
    made, by_paper = {}, {paper.tag: [] for paper in PAPERS}
    for id in bf.claims():
        claim = claim_of(id)
        if id.partition("/")[0] not in by_paper:
            continue  # another package's
        by_paper[id.partition("/")[0]].append(claim)
        place = bf.theory.find(id)[0]
        made[f"{id}.md"] = claim_page(claim, bf.theory.explain(id), worlds.get(id, ()), place.where)
    for paper in PAPERS:
        made[f"{paper.tag}/index.md"] = paper_page(paper, by_paper[paper.tag])
    made["index.md"] = index_page(PAPERS, {tag: len(found) for tag, found in by_paper.items()})
    return made


def write(app):
    write_pages(Path(app.srcdir) / "claims", pages())


def setup(app):
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
