"""The command that refines a model's constants by matching trajectories."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.progress import working
from ._app import Json, ModelFile, Tables, app
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


@app.command()
@reads_tables
def refine(
    model: ModelFile,
    data: Tables,
    out: Annotated[Path | None, typer.Option(help="Model file to write.")] = None,
    time: Annotated[str | None, typer.Option(help="Column with the times, if renamed.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Refine a model's constants so that its trajectories match the measured ones."""
    if out is not None:
        check_file(out, "model.orthoreg")
    with working("Starting"):
        from .. import load
        from ._work import coefficient_dict, runs_for

    with collected_warnings() as notes:
        with working("Reading the table"):
            old = load(model)
            runs = runs_for(old, data, time, group, reading)
        with working("Matching trajectories"):
            new = old.refine(runs)
        if out is not None:
            new.save(out)
    if as_json:
        return print_json(
            {
                **data_entries(paths_of(data), runs),
                "equations": new.equations(),
                "before": old.equations(),
                "coefficients": coefficient_dict(new),
                **_refinement_entries(new),
                "model": None if out is None else str(out),
                "warnings": notes,
            }
        )
    console = terminal()
    print_reading(console, name_of(data), runs)
    console.print()
    print_equations(console, new.equations())
    assert new.refinement_ is not None
    status = new.refinement_.status
    console.print(f"\n{status[0].upper()}{status[1:]}.", markup=False)
    if out is not None:
        print_files(console, [out])


def _refinement_entries(model: Any) -> dict[str, Any]:
    """'refinement': what was gained, and the 95% interval of each constant."""
    found = model.refinement_
    assert found is not None
    ends = found.interval()
    names = [f"{model.output_names_[c]}': {model.feature_names_[k]}" for c, k in found.places]
    names += found.parameters
    return {
        "status": found.status,
        "kept": found.kept,
        "error_before": found.error_before,
        "error_after": found.error_after,
        "intervals": {}
        if ends is None
        else {name: pair.tolist() for name, pair in zip(names, ends, strict=True)},
    }
