"""The command that writes a report about a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import Json, ModelFile, app, command_line
from ._arguments import check_file
from ._output import collected_warnings, print_files, print_json, print_reading, terminal
from ._reading import name_of, reads_tables


@app.command()
@reads_tables
def report(
    model: ModelFile,
    data: Annotated[
        list[Path] | None,
        typer.Argument(help="Table of measurements, for forecasts and charts of data."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write; as the model is called if not given.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Also seek formulas for what the model's library lacks."),
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="With --explain: the best after so many minutes.")
    ] = None,
    time: Annotated[str | None, typer.Option(help="Column with the times, if renamed.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Write one HTML page about a model: equations, verdict, charts. It opens without a network."""
    page = out or model.with_suffix(".html")
    check_file(page, "report.html")
    if explain and not data:
        raise InputError("--explain needs data: name the table after the model file.")
    with working("Starting"):
        from .. import load
        from .. import report as write_report
        from ._work import runs_for

    with collected_warnings() as notes:
        with working("Reading the table"):
            fitted = load(model)
            runs = runs_for(fitted, data, time, group, reading) if data else None
        found = None
        if explain:
            with working("Searching for missing terms"):
                found = fitted.explain(runs, minutes=minutes)
        with working("Writing the report"):
            write_report(fitted, page, runs, explanation=found, command=command_line())
    if as_json:
        return print_json({"model": str(model), "report": str(page), "warnings": notes})
    console = terminal()
    if runs is not None:
        print_reading(console, name_of(data or []), runs)
    print_files(console, [page])
