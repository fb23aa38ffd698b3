"""The command that names what a model's library lacks."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import Json, ModelFile, Tables, app, command_line
from ._arguments import check_file
from ._output import (
    collected_warnings,
    data_entries,
    print_equations,
    print_files,
    print_json,
    print_reading,
    terminal,
)
from ._reading import name_of, paths_of, reads_tables

Minutes = Annotated[
    float | None, typer.Option(help="Return the best so far after so many minutes.")
]


@app.command()
@reads_tables
def explain(
    model: ModelFile,
    data: Tables,
    accept: Annotated[
        int | None, typer.Option(help="Proposal to accept, by its number; the model goes to --out.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Model file to write.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Report to write; explained.html beside the model if not given."),
    ] = None,
    minutes: Minutes = None,
    functions_of_time: Annotated[
        bool, typer.Option(help="Oscillations and trends of time itself too.")
    ] = False,
    time: Annotated[str | None, typer.Option(help="Column with the times, if renamed.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Propose formulas for what a model's library lacks, with the evidence for each."""
    page = report or model.with_name("explained.html")
    if (out is None) != (accept is None):
        raise InputError("--accept and --out belong together: which proposal, and where to.")
    if out is not None:
        check_file(out, "model.orthoreg")
    with working("Starting"):
        from .. import load
        from .. import report as write_report
        from ..model.explanation import extended
        from ..model.validation import in_states_of
        from ._stored import read_stored, search_key, write_stored
        from ._work import runs_for

    with collected_warnings() as notes:
        fitted = load(model)
        check_file(page, "report.html", "--report")
        with working("Reading the table"):
            runs = runs_for(fitted, data, time, group, reading)
        key, found = search_key(model, runs, functions_of_time), None
        proposals = page.with_suffix(".json")
        stored = read_stored(proposals, key) if accept is not None else None
        if stored is None:
            with working("Searching for missing terms"):
                found = fitted.explain(runs, minutes=minutes, functions_of_time=functions_of_time)
            write_stored(proposals, key, found)
            stored = read_stored(proposals, key)
            assert stored is not None
        larger = None
        if accept is not None and out is not None:
            with working("Fitting the accepted model"):
                larger = extended(fitted, [stored.addition(accept)], in_states_of(fitted, runs))
            larger.save(out)
        with working("Writing the report"):
            shown = fitted if larger is None else larger
            write_report(shown, page, runs, explanation=found, command=command_line())
    if as_json:
        return print_json(
            {
                **data_entries(paths_of(data), runs),
                **stored.entries,
                "accepted": None if larger is None else larger.equations(),
                "model": None if out is None else str(out),
                "report": str(page),
                "warnings": notes,
            }
        )
    console = terminal()
    print_reading(console, name_of(data), runs)
    console.print()
    console.print(stored.text, markup=False)
    if larger is not None:
        console.print()
        print_equations(console, larger.equations())
    console.print()
    print_files(console, [page, proposals] if out is None else [out, page])
