"""The command line of the reproduction: `python -m paper`."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import orthoreg
from orthoreg._common.errors import require
from orthoreg.cli import exit_code
from orthoreg.cli._arguments import check_folder
from orthoreg.cli._output import print_error, print_files, print_json, terminal
from orthoreg.findings import table

from ._registry import NAMES
from ._render import to_json, to_terminal
from ._reproduce import Reproduction, reproduce, write
from ._settings import QUICK, Scale

_QUICK_NOTE = "Quick look: one seed and reduced sizes. These are not the paper's experiments."

app = typer.Typer(rich_markup_mode="rich", add_completion=False)


def run(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    program = "python -m paper"
    return exit_code(
        lambda: app(args=list(arguments), prog_name=program, standalone_mode=False), program
    )


@app.command(epilog=f"Experiments: {', '.join(NAMES)}.")
def main(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Names of experiments. All experiments of the paper by default."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds. The default is 5, or 1 with --quick."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run reduced sizes in a few minutes.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes. All cores by default.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler with workers: tcp://host:8786."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder. The default is 'reproduction' or 'reproduction-quick'."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only one JSON object.")] = False,
) -> None:
    """Run the paper's experiments: tables, figures and a verdict on each claim.

    Finished jobs are stored in the folder, so an interrupted run can be resumed.
    """
    require("jax", "train", "The reproduction trains networks and")
    folder = out or Path("reproduction-quick" if quick else "reproduction")
    check_folder(folder)
    if quick:
        print_error(f"note: {_QUICK_NOTE}")
    with orthoreg.cluster(cluster):
        result = reproduce(
            names or (),
            folder,
            seeds=seeds or (1 if quick else 5),
            scale=QUICK if quick else Scale(),
            workers=workers or _cores(),
        )
    files = write(result, folder)
    if as_json:
        return print_json(as_dict(result, files))
    _print(result, quick)
    print_files(
        terminal(), [path for path in files if path.suffix in (".md", ".png", ".csv", ".html")]
    )


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def as_dict(result: Reproduction, files: Sequence[Path]) -> dict[str, Any]:
    """Return metric -> method -> values for one table, or tables by name for several tables."""
    tables = {name: to_json(built) for name, built in result.tables.items()}
    if len(tables) == 1 and not result.targets:
        return next(iter(tables.values()))
    return {
        "tables": tables,
        "verdicts": [verdict.as_dict() for verdict in result.verdicts],
        "targets": [{"target": part.text, "reached": part.holds} for part in result.targets],
        "full_size": result.scale.is_full,
        "files": [str(path) for path in files],
    }


def _print(result: Reproduction, quick: bool) -> None:
    console = terminal()
    for built in result.tables.values():
        console.print(to_terminal(built))
        console.print()
    if result.verdicts:
        rows = [
            (f"{verdict.number}. {verdict.claim}", reading.name, reading.verdict)
            for verdict in result.verdicts
            for reading in verdict.readings
        ]
        console.print(table("Claims of the paper", ("claim", "reading", "verdict"), rows))
        console.print()
    if result.targets:
        rows = [(part.text, "yes" if part.holds else "no") for part in result.targets]
        console.print(table("Targets of the recommended default", ("target", "reached"), rows))
        console.print()
    if quick:
        console.print(_QUICK_NOTE, style="bold", markup=False)
