"""Commands that fit the constants of a model to new data: `adapt` and `refine`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._common.notation import left_side, next_values
from .._common.progress import working
from ._app import GroupColumn, Json, ModelFile, ModelOut, Tables, TimeColumn, app
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


def _model_and_runs(
    model: Path, data: list[Path], time: str | None, group: str | None, reading: dict[str, Any]
) -> "tuple[AbstractModel, Dataset]":
    """Return the model from a file and the runs from tables."""
    with working("Starting"):
        from .. import load
        from ._work import runs_for

    with working("Reading the table"):
        fitted = load(model)
        return fitted, runs_for(fitted, data, time, group, reading)


def _entries(
    data: list[Path], runs: "Dataset", old: "AbstractModel", new: "AbstractModel"
) -> dict[str, Any]:
    """Return the JSON entries common to both commands."""
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
