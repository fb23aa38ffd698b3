"""One thing that a case measures."""

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
    """What was measured: a value for each seed or a text, and the bounds that it should keep."""

    what: str
    values: Sequence[float] | None = None
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    text: str = ""

    @property
    def met(self) -> bool | None:
        """Whether all values keep the bounds; None where there is none."""
        if self.values is None or (self.at_most is None and self.at_least is None):
            return None
        most = np.inf if self.at_most is None else self.at_most
        least = -np.inf if self.at_least is None else self.at_least
        return bool(all(least <= value <= most for value in self.values))

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
    """A file of the folder that ORTHOREG_DATA names, if it is there."""
    file = Path(os.environ.get("ORTHOREG_DATA", _DEFAULT)) / name
    return file if file.exists() else None


def relative_rms(found: np.ndarray, truth: np.ndarray) -> float:
    """RMS of the difference, in RMS of the truth."""
    return float(np.sqrt(np.mean((found - truth) ** 2) / np.mean(truth**2)))


def coefficients(model: Any, equation: int) -> dict[str, float]:
    """The terms of one equation that are in use."""
    row = zip(model.feature_names_, model.coefficients_[equation].tolist(), strict=True)
    return {name: value for name, value in row if value}


def largest_error(found: dict[str, float], truth: dict[str, float]) -> float:
    """Of the constants of the truth, in percent; a term that was not found errs by 100."""
    return 100 * max(abs(found.get(name, 0.0) / value - 1) for name, value in truth.items())
