"""Commands and their options. Everything heavy is imported inside a command, so that help is
instant."""

from __future__ import annotations

import functools
import os
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import BiasflowError, InputError
from . import INTERRUPTED
from .completion import ASKED, script
from .data_command import datasets
from .data_options import (
    DataOption,
    DepthOption,
    DropOption,
    LabelsOption,
    NetworkKind,
    NetworkOption,
    ScaleOption,
    TargetOption,
    WidthOption,
)
from .shared_options import (
    ClaimArgument,
    FigureArgument,
    FigurePreset,
    FigurePresetOption,
    OnlyOption,
    OptionalClaimArgument,
    Preset,
    PresetOption,
    Shell,
    WorkersOption,
)
from .sweep_command import sweeps
from .writing import file_to_write

if TYPE_CHECKING:
    from .verify_command import UserFile

VIOLATED, BAD_INPUT = 1, 2  # exit codes; `sweeps` has its own

app = typer.Typer(
    name="biasflow",
    help="Which zero-loss solution does gradient flow pick, how fast, and why?",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
    add_completion=False,
    no_args_is_help=True,
)


def main() -> None:
    """Run a command; an error of ours, or of the machine, is one sentence, not a traceback."""
    if ASKED in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
    try:
        try:
            app(prog_name="biasflow")
        finally:
            sys.stdout.flush()  # a full disk shows here, not when the interpreter is gone
    except BiasflowError as error:
        _give_up(f"{error}")
    except OSError as reason:
        place = f"{reason.filename}: " if reason.filename is not None else ""
        _give_up(f"{place}{reason.strerror or reason}")
    except MemoryError as reason:
        _give_up(
            f"not enough memory ({reason or 'no more than that is known'}); a smaller width, grid "
            "or data set needs less"
        )
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _give_up(sentence: str) -> None:
    with suppress(OSError):
        typer.echo(f"error: {sentence}", err=True)
    try:
        sys.stdout.flush()
    # what is left in its buffer has nowhere to go: the interpreter must not try again
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(BAD_INPUT)


app.add_typer(sweeps, name="sweep")
app.add_typer(datasets, name="data")


@app.command("list")
def list_(
    query: Annotated[
        str | None,
        typer.Argument(help="'W (27)', 'B, Lemma 15', 'C/thm3', or words; by default everything"),
    ] = None,
) -> None:
    """List claims and figures by paper, a line each (cut in a terminal, whole in a pipe or file).
    With a query: what answers it, in full, with file and line."""
    from .terminal import answers, contents

    if query is not None:
        typer.echo(answers(query))
        return
    for line in contents():
        typer.echo(line)


@app.command()
def figure(
    id: FigureArgument,
    preset: FigurePresetOption = FigurePreset.quick,
    out: Annotated[
        Path | None,
        typer.Option(
            help=(
                "where to write the PNG, and beside it the GIF where there is one; by default "
                "ID.png here"
            )
        ),
    ] = None,
    workers: WorkersOption = None,
    ship: Annotated[
        bool,
        typer.Option(
            "--ship", help="train from the points up, and write the files that travel with biasflow"
        ),
    ] = False,
    ship_to: Annotated[
        Path | None,
        typer.Option(help="with --ship: where to, by default where the package has them"),
    ] = None,
    time_s: Annotated[
        float | None,
        typer.Option(
            "--time-s", min=1.0, help="with --ship: seconds; what is finished then is written"
        ),
    ] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="with --ship: a setting or axis of the preset, as JSON",
        ),
    ] = None,
) -> None:
    """Draw one figure, and compare it with the paper's numbers."""
    if ship or ship_to or time_s or changed:
        from .ship_command import ship_figure

        if not ship:
            raise InputError("--ship-to, --time-s, --set: they are about --ship; give it too")
        ship_figure(id, preset.value, ship_to, time_s, changed or [])
        return
    from .. import experiments
    from ..errors import unknown
    from ..report import file_name, make_figure, movie_name
    from ..sweeps import Processes, default_store
    from .terminal import bars, numbers_table

    if id not in experiments.figures():
        raise unknown("figure", id, list(experiments.figures()))
    path = out or Path(file_name(id))
    if path.suffix != ".png":
        raise InputError(f"--out: expected a file that ends in .png, found {path}")
    file_to_write("--out", path)
    with bars() as progress:
        entry = make_figure(id, preset.value, default_store(), progress, Processes(workers))
    if entry.failure is not None:
        typer.echo(f"error: {id}: {entry.failure}", err=True)
        raise typer.Exit(BAD_INPUT)
    path.write_bytes(entry.image)
    written = str(path)
    if entry.movie:
        movie_name(path).write_bytes(entry.movie)
        written += f" and {movie_name(path)}"
    typer.echo(
        f"{entry.experiment.caption}\n{numbers_table(entry.numbers)}written to {written} "
        f"({entry.seconds:.1f} s)"
    )


@app.command()
def numbers(
    preset: PresetOption = Preset.quick,
    only: OnlyOption = None,
    out: Annotated[Path | None, typer.Option(help="write the table here, as Markdown")] = None,
    workers: WorkersOption = None,
) -> None:
    """The papers' numbers beside ours: which agree, which differ and why."""
    from .. import experiments
    from ..errors import unknown
    from ..report import all_numbers, counted, numbers_page, tag_of
    from ..sweeps import Processes, default_store
    from .terminal import bars, numbers_table

    ids = [id for id in experiments.figures() if only is None or only in (id, tag_of(id))]
    if not ids:
        raise unknown("figure or paper", str(only), list(experiments.figures()))
    if out is not None:
        file_to_write("--out", out)
    with bars() as progress:
        found = all_numbers(ids, preset.value, default_store(), progress, Processes(workers))
    for id, values in found.items():
        typer.echo(f"{id}\n{numbers_table(values)}", nl=False)
    typer.echo(counted([number for values in found.values() for number in values]))
    if out is not None:
        given = (("preset", preset.value if preset is not Preset.quick else None), ("only", only))
        options = "".join(f" --{name} {value}" for name, value in given if value)
        out.write_text(
            numbers_page(found, f"biasflow numbers{options} --out {out}"), encoding="utf-8"
        )


@app.command()
def explain(
    id: ClaimArgument,
    data: DataOption = None,
    target: TargetOption = None,
    drop: DropOption = None,
    labels: LabelsOption = None,
    network: NetworkOption = NetworkKind.diagonal,
    scale: ScaleOption = 0.1,
    depth: DepthOption = 2,
    width: WidthOption = 50,
    markdown: Annotated[bool, typer.Option("--markdown", help="as Markdown")] = False,
) -> None:
    """What a claim says, in words and symbols, what is measured, and what it means; with --data
    what it says about yours."""
    from .explain_command import explain_claim

    file = _user_file(data, network, scale, depth, width, target, drop, labels)
    explain_claim(id, file, markdown)


@app.command()
def verify(
    id: OptionalClaimArgument = None,
    keys: Annotated[int, typer.Option(min=1, help="how many random examples of each claim")] = 3,
    data: DataOption = None,
    target: TargetOption = None,
    drop: DropOption = None,
    labels: LabelsOption = None,
    network: NetworkOption = NetworkKind.diagonal,
    scale: ScaleOption = 0.1,
    depth: DepthOption = 2,
    width: WidthOption = 50,
    problem: Annotated[
        str | None, typer.Option(metavar="LINEAGE", help="a problem that `biasflow falsify` found")
    ] = None,
    tightest: Annotated[
        bool, typer.Option("--tightest", help="the tightest problem that `biasflow falsify` found")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="with --data: also claims about other kinds of problems")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="verdicts as JSON, nothing else")] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the verdicts here too, as JUnit XML")
    ] = None,
) -> None:
    """Check claims on random examples, on your data, or on a problem that was found: a line each,
    or in full with an ID. Exit code 1 where one is violated. All claims take about 20 s of a core
    on your data, 7 minutes on examples."""
    from .. import theory
    from ..errors import unknown
    from .verify_command import Output, on_data, on_examples, on_found

    if id is not None and id not in theory.claims():
        raise unknown("claim", id, list(theory.claims()))
    if problem is not None and tightest:
        raise InputError("--problem, --tightest: give one of them")
    if (problem is not None or tightest) and (id is None or data is not None):
        raise InputError(
            "--problem, --tightest: they name a problem of one claim; give its ID, and no --data"
        )
    if junit is not None:
        file_to_write("--junit", junit)
    file = _user_file(data, network, scale, depth, width, target, drop, labels)
    ids = theory.claims() if id is None else (id,)
    output = Output(id is not None, everything, json, junit)
    if id is not None and (problem is not None or tightest):
        statuses = on_found(id, problem, output)
    elif file is None:
        statuses = on_examples(ids, keys, output)
    else:
        statuses = on_data(ids, file, output)
    if statuses & {"violated", "failed"}:
        raise typer.Exit(VIOLATED)


def _user_file(
    data: Path | None,
    network: NetworkKind,
    scale: float,
    depth: int,
    width: int,
    target: str | None,
    drop: list[str] | None,
    labels: str | None,
) -> UserFile | None:
    from .verify_command import UserFile

    if data is None:
        if target is not None or drop or labels is not None:
            raise InputError("--target, --drop, --labels: they are about a file; give --data too")
        return None
    columns = (target, tuple(drop or ()), labels)
    return UserFile(data, network.value, scale, depth, width, *columns)


@app.command()
def falsify(
    id: OptionalClaimArgument = None,
    time_s: Annotated[
        float, typer.Option("--time", min=0.001, help="seconds for each claim")
    ] = 60.0,
    problems: Annotated[
        int, typer.Option(min=1, help="random problems before the best are moved")
    ] = 100,
    key: Annotated[int, typer.Option(min=0, help="seed of the search")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="write the table of all claims here, as Markdown")
    ] = None,
    workers: WorkersOption = None,
) -> None:
    """Search for problems on which a claim fails or is tightest. Run it again to go on; exit code 1
    where one is violated."""
    from .. import theory
    from ..errors import unknown
    from .falsify_command import search_all, search_one

    if id is not None and id not in theory.claims():
        raise unknown("claim", id, list(theory.claims()))
    if id is not None and out is not None:
        raise InputError("--out: the table is of all claims; leave the ID out")
    try:
        if id is None:
            violated = search_all(time_s, problems, key, workers, out)
        else:
            violated = search_one(id, time_s, problems, key, workers)
    except KeyboardInterrupt:
        typer.echo(
            "interrupted: what was looked at is kept; run the command again to go on", err=True
        )
        raise typer.Exit(INTERRUPTED) from None
    if violated:
        raise typer.Exit(VIOLATED)


@app.command()
def reproduce(
    preset: PresetOption = Preset.quick,
    out: Annotated[Path, typer.Option(help="folder of the report")] = Path("report"),
    only: OnlyOption = None,
    workers: WorkersOption = None,
) -> None:
    """Every figure and claim, on one page. Results already computed by this code are not computed
    again; all of them take about ten minutes of a core."""
    from ..report import reproduce as make_report
    from ..sweeps import Processes, default_store
    from ..sweeps.kept import Kept
    from .terminal import bars, report_lines
    from .warm_command import compiling_beside

    try:
        with bars() as progress:
            beside = nullcontext if only else functools.partial(compiling_beside, progress)
            engine = Kept(Processes(workers), beside)
            report = make_report(out, preset.value, default_store(), progress, only, engine)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: {out / 'index.html'} holds what was finished; run the command again to "
            "go on",
            err=True,
        )
        raise typer.Exit(INTERRUPTED) from None
    typer.echo(report_lines(report, out / "index.html"))
    if not report.sound:
        raise typer.Exit(VIOLATED)


@app.command()
def warm() -> None:
    """Compile every kernel that is not on disk yet, up to two minutes of a core in all; print what
    each took."""
    from .terminal import bars
    from .warm_command import FAMILIES, table, warm as compile_all

    with bars() as progress:
        compiled = list(compile_all(FAMILIES, progress))
    typer.echo(table(compiled))


@app.command()
def explore(
    scene: Annotated[
        str | None, typer.Option(help="the scene to begin with, or to export; by default the first")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(metavar="LINK-OR-JSON", help="its state: a copied link, or JSON"),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(metavar="FILE.html", help="write a page that plays without a server"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free")] = 0,
    browser: Annotated[bool, typer.Option(help="open the page in a browser")] = True,
) -> None:
    """A page that shows flows and limits while you drag the data. It is served on this machine, to
    this machine, until Ctrl-C; it needs the extra `explore`, exports do not."""
    from .explore_command import serve_page, write_page

    if export is not None:
        write_page(export, scene, state)
    else:
        serve_page(scene, state, port, browser)


@app.command()
def doctor() -> None:
    """Versions, devices, locations, what is missing for what."""
    from .health import diagnosis

    typer.echo(diagnosis())


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help="which shell")],
) -> None:
    """Print a script that completes commands, options and ids in your shell: `eval "$(biasflow
    completion bash)"` in its start-up file (fish: `biasflow completion fish | source`)."""
    typer.echo(script(shell.value))
