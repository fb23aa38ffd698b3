"""The command-line application, and the arguments that commands share."""

import shlex
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.typed import printable

app = typer.Typer(
    rich_markup_mode="rich",
    help="Equations, a neural residual orthogonal to them, and forecasts, from time series.",
)

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("command-line arguments", default=())


def command_line() -> str:
    """Return the running command line, quoted for a shell."""
    return printable(shlex.join(["orthoreg", *ARGUMENTS.get()]))


def _existing_model(path: Path) -> Path:
    """Return `path` if it is an existing model file. Checked before heavy imports."""
    from .._common.files import existing_model

    existing_model(path)
    return path


def _existing_tables(files: list[Path]) -> list[Path]:
    from .._common.files import check_existing
    from ._reading import source_of

    check_existing(source_of(files))
    return files


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Plots = Annotated[bool, typer.Option("--plots", help="Write plots as PNG files beside the report.")]
OutFolder = Annotated[Path, typer.Option(help="Folder for model, report and summary.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
ModelFile = Annotated[
    Path,
    typer.Argument(help="A model file written by 'orthoreg fit'.", callback=_existing_model),
]
Tables = Annotated[
    list[Path],
    typer.Argument(
        help="Table of measurements: CSV (may be compressed), Excel, Parquet, Feather or Arrow. "
        "If there are several tables, or a pattern such as 'runs/*.csv', each file is one run.",
        callback=_existing_tables,
    ),
]


PrintedUnits = Annotated[
    str, typer.Option("--units", help="Units in which to print results, such as rad->deg,s->min.")
]
TimeColumn = Annotated[str | None, typer.Option(help="Time column, if its name has changed.")]
GroupColumn = Annotated[str | None, typer.Option(help="Column that identifies the run.")]
ModelOut = Annotated[Path | None, typer.Option(help="Model file to write.")]
Minutes = Annotated[
    float | None,
    typer.Option(help=("Stop the search after this many minutes and keep the best result.")),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Number of local worker processes."),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786."),
]


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        sys.stdout.write(f"orthoreg {__version__}\n")
        raise typer.Exit


def options_of(command: str) -> dict[str, str]:
    """Return the options of a command by parameter name, or {} for an unknown command."""
    from . import import_commands

    import_commands(command)
    group: Any = typer.main.get_command(app)
    found = group.commands.get(command)
    return {
        option.name: option.opts[0]
        for option in (found.params if found else ())
        if option.opts[0].startswith("--")
    }


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass
