"""The command that refits a model's coefficients to another system of the same make."""

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
def adapt(
    model: ModelFile,
    data: Tables,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    time: Annotated[str | None, typer.Option(help="Column with the times, if renamed.")] = None,
    group: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Refit a model's coefficients to new data; its terms and residual stay."""
    check_file(out, "model.orthoreg")
    with working("Starting"):
        from .. import load
        from ._work import coefficient_dict, runs_for

    with collected_warnings() as notes:
        with working("Reading the table"):
            old = load(model)
            runs = runs_for(old, data, time, group, reading)
        with working("Refitting the coefficients"):
            new = old.adapt(runs)
        new.save(out)
    if as_json:
        return print_json(
            {
                **data_entries(paths_of(data), runs),
                "equations": new.equations(),
                "before": old.equations(),
                "coefficients": coefficient_dict(new),
                "certificate": new.certificate_.as_dict(),
                "model": str(out),
                "warnings": notes,
            }
        )
    console = terminal()
    print_reading(console, name_of(data), runs)
    console.print()
    print_equations(console, new.equations())
    print_files(console, [out])
