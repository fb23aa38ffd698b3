"""The command line itself, and the arguments that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="rich",
    help="Equations, a neural residual orthogonal to them, and forecasts, from time series.",
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
ModelFile = Annotated[Path, typer.Argument(help="A model file written by 'orthoreg fit'.")]
Table = Annotated[Path, typer.Argument(help="CSV or Parquet table of measurements.")]
Delimiter = Annotated[str, typer.Option(help="Sign between the columns of a CSV file.")]


def _print_version(asked: bool) -> None:
    if asked:
        from .. import __version__

        typer.echo(f"orthoreg {__version__}")
        raise typer.Exit


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
