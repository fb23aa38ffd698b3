"""The file of a finished job: its description, its rows and a checksum."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from orthoreg import InputError
from orthoreg._common.files import atomic_write

from ._encoding import Record, canonical, decode, encode_plain
from ._job import Job

FORMAT = "orthoreg-job-1"


def result_path(job: Job, folder: Path) -> Path:
    return folder / f"{job.digest}.json"


def write_result(job: Job, rows: Any, folder: Path) -> None:
    """Write the file atomically. The same job and rows give the same bytes."""
    content = {"format": FORMAT, **job.description, "records": _encoded_rows(rows, job)}
    content["checksum"] = _checksum(content)
    with atomic_write(result_path(job, folder)) as stream:
        stream.write(json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


def read_result(job: Job, folder: Path) -> list[Record] | None:
    """Return the rows of a job, or None if its file is missing, damaged or of another job."""
    try:
        content = json.loads(result_path(job, folder).read_bytes())
        stated = content.pop("checksum")
        if stated != _checksum(content) or content["format"] != FORMAT:
            return None
        described = {name: content[name] for name in ("function", "version", "spec")}
        if canonical(described) != canonical(job.description):
            return None
        return [{name: decode(one) for name, one in row.items()} for row in content["records"]]
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None  # not JSON, or JSON with another structure


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()


def _encoded_rows(rows: Any, job: Job) -> list[dict[str, Any]]:
    rows = list(rows) if isinstance(rows, Iterable) and not isinstance(rows, Mapping) else None
    if rows is None or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            f"{job.function.__name__} must return a list of rows, each of them a dictionary."
        )
    for row in rows:
        for name in row:
            if not isinstance(name, str):
                raise InputError(f"The columns of a row must have text names; got {name!r}.")
    return [
        {name: encode_plain(value, f"Column '{name}' of row {i}") for name, value in row.items()}
        for i, row in enumerate(rows)
    ]
