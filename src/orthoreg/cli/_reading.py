"""The options of every command that reads a table, declared once."""

import inspect
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from .._common.errors import InputError
from ._arguments import delimiter_in, names_in

_PANEL = "Reading the table"


def _option(words: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=words, rich_help_panel=_PANEL, **more)


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "delimiter": (
        Annotated[
            str | None,
            _option(
                "Sign between columns: a character, or tab, semicolon, space. Found out if not "
                "given.",
                callback=delimiter_in,
            ),
        ],
        None,
    ),
    "decimal": (Annotated[str | None, _option("Sign of decimals, '.' or ','.")], None),
    "encoding": (Annotated[str | None, _option("Of the text: utf-8, utf-16, latin-1, ...")], None),
    "comment": (Annotated[str | None, _option("Sign that comment lines begin with.")], None),
    "missing": (
        Annotated[str, _option("Further marks of missing values, separated by commas: -999,off.")],
        "",
    ),
    "date_format": (
        Annotated[str | None, _option("Of dates in the time column, such as '%d/%m/%Y %H:%M'.")],
        None,
    ),
    "time_unit": (
        Annotated[
            str | None,
            _option(
                "Unit of the times, and so of all rates: ns, us, ms, s, min, h or d. Dates, and "
                "numbers with a unit in the header, are converted to it."
            ),
        ],
        None,
    ),
    "sheet": (
        Annotated[str | None, _option("Sheet of an Excel file; the first if not given.")],
        None,
    ),
    "long": (
        Annotated[
            str | None,
            _option("Columns of a long table with names and values, as sensor:reading."),
        ],
        None,
    ),
    "repair": (
        Annotated[
            bool,
            _option(
                "Leave out rows with missing values, sort times, average rows of one time, cut "
                "runs at gaps; each repair is listed.",
                "--repair",
            ),
        ],
        False,
    ),
    "fill": (
        Annotated[
            bool,
            _option(
                "Repair, and fill in values missing between measured ones along a smooth curve.",
                "--fill",
            ),
        ],
        False,
    ),
    "chunks": (
        Annotated[
            int | None,
            _option(
                "Rows at a time, in whole runs, of tables that do not fit into memory; "
                "262144 beyond 2 GiB of files.",
                min=100,
            ),
        ],
        None,
    ),
    "gap": (Annotated[float, _option("Time steps that a gap is longer than.")], 10.0),
}


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options above in the place of its parameter `reading`, which gets them as
    arguments of `read_table`."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command).parameters.values():
        if one.name != "reading":
            parameters.append(one.replace(annotation=hints[one.name], kind=one.KEYWORD_ONLY))
            continue
        for name, (annotation, default) in _OPTIONS.items():
            hints[name] = annotation
            parameters.append(one.replace(name=name, annotation=annotation, default=default))
    del hints["reading"]

    def wrapped(**given: Any) -> None:
        reading = {name: given.pop(name) for name in _OPTIONS}
        reading["missing"] = names_in(reading["missing"])
        reading["long"] = _pair(reading["long"])
        command(**given, reading=reading)

    wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
    wrapped.__annotations__ = hints
    wrapped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return wrapped


def _pair(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    name, colon, value = (part.strip() for part in text.partition(":"))
    if not (name and colon and value):
        raise InputError(
            f"--long must be two columns, that of names and that of values, as sensor:reading; "
            f"got '{text}'."
        )
    return name, value


def in_unit_of(model: Any, reading: dict[str, Any]) -> dict[str, Any]:
    """How to read a table for a model: with times in the unit of the model, unless one is asked
    for."""
    from ..data.tables import time_unit_in

    fitted = time_unit_in(model.units_.get(model.columns_["time"]))
    return {**reading, "time_unit": reading["time_unit"] or fitted}


def source_of(files: Sequence[Path]) -> Any:
    """What `read_table` reads: one file, pattern or address, or many files."""
    found = [_address(file) for file in files]
    return found[0] if len(found) == 1 else found


def _address(file: Path) -> Path | str:
    """An address such as s3://bucket/runs, in which a path has lost a slash, or the path."""
    found = re.fullmatch(r"([a-z][a-z0-9+.-]+):/+(.*)", file.as_posix())
    return file if found is None else f"{found[1]}://{found[2]}"


def paths_of(files: Sequence[Path]) -> str | list[str]:
    """The paths of the tables as they were written."""
    return str(files[0]) if len(files) == 1 else [str(file) for file in files]


def name_of(files: Sequence[Path]) -> str:
    """What to call the tables."""
    return files[0].name if len(files) == 1 else f"{len(files)} tables"


def stem_of(files: Sequence[Path]) -> str:
    """What to call a file made from the tables: a pattern or several by their folder."""
    first = files[0]
    if len(files) == 1 and not set("*?[") & set(first.name):
        return first.stem
    folder = first.resolve().parent.name
    return folder if folder and not set("*?[") & set(folder) else "tables"
