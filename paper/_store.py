"""Records as one small table: a line for each setting, method and metric, seeds as columns."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

from orthoreg import InputError

from .sweeps import Record

_DIGITS = 7
_PLACE = ("setting", "method", "metric")


def rounded(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """The records with the digits that the table keeps."""
    return [
        {
            **record,
            "value": None if record["value"] is None else float(f"{record['value']:.{_DIGITS}g}"),
        }
        for record in records
    ]


def to_table(records: Iterable[Mapping[str, Any]]) -> str:
    """CSV text; a value that is not defined is empty."""
    lines: dict[tuple[str, ...], dict[int, Any]] = {}
    for record in records:
        place = tuple(record[name] for name in _PLACE)
        lines.setdefault(place, {})[record["seed"]] = record["value"]
    seeds = sorted({seed for line in lines.values() for seed in line})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_PLACE, *seeds])
    for place, line in lines.items():
        writer.writerow([*place, *(_text(line, seed) for seed in seeds)])
    return stream.getvalue()


def _text(line: Mapping[int, Any], seed: int) -> str:
    if seed not in line:
        return "-"
    value = line[seed]
    if value is None or math.isnan(value):
        return ""
    return f"{value:.{_DIGITS}g}"


def from_table(text: str) -> list[Record]:
    """The records that `to_table` was given, to its digits."""
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or tuple(lines[0][:3]) != _PLACE or not all(map(str.isdecimal, lines[0][3:])):
        raise InputError(f"A table of records begins with {', '.join(_PLACE)} and seeds.")
    seeds = [int(seed) for seed in lines[0][3:]]
    return [
        {
            **dict(zip(_PLACE, line[:3], strict=True)),
            "seed": seed,
            "value": None if value == "" else float(value),
        }
        for line in lines[1:]
        for seed, value in zip(seeds, line[3:], strict=True)
        if value != "-"
    ]
