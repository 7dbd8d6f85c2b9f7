"""Print the documentation for assistants: `python tests/print_llms.py > llms.txt`.

Names, signatures, claims, figures and commands are read from the code; only the rules at the top
are written here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import biasflow as bf
import print_signatures
from biasflow._core.offers import OWN
from biasflow.theory.claim_words import title_of
from biasflow.theory.papers import PAPERS, SINCE

HEAD = """\
# biasflow

> Python library and command line: which of the infinitely many zero-loss solutions does gradient
> flow pick, how fast, and why? It integrates gradient flow at any initialisation scale, computes
> the limit that theory predicts with a certificate and without integrating, and tests every
> statement of four papers (W, R, B, C below), and some of later ones (S), on the user's data.

Rules for whoever writes code with it:

- `import biasflow as bf`. Flat names are below; everything else is one dot away in its room
  (`bf.limits.min_l1`). There are no other names: do not guess.
- A problem is `bf.Problem(model, data, loss, scale=1e-3)` or `bf.Problem(model, data, loss,
  start)`; data is a `bf.Dataset(X, y)` with X of shape (n, d).
- `bf.gradient_flow(problem)` returns a `Trajectory`: look at `.result` (why it stopped) and
  `.error` (how accurate it is) before its numbers.
- `bf.limit(problem)` returns a `Limit` without integrating: `.certificate.gap` says how far from
  optimal it can be, `.source` which theorem says so. It refuses with a sentence where no theorem
  speaks; show that sentence to the user.
- `bf.verify("W/thm2", problem)` returns a `Verdict`. "holds" means compared with evidence that
  does not assume the statement; "consistent" is weaker; "hypotheses fail" and "does not apply"
  say nothing about the theorem. Never report one as another.
- A loss is an object (`bf.SquareLoss("half")`), a random key an int (`key=0`), effort is limited
  by `time_s=`. Arrays are NumPy's, in float64.
- Scripts that sweep in processes need `if __name__ == "__main__":` around what they run.
- Errors are sentences that say what was wrong, where, and what to do. `biasflow doctor` says what
  is installed."""

PAGES = {
    "README.md": "what it is, ten lines with output, what to call for what",
    "docs/start/ten_minutes.md": "from installing to a first limit, flow, verdict and film",
    "docs/start/which_function.md": "from what you want to what you call",
    "docs/api.md": "every public name by topic",
    "docs/verdicts.md": "how to read a verdict",
    "docs/certificates.md": "how to read a certificate",
    "docs/glossary.md": "the symbols of the four papers",
    "docs/errata.md": "slips in the papers, each with the check that shows it",
    "docs/cost.md": "what a call costs, first time and later",
    "docs/command_line.md": "the command line on data of your own",
    "docs/sweeps.md": "thousands of runs, killed and resumed",
    "docs/probe.md": "is my network lazy or rich?",
    "docs/estimators.md": "scikit-learn estimators",
    "docs/architecture.md": "rooms, and where to find an equation",
    "CONTRIBUTING.md": "how to add a potential, a model, a flow, a claim, a figure",
    "SUPPORT.md": "systems, versions, what may change",
}


def page() -> str:
    sections = (
        ("Pages", (f"- [{path}]({path}): {what}" for path, what in PAGES.items())),
        ("Papers", (f"- {paper}" for paper in PAPERS + SINCE)),
        ("Flat names", _flat_names()),
        ("Rooms", _rooms()),
        ("Claims", (f"- `{id}`: {title_of(bf.theory.claim(id))}" for id in _own(bf.theory))),
        ("Figures", (f"- `{id}`: {_caption(id)}" for id in _own(bf.experiments))),
        ("Commands", _commands()),
    )
    written = [HEAD, *("\n".join([f"## {title}", "", *lines]) for title, lines in sections)]
    return "\n\n".join(written) + "\n"


def _own(room: Any) -> list[str]:
    """The ids that do not come from other packages."""
    return [id for id in room.REGISTER.ids if room.REGISTER.offer(id).source == OWN]


def _flat_names() -> Iterator[str]:
    for name in bf.__all__:
        value = getattr(bf, name)
        if not inspect.ismodule(value) and callable(value):
            yield f"- `bf.{name}{print_signatures.signature_of(value)}`: {_first_line(value)}"


def _rooms() -> Iterator[str]:
    for name in bf.__all__:
        room = getattr(bf, name)
        if inspect.ismodule(room):
            public = ", ".join(f"`{public}`" for public in print_signatures.public_names(room))
            yield f"- `bf.{name}`: {_first_line(room)} {public}"


def _commands() -> Iterator[str]:
    import typer

    from biasflow.cli.commands import app

    command = typer.main.get_command(app)
    for name, one in command.commands.items():
        inside = getattr(one, "commands", None)
        for path, leaf in {name: one}.items() if inside is None else inside.items():
            called = path if inside is None else f"{name} {path}"
            yield f"- `biasflow {called}`: {' '.join((leaf.help or '').split())}"


def _caption(id: str) -> str:
    """Its first sentence."""
    caption = " ".join(bf.experiments.experiment(id).caption.split())
    return re.split(r"(?<=[^.\d]\.) (?=[A-Z(])", caption, maxsplit=1)[0]


def _first_line(value: object) -> str:
    """The first sentence, or paragraph, of its docstring."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())


if __name__ == "__main__":
    print(page(), end="")
