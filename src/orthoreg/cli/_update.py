"""Commands that fit the constants of a model to new data: `adapt`, `refine` and `update`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.notation import left_side, next_values
from .._common.progress import working
from ._app import GroupColumn, Json, ModelFile, ModelOut, Tables, TimeColumn, app, options_of
from ._arguments import check_file
from ._output import (
    collected_warnings,
    data_entries,
    in_options,
    print_equations,
    print_files,
    print_json,
    print_reading,
    terminal,
)
from ._reading import name_of, paths_of, reads_tables

if TYPE_CHECKING:
    from ..data import Dataset
    from ..matching import Refinement
    from ..model.model import AbstractModel


@app.command()
@reads_tables
def adapt(
    model: ModelFile,
    data: Tables,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Refit a model's coefficients to new data, with the same terms and residual."""
    check_file(out, "model.orthoreg")
    with collected_warnings() as notes:
        old, runs = _model_and_runs(model, data, time, group, reading)
        with working("Refitting the coefficients"):
            new = old.adapt(runs)
        new.save(out)
    if as_json:
        entries = _entries(data, runs, old, new) | {"certificate": new.certificate_.as_dict()}
        return print_json(entries | {"model": str(out), "warnings": notes})
    _print(data, runs, new)
    print_files(terminal(), [out])


@app.command()
@reads_tables
def refine(
    model: ModelFile,
    data: Tables,
    out: ModelOut = None,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Refine a model's constants so that its trajectories match the measured runs."""
    if out is not None:
        check_file(out, "model.orthoreg")
    with collected_warnings() as notes:
        old, runs = _model_and_runs(model, data, time, group, reading)
        with working("Matching trajectories"):
            new = old.refine(runs)
        if out is not None:
            new.save(out)
    refinement = new.refinement_
    assert refinement is not None
    if as_json:
        entries = _entries(data, runs, old, new) | _refinement_entries(new, refinement)
        return print_json(entries | {"model": None if out is None else str(out), "warnings": notes})
    _print(data, runs, new)
    status = refinement.status
    terminal().print(f"\n{status[0].upper()}{status[1:]}.", markup=False)
    if out is not None:
        print_files(terminal(), [out])


@app.command()
@reads_tables
def update(
    model: ModelFile,
    data: Tables,
    out: Annotated[Path, typer.Option(help="Model file to write; may be the file of the model.")],
    forgetting: Annotated[
        float,
        typer.Option(
            help="Factor by which each new row reduces the weight of the old rows, such as 0.99; 1 "
            "keeps their weight."
        ),
    ] = 1.0,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Add new data to a model without the old data, and test whether its constants drift."""
    check_file(out, "model.orthoreg")
    with collected_warnings() as notes:
        old, runs = _model_and_runs(model, data, time, group, reading)
        with working("Adding the new data"):
            new = old.update(runs, forgetting=forgetting)
        with working("Comparing the model with the data"):
            summary = new.summary(runs)
        new.save(out)
    drift = new.drift_
    assert drift is not None
    if as_json:
        from ._work import physics_entries

        entries = _entries(data, runs, old, new) | physics_entries(new)
        entries |= {"drift": drift.to_dict(), "verdict": asdict(summary.verdict)}
        return print_json(entries | {"model": str(out), "warnings": notes})
    from ..findings._text import term_table

    _print(data, runs, new)
    console = terminal()
    console.print(f"{drift}", markup=False, soft_wrap=True)
    if drift.advice and forgetting == 1:
        console.print(in_options(drift.advice, options_of("update")), markup=False, soft_wrap=True)
    console.print(f"On the new data: {summary.verdict.text}\n", markup=False, soft_wrap=True)
    terms = term_table(summary)
    if terms is not None:
        console.print(terms)
        console.print()
    print_files(console, [out])


def _model_and_runs(
    model: Path, data: list[Path], time: str | None, group: str | None, reading: dict[str, Any]
) -> "tuple[AbstractModel, Dataset]":
    """Return the model in a file and the runs in tables."""
    with working("Starting"):
        from .. import load
        from ._work import runs_for

    with working("Reading the table"):
        fitted = load(model)
        return fitted, runs_for(fitted, data, time, group, reading)


def _entries(
    data: list[Path], runs: "Dataset", old: "AbstractModel", new: "AbstractModel"
) -> dict[str, Any]:
    """Return the JSON entries common to all these commands."""
    from ._work import coefficient_dict

    return {
        **data_entries(paths_of(data), runs),
        "equations": new.equations(),
        "before": old.equations(),
        "coefficients": coefficient_dict(new),
    }


def _refinement_entries(model: "AbstractModel", refinement: "Refinement") -> dict[str, Any]:
    """Return the status and errors of a refinement, and the 95% interval of each constant."""
    intervals = refinement.interval()
    labels = next_values(model.output_names_) if model.schema_.discrete else model.output_names_
    names = [f"{left_side(labels[c])}: {model.feature_names_[k]}" for c, k in refinement.places]
    names += refinement.parameters
    return {
        "status": refinement.status,
        "kept": refinement.kept,
        "error_before": refinement.error_before,
        "error_after": refinement.error_after,
        "intervals": {}
        if intervals is None
        else {name: pair.tolist() for name, pair in zip(names, intervals, strict=True)},
    }


def _print(data: list[Path], runs: "Dataset", new: "AbstractModel") -> None:
    """Print a description of the data and the new equations."""
    console = terminal()
    print_reading(console, name_of(data), runs)
    console.print()
    print_equations(console, new.equations())
