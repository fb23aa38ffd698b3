"""The `explain` command.

It stores its proposals beside the report, so that `--accept` does not repeat the search.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import typer

from .. import __version__
from .._common.errors import InputError
from .._common.files import atomic_write
from .._common.progress import working
from ._app import (
    GroupColumn,
    Json,
    Minutes,
    ModelFile,
    ModelOut,
    Tables,
    TimeColumn,
    app,
    command_line,
)
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
    from ..model.explanation import Addition, Explanation
    from ..model.model import AbstractModel


@final
@dataclass(frozen=True)
class StoredExplanation:
    """Proposals as printed, and the additions to the library that accept them."""

    text: str
    entries: dict[str, Any]
    additions: "tuple[Addition, ...]"

    def addition(self, number: int) -> "Addition":
        """Return the addition to the library that accepts proposal `number`."""
        if not 0 <= number < len(self.additions):
            raise InputError(
                f"There are {len(self.additions)} proposals, counted from 0; got {number}."
            )
        return self.additions[number]


def search_key(model: Path, data: "Dataset", functions_of_time: bool) -> str:
    """Return a hash of everything that determines the proposals: model file, data, option and
    program version.
    """
    import numpy as np

    key = hashlib.sha256(model.read_bytes())
    names = [data.variable_names, data.state_names, sorted(data.velocity_of.items())]
    key.update(json.dumps([__version__, functions_of_time, names, data.estimated]).encode())
    for values in (data.times, data.states, data.inputs, data.derivatives, data.offsets):
        key.update(b"-" if values is None else np.ascontiguousarray(values).tobytes())
    return key.hexdigest()


def write_stored(path: Path, key: str, explanation: "Explanation") -> StoredExplanation:
    """Write the proposals to a file, and return them as read from it."""
    values = {
        "key": key,
        "text": repr(explanation),
        **explanation.to_dict(),
        "additions": [
            proposal.addition(str(i)).to_dict() for i, proposal in enumerate(explanation.proposals)
        ],
    }
    with atomic_write(path) as stream:
        stream.write(json.dumps(values, indent=1).encode())
    stored = read_stored(path, key)
    assert stored is not None
    return stored


def read_stored(path: Path, key: str) -> StoredExplanation | None:
    """Return the stored proposals, or None if they belong to another key."""
    from ..model.explanation import Addition

    try:
        values = json.loads(path.read_text())
        if values["key"] != key:
            return None
        entries = {"proposals": list(values["proposals"]), "timed_out": bool(values["timed_out"])}
        additions = tuple(Addition.from_dict(entry) for entry in values["additions"])
        return StoredExplanation(str(values["text"]), entries, additions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


Accept = Annotated[
    int | None, typer.Option(help="Number of the proposal to accept; requires --out.")
]
ReportFile = Annotated[
    Path | None,
    typer.Option(help="HTML report to write. Default: explained.html beside the model."),
]
FunctionsOfTime = Annotated[
    bool, typer.Option(help="Also propose oscillations and trends in time.")
]


@app.command()
@reads_tables
def explain(
    model: ModelFile,
    data: Tables,
    accept: Accept = None,
    out: ModelOut = None,
    report: ReportFile = None,
    minutes: Minutes = None,
    functions_of_time: FunctionsOfTime = False,
    time: TimeColumn = None,
    group: GroupColumn = None,
    *,
    reading: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Propose formulas for what a model's library lacks, with evidence for each."""
    page = report or model.with_name("explained.html")
    if (out is None) != (accept is None):
        raise InputError(
            "--accept and --out must be used together: the number of a proposal and the model "
            "file to write."
        )
    if out is not None:
        check_file(out, "model.orthoreg")
    with working("Starting"):
        from .. import load
        from .. import report as write_report
        from ..model.explanation import extended
        from ..model.validation import in_states_of
        from ._work import runs_for

    with collected_warnings() as notes:
        fitted = load(model)
        check_file(page, "report.html", "--report")
        with working("Reading the table"):
            runs = runs_for(fitted, data, time, group, reading)
        proposals = page.with_suffix(".json")
        key = search_key(model, runs, functions_of_time)
        explanation, stored = None, read_stored(proposals, key) if accept is not None else None
        if stored is None:
            with working("Searching for missing terms"):
                explanation = fitted.explain(
                    runs, minutes=minutes, functions_of_time=functions_of_time
                )
            stored = write_stored(proposals, key, explanation)
        larger = None
        if accept is not None and out is not None:
            with working("Fitting the accepted model"):
                larger = extended(fitted, [stored.addition(accept)], in_states_of(fitted, runs))
            larger.save(out)
        with working("Writing the report"):
            shown = fitted if larger is None else larger
            write_report(shown, page, runs, explanation=explanation, command=command_line())
    if as_json:
        accepted = None if larger is None else larger.equations()
        paths = {"model": None if out is None else str(out), "report": str(page)}
        entries = data_entries(paths_of(data), runs) | stored.entries | {"accepted": accepted}
        return print_json({**entries, **paths, "warnings": notes})
    console = terminal()
    print_reading(console, name_of(data), runs)
    console.print()
    _print(stored, larger)
    print_files(console, [page, proposals] if out is None else [out, page])


def _print(stored: StoredExplanation, larger: "AbstractModel | None") -> None:
    """Print the proposals, and the equations of the accepted model."""
    console = terminal()
    console.print(stored.text, markup=False)
    if larger is not None:
        console.print()
        print_equations(console, larger.equations())
    console.print()
