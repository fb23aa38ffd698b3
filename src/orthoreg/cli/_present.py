"""Commands that present a model: `show`, `report` and `export`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from .._common.progress import working
from ._app import (
    GroupColumn,
    Json,
    Minutes,
    ModelFile,
    PrintedUnits,
    TimeColumn,
    app,
    command_line,
)
from ._arguments import check_file, one_of, printed_units_in
from ._output import (
    collected_warnings,
    print_files,
    print_json,
    print_reading,
    print_scores,
    print_summary,
    terminal,
)
from ._reading import name_of, reads_tables


@app.command()
def show(model: ModelFile, units: PrintedUnits = "", as_json: Json = False) -> None:
    """Print a fitted model: equations, verdict, advice, intervals and probabilities."""
    from dataclasses import asdict

    from .. import load
    from ._work import (
        coefficient_dict,
        second_order_entries,
        summary_entries,
        term_entries,
        unit_entries,
    )

    with collected_warnings() as notes:
        fitted = load(model)
        printed = printed_units_in(units)
        fitted = fitted.in_units(printed) if printed else fitted
        summary = fitted.summary()
    if as_json:
        return print_json(
            {
                "model": str(model),
                "equations": fitted.equations(),
                **second_order_entries(fitted),
                "coefficients": coefficient_dict(fitted),
                **unit_entries(fitted),
                **term_entries(fitted, summary),
                "certificate": fitted.certificate_.as_dict(),
                "warnings": notes,
                **summary_entries(summary),
            }
        )
    console = terminal()
    print_summary(console, summary)
    if summary.source is not None:
        scores = {name: value for name, value in asdict(summary.scores).items()
                  if name != "equations"}  # fmt: skip
        print_scores(console, f"Errors on {summary.source}", scores)


@app.command()
@reads_tables
def report(
    model: ModelFile,
    data: Annotated[
        list[Path] | None,
        typer.Argument(help="Table of measurements, for forecasts and charts."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write. Default: the name of the model file.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Also search for formulas that the model's library lacks."),
    ] = False,
    minutes: Minutes = None,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Write an HTML page about a model: equations, verdict and charts. It works offline."""
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
        explanation = None
        if explain:
            with working("Searching for missing terms"):
                explanation = fitted.explain(runs, minutes=minutes)
        with working("Writing the report"):
            write_report(fitted, page, runs, explanation=explanation, command=command_line())
    if as_json:
        return print_json({"model": str(model), "report": str(page), "warnings": notes})
    console = terminal()
    if runs is not None:
        print_reading(console, name_of(data or []), runs)
    print_files(console, [page])


_FORMATS = ("text", "python", "c", "julia", "matlab", "modelica", "fmu", "latex", "mathml", "sympy")
_WITH_UNITS = ("text", "latex", "mathml")
_BY_ENDING = {
    ".txt": "text", ".py": "python", ".c": "c", ".jl": "julia", ".m": "matlab", ".mo": "modelica",
    ".fmu": "fmu", ".tex": "latex", ".mml": "mathml",
}  # fmt: skip


@app.command()
def export(
    model: ModelFile,
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(_FORMATS)}. Default: from the suffix of --out, else text."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write. Default: standard output.")
    ] = None,
    units: PrintedUnits = "",
    as_json: Json = False,
) -> None:
    """Export a model's equations as text, LaTeX, MathML or SymPy, or the whole model with its
    residual as Python, C, Julia, MATLAB or Modelica source or as a compiled FMU.
    """
    ending = "" if out is None else out.suffix.lower()
    chosen = _BY_ENDING.get(ending, "text") if format is None else format.lower()
    one_of(chosen, list(_FORMATS), "--format")
    if out is not None:
        check_file(out)
        if out.resolve() == model.resolve():
            raise InputError(f"--out must not be the model file itself; got '{out}' for both.")
    if chosen == "fmu" and out is None:
        raise InputError("--format fmu writes a file; name it, as in --out model.fmu.")
    printed = printed_units_in(units)
    if printed and chosen not in _WITH_UNITS:
        raise InputError(
            f"--units requires --format {', '.join(_WITH_UNITS)}. The format {chosen} always uses "
            "the units of the fit."
        )
    from .. import load
    from .._common.files import atomic_write

    fitted = load(model)
    fitted = fitted.in_units(printed) if printed else fitted
    text = "" if chosen == "fmu" else _written(fitted, chosen)
    if out is not None and chosen == "fmu":
        fitted.to_fmu(out)
    elif out is not None:
        with atomic_write(out) as stream:
            stream.write(text.encode())
    if as_json:
        result = {"text": text} if out is None else {"out": str(out)}
        return print_json({"model": str(model), "format": chosen, **result})
    if out is None:
        sys.stdout.write(text)
    else:
        print_files(terminal(), [out])


def _written(fitted: Any, form: str) -> str:
    from ..export import sympy_source

    if form == "sympy":
        return sympy_source(fitted.shown_field(), fitted.output_names_)
    written = fitted.equations() if form == "text" else getattr(fitted, f"to_{form}")()
    return written if isinstance(written, str) else "\n".join(written) + "\n"
