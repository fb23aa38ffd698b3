"""A line of the results of a case."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

_DEFAULT = Path(__file__).parents[3] / "shared" / "data"


@final
@dataclass(frozen=True)
class Line:
    """A value per seed or a text, with bounds as target."""

    what: str
    values: Sequence[float] | None = None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    text: str = ""

    @property
    def met(self) -> bool | None:
        """Whether all values are within the bounds, or None without a target."""
        if self.values is None or (self.at_most is None and self.at_least is None):
            return None
        high = np.inf if self.at_most is None else self.at_most
        low = -np.inf if self.at_least is None else self.at_least
        return bool(all(low <= value <= high for value in self.values))

    def record(self) -> dict[str, Any]:
        bounds = {"at most": self.at_most, "at least": self.at_least}
        return {
            "what": self.what,
            "values": None if self.values is None else [rounded(v) for v in self.values],
            "unit": self.unit,
            "target": {kind: value for kind, value in bounds.items() if value is not None},
            "met": self.met,
            "text": self.text,
        }


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def data_file(name: str) -> Path | None:
    """Return a file in the folder `ORTHOREG_DATA`, or None if it does not exist."""
    file = Path(os.environ.get("ORTHOREG_DATA", _DEFAULT)) / name
    return file if file.exists() else None


def relative_rms(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Return the RMS of the difference, divided by the RMS of the truth."""
    return float(np.sqrt(np.mean((estimate - truth) ** 2) / np.mean(truth**2)))


def coefficients(model: Any, equation: int) -> dict[str, float]:
    """Return the active terms of an equation with their coefficients."""
    row = zip(model.feature_names_, model.coefficients_[equation].tolist(), strict=True)
    return {name: value for name, value in row if value}


def largest_error(estimates: dict[str, float], truth: dict[str, float]) -> float:
    """Return the largest error of the true constants in percent. A missing term counts as 100."""
    return 100 * max(abs(estimates.get(name, 0.0) / value - 1) for name, value in truth.items())
