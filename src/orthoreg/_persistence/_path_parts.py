"""The paths of a selection in a model file: the terms of each size, and their errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._errors import ModelFileError
from ..selection import EquationPath, SelectionResult
from ._recipes import decode, encode

_NUMBERS = ("n_terms", "inner", "outer", "standard_error")


def path_parts(selected: SelectionResult | None) -> dict[str, Any] | None:
    """The paths as plain data; what the terms were chosen from is not kept."""
    if selected is None or not selected.paths:
        return None
    paths = [
        {name: encode(getattr(path, name).tolist()) for name in _NUMBERS}
        | {
            "supports": [np.flatnonzero(row).tolist() for row in path.supports],
            "chosen": int(path.chosen),
        }
        for path in selected.paths
    ]
    return {"paths": paths, "left_out": list(selected.left_out)}


def paths_from_parts(
    entries: Mapping[str, Any] | None, shape: tuple[int, ...]
) -> SelectionResult | None:
    """The selection that `path_parts` described, for coefficients of this shape."""
    if entries is None:
        return None
    paths = [_path(one, shape[1]) for one in entries["paths"]]
    if len(paths) != shape[0]:
        raise ModelFileError("The model file is inconsistent: a path of terms is missing.")
    support = np.stack([path.support for path in paths])
    return SelectionResult(support, tuple(paths), left_out=tuple(map(str, entries["left_out"])))


def _path(entries: Mapping[str, Any], n_terms: int) -> EquationPath:
    numbers = {name: np.array(decode(entries[name]), dtype=float) for name in _NUMBERS}
    supports = _supports(entries["supports"], n_terms)
    chosen = int(entries["chosen"])
    sizes = {len(supports), *(len(values) for values in numbers.values())}
    if len(sizes) != 1 or not 0 <= chosen < len(supports):
        raise ModelFileError("The model file is inconsistent: a path of terms does not fit.")
    none = np.zeros((0, n_terms), dtype=bool)
    counts = numbers.pop("n_terms").astype(np.int64)
    return EquationPath(counts, supports, **numbers, chosen=chosen, contenders=none)


def _supports(rows: Sequence[Sequence[int]], n_terms: int) -> np.ndarray:
    result = np.zeros((len(rows), n_terms), dtype=bool)
    for place, row in enumerate(rows):
        if not all(isinstance(k, int) and 0 <= k < n_terms for k in row):
            raise ModelFileError(
                "The model file is inconsistent: a path names a term that is none."
            )
        result[place, list(row)] = True
    return result
