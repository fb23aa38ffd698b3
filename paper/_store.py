"""Records as a compact table: a line for each setting, method and metric, seeds as columns."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

from orthoreg import InputError

from .sweeps import Record

_DIGITS = 7
_KEY = ("setting", "method", "metric")


def rounded(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Return the records, rounded to the digits of the table."""
    return [
        {
            **record,
            "value": None if record["value"] is None else float(f"{record['value']:.{_DIGITS}g}"),
        }
        for record in records
    ]


def to_table(records: Iterable[Mapping[str, Any]]) -> str:
    """Return CSV text. Undefined values are empty."""
    lines: dict[tuple[str, ...], dict[int, Any]] = {}
    for record in records:
        key = tuple(record[name] for name in _KEY)
        lines.setdefault(key, {})[record["seed"]] = record["value"]
    seeds = sorted({seed for line in lines.values() for seed in line})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_KEY, *seeds])
    for key, line in lines.items():
        writer.writerow([*key, *(_text(line, seed) for seed in seeds)])
    return stream.getvalue()


def _text(line: Mapping[int, Any], seed: int) -> str:
    if seed not in line:
        return "-"
    value = line[seed]
    if value is None or math.isnan(value):
        return ""
    return f"{value:.{_DIGITS}g}"


def from_table(text: str) -> list[Record]:
    """Return the records of a table that `to_table` wrote."""
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or tuple(lines[0][:3]) != _KEY or not all(map(str.isdecimal, lines[0][3:])):
        raise InputError(f"A table of records begins with {', '.join(_KEY)} and seeds.")
    seeds = [int(seed) for seed in lines[0][3:]]
    return [
        {
            **dict(zip(_KEY, line[:3], strict=True)),
            "seed": seed,
            "value": None if value == "" else float(value),
        }
        for line in lines[1:]
        for seed, value in zip(seeds, line[3:], strict=True)
        if value != "-"
    ]
