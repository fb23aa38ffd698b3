"""Writes tables as CSV."""

import csv
import io
import os
from collections.abc import Mapping

import numpy as np

from ..._files import atomic_write


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Writes columns of numbers as CSV; the file appears whole or not at all."""
    arrays = [np.asarray(column) for column in columns.values()]
    with atomic_write(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(array.tolist() for array in arrays), strict=True))
        text.flush()
        text.detach()
