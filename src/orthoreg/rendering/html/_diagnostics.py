"""What the model leaves of the derivatives: does it look like noise?"""

from typing import Any

import numpy as np
from jaxtyping import Float

from ...data import Dataset
from ...export import equation_names
from ..views import evenly, share_shown, variable_label
from ._data import Against, Diagnostics
from ._numbers import short
from ._slopes import Slopes

_MOST_EQUATIONS = 4
_MOST_VARIABLES = 6
_POINTS = 350
_MOST_BINS = 14
_FEWEST = 4  # rows of a bin
_MOST_LAGS = 40
_ALMOST_EXACT = 1e-7  # of the derivative's size: rounding, which looks like nothing

NOTE = (
    "Errors are relative to the size of each derivative. Derivatives estimated from neighbouring "
    "rows have correlated errors over a few rows: correlation at small lags alone is no evidence "
    "against the equations."
)


def diagnostics_of(model: Any, seen: Slopes) -> tuple[tuple[Diagnostics, ...], str]:
    """Of each learned equation the errors over lags and variables; a note, or why there is none."""
    if seen.values is None:
        return (), f"The errors of the derivatives are not known here: {seen.reason}"
    rows, slopes = seen.rows, seen.values
    with np.errstate(all="ignore"):
        errors = slopes - np.asarray(model.predict(rows))
    size = np.sqrt(np.square(slopes).mean(axis=0))
    errors = errors / np.where(size > 0, size, 1.0)
    errors = np.where(np.isfinite(errors), errors, 0.0)
    learned = model.learned_equations()
    spread = np.sqrt(np.square(errors).mean(axis=0))
    order = np.argsort(-spread[learned], kind="stable")[:_MOST_EQUATIONS]
    shown = [learned[i] for i in order]
    labels = equation_names(model.output_names_, model.velocity_of_)
    found = tuple(_diagnostics(rows, errors[:, c], f"{labels[c]}'") for c in shown)
    note = share_shown(len(shown), len(learned), "equations", ": those with the largest error")
    exact = [labels[c] for c in shown if spread[c] < _ALMOST_EXACT]
    if exact:
        note = f"{note} {', '.join(exact)}: these errors are rounding.".strip()
    return found, f"{NOTE} {note}".strip()


def _diagnostics(rows: Dataset, errors: Float[np.ndarray, " N"], label: str) -> Diagnostics:
    correlation, count = _autocorrelation(rows, errors)
    variables = rows.variables
    against = tuple(
        _against(variable_label(rows, k), variables[:, k], errors)
        for k in range(min(variables.shape[1], _MOST_VARIABLES))
    )
    return Diagnostics(
        label,
        list(range(len(correlation))),
        short(correlation, 3),
        1.96 / np.sqrt(max(count, 1)),
        against,
    )


def _autocorrelation(
    rows: Dataset, errors: Float[np.ndarray, " N"]
) -> tuple[Float[np.ndarray, " lags"], int]:
    """Over all runs together, about the mean of all; and the number of rows."""
    longest = int(rows.run_lengths.max())
    lags = min(_MOST_LAGS, max(longest // 3, 1))
    centred = errors - errors.mean()
    total = float(np.square(centred).sum())
    result = np.zeros(lags + 1)
    run = rows.run_of_row
    for lag in range(lags + 1):
        end = len(centred) - lag
        same = run[:end] == run[lag:]
        result[lag] = float((centred[:end] * centred[lag:])[same].sum())
    return result / max(total, 1e-300), len(errors)


def _against(
    label: str, variable: Float[np.ndarray, " N"], errors: Float[np.ndarray, " N"]
) -> Against:
    some = evenly(len(errors), _POINTS)
    order = np.argsort(variable, kind="stable")
    bins = int(np.clip(len(errors) // (2 * _FEWEST), 2, _MOST_BINS))
    parts = [part for part in np.array_split(order, bins) if len(part) >= _FEWEST]
    centres = np.array([variable[part].mean() for part in parts])
    means = np.array([errors[part].mean() for part in parts])
    spread = np.array([errors[part].std() / np.sqrt(len(part)) for part in parts])
    return Against(
        label, short(variable[some]), short(errors[some], 4), short(centres), short(means, 4),
        short(1.96 * spread, 4),
    )  # fmt: skip
