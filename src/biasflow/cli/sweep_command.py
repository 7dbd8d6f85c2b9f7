"""`biasflow sweep run | status | collect | clean`."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import BiasflowError, InputError
from . import INTERRUPTED
from .writing import file_to_write

if TYPE_CHECKING:
    from ..experiments.specs import Spec
    from ..sweeps import Engine

SOME_FAILED = 1  # exit code

sweeps = typer.Typer(
    help="Sweep a function over a grid that a TOML file describes; resume, inspect, collect.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

SpecArgument = Annotated[
    Path, typer.Argument(metavar="SPEC", help="a TOML file; docs/sweeps.md says how to write one")
]


class EngineName(enum.StrEnum):
    processes = "processes"
    serial = "serial"
    dask = "dask"


@sweeps.command()
def run(
    spec: SpecArgument,
    engine: Annotated[
        EngineName, typer.Option(help="where points are computed; the numbers are the same")
    ] = EngineName.processes,
    workers: Annotated[
        int | None, typer.Option(min=1, help="by default one per core; Slurm jobs with --slurm")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="of a Dask scheduler, such as tcp://host:8786")
    ] = None,
    slurm: Annotated[
        bool,
        typer.Option(
            "--slurm", help="Dask workers as Slurm jobs; [slurm] in SPEC or Dask's own config"
        ),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="compute points again that failed before")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="sweep grids beyond the limit of 1,000,000 points")
    ] = False,
    point_time_s: Annotated[
        float | None,
        typer.Option(
            "--point-time", min=0.001, help="seconds after which a point is stopped and has failed"
        ),
    ] = None,
) -> None:
    """Compute every point that is not stored yet. Run it again to go on after an interruption."""
    import warnings

    from ..experiments.specs import read_spec
    from ..sweeps import MOST_POINTS, default_store, sweep
    from ..sweeps.progress_bars import sweep_bar

    described = read_spec(spec)
    chosen = _engine(engine, workers, address, described.slurm if slurm else None)
    most = max(MOST_POINTS, described.grid.size) if force else MOST_POINTS
    try:
        with sweep_bar(described.name) as watch, warnings.catch_warnings():
            # told below, from the dataset
            warnings.filterwarnings("ignore", "sweep: ", RuntimeWarning)
            result = sweep(
                described.point,
                described.grid,
                store=default_store(),
                engine=chosen,
                chunk=described.chunk,
                retry_failed=retry_failed,
                watch=watch,
                max_points=most,
                point_time_s=point_time_s,
            )
    except KeyboardInterrupt:
        typer.echo(
            "interrupted: finished chunks are kept; run the command again to go on", err=True
        )
        raise typer.Exit(INTERRUPTED) from None
    except BiasflowError:
        raise
    # a point's own, raised since no point came out; what is not in the records is our own mistake
    except Exception:
        known = _known(described)
        if not known.failed:
            raise
        first = known.failed[min(known.failed)]
        typer.echo(
            f"error: every point failed; the first at {dict(first.setting)}: {first}", err=True
        )
        typer.echo(
            f"`biasflow sweep status {spec}` shows where; --retry-failed computes them again",
            err=True,
        )
        raise typer.Exit(SOME_FAILED) from None
    failed = int(result["failed"].sum()) if "failed" in result else 0
    typer.echo(
        f"{described.name}: {described.grid.size - failed} of {described.grid.size} points done, "
        f"{failed} failed"
    )
    if failed:
        typer.echo(f"`biasflow sweep status {spec}` shows why; --retry-failed computes them again")
        raise typer.Exit(SOME_FAILED)


@sweeps.command()
def status(
    spec: Annotated[
        Path | None,
        typer.Argument(metavar="[SPEC]", help="a TOML file; by default everything in the store"),
    ] = None,
) -> None:
    """How far a sweep is, what failed and why, and what earlier code left."""
    from ..experiments.specs import read_spec
    from ..sweeps import default_store
    from .terminal import failure_lines, survey_lines

    store = default_store()
    if spec is not None:
        described = read_spec(spec)
        ledger = _known(described)
        missing = len(ledger.open(range(described.grid.size)))
        done, failed = int(ledger.done.sum()), len(ledger.failed)
        typer.echo(
            f"{described.name}: {described.grid.size} points: {done} done, {failed} failed, "
            f"{missing} to do"
        )
        for line in failure_lines(ledger.failed.values()):
            typer.echo(line)
    for line in survey_lines(store):
        typer.echo(line)


@sweeps.command()
def collect(
    spec: SpecArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="the netCDF file to write")] = Path(
        "sweep.nc"
    ),
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="also where points are missing: they are NaN, marked in `missing`"
        ),
    ] = False,
) -> None:
    """Write what is stored of a sweep into one netCDF file with labelled axes. Computes nothing."""
    from ..experiments.specs import read_spec
    from ..sweeps.encoding import write_netcdf
    from ..sweeps.resumable import assembled, finished_dataset

    described = read_spec(spec)
    target = file_to_write("--out", out)
    ledger = _known(described)
    assembly = assembled(ledger)
    missing = len(ledger.open(range(described.grid.size)))
    if missing and not partial:
        raise InputError(
            f"{missing} of {described.grid.size} points are not stored; `biasflow sweep run "
            f"{spec}` computes them, --partial collects without them"
        )
    if not ledger.done.any():
        raise InputError("no point of this sweep is stored, so there is nothing to collect")
    write_netcdf(finished_dataset(ledger, assembly), target)
    typer.echo(
        f"{int(ledger.done.sum())} points, {len(ledger.failed)} failed, {missing} missing: "
        f"written to {out}"
    )


@sweeps.command()
def clean(
    everything: Annotated[
        bool, typer.Option("--all", help="also the results of the present code")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
) -> None:
    """Delete results of earlier code, and what killed runs left behind."""
    from ..sweeps import default_store
    from ..sweeps.survey import all_folders, remove, stale_folders, tidy

    store = default_store()
    folders = all_folders(store) if everything else stale_folders(store)
    for folder in folders:
        typer.echo(f"{folder}")
    if (
        folders
        and not yes
        and not typer.confirm(
            f"delete {len(folders)} folder{'s' if len(folders) > 1 else ''} with results?"
        )
    ):
        raise typer.Exit(SOME_FAILED)
    remove(folders)
    leftovers = tidy(store)
    typer.echo(f"deleted {len(folders)} folders of results and {leftovers} leftover files")


def _engine(name: EngineName, workers: int | None, address: str | None, slurm: Any) -> Engine:
    from ..sweeps import Dask, Processes, Serial

    if name is not EngineName.dask and (address is not None or slurm is not None):
        raise InputError("--address and --slurm are for --engine dask")
    if name is EngineName.dask:
        return Dask(address, workers, slurm)
    return Processes(workers) if name is EngineName.processes else Serial()


def _known(described: Spec) -> Any:
    """What the store knows of a sweep, without computing or writing anything."""
    from ..sweeps import default_store
    from ..sweeps.resumable import make_ledger

    size = described.grid.size
    ledger = make_ledger(
        described.point, described.grid, default_store(), described.chunk, size, make_shelf=False
    )
    ledger.look_for_failures(range(size))
    return ledger
