"""The command that writes a model's equations for other programs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .._common.errors import InputError
from ._app import Json, ModelFile, app
from ._arguments import check_file, one_of
from ._output import print_files, print_json, terminal

_FORMATS = ("text", "python", "c", "julia", "matlab", "modelica", "fmu", "latex", "mathml", "sympy")
_BY_ENDING = {
    ".txt": "text", ".py": "python", ".c": "c", ".jl": "julia", ".m": "matlab", ".mo": "modelica",
    ".fmu": "fmu", ".tex": "latex", ".mml": "mathml",
}  # fmt: skip


@app.command()
def export(
    model: ModelFile,
    format: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(_FORMATS)}; as --out ends if not given, or text."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write; printed if not given.")] = None,
    as_json: Json = False,
) -> None:
    """Write a model's equations as text, LaTeX, MathML or SymPy, or the whole model, residual
    included, as source: Python, C, Julia, MATLAB, Modelica, or compiled as an FMU."""
    ending = "" if out is None else out.suffix.lower()
    chosen = _BY_ENDING.get(ending, "text") if format is None else format.lower()
    one_of(chosen, list(_FORMATS), "--format")
    if out is not None:
        check_file(out)
        if out.resolve() == model.resolve():
            raise InputError(f"--out must not be the model file itself; got '{out}' for both.")
    if chosen == "fmu" and out is None:
        raise InputError("--format fmu writes a file; name it, as in --out model.fmu.")
    from .. import load
    from .._common.files import atomic_write

    text = "" if chosen == "fmu" else _written(load(model), chosen)
    if out is not None and chosen == "fmu":
        load(model).to_fmu(out)
    elif out is not None:
        with atomic_write(out) as stream:
            stream.write(text.encode())
    if as_json:
        place = {"text": text} if out is None else {"out": str(out)}
        return print_json({"model": str(model), "format": chosen, **place})
    if out is None:
        sys.stdout.write(text)
    else:
        print_files(terminal(), [out])


def _written(fitted: Any, form: str) -> str:
    from ..export import sympy_source

    if form == "sympy":
        return sympy_source(fitted.field_, fitted.output_names_)
    written = fitted.equations() if form == "text" else getattr(fitted, f"to_{form}")()
    return written if isinstance(written, str) else "\n".join(written) + "\n"
