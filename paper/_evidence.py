"""Means and standard deviations over seeds from records, and the parts of a verdict."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"

LABELS = {
    "recommended": "Recommended",
    "base": "Base library",
    "discovery": "Discovery",
    "truth": "True equations",
    "pysindy": "PySINDy",
    "operon": "Operon",
    "pure@0.001": "Pure, μ = 0.001",
    "pure@0.003": "Pure, μ = 0.003",
    "stlsq": "STLSQ",
    "l2": "L2 hybrid",
    "orthoreg": "OrthoReg, paper",
    "validated": "OrthoReg, validated",
    "projection": "Projection",
    "pinn": "PINN",
    "universal-ode": "Universal ODE",
}
"""The name of each method in texts and legends."""

Row = Mapping[str, Any]


class MissingRecordsError(Exception):
    """Records that a claim needs are missing. The message names them."""


@final
@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over seeds. `count` is the number of values.

    If there are no values, for instance because no rollout was completed, the mean is NaN.
    """

    mean: float
    std: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Spread":
        """Return the mean and standard deviation of the values that are numbers."""
        known = np.array([value for value in values if value is not None and not math.isnan(value)])
        if not len(known):
            return cls(math.nan, 0.0, 0)
        finite = bool(np.isfinite(known).all())
        std = float(known.std(ddof=1)) if len(known) > 1 and finite else 0.0
        return cls(float(known.mean()), std, len(known))

    def __str__(self) -> str:
        if not self.count:
            return "no value"
        return f"{self.mean:.3g} ± {self.std:.2g}"


@final
@dataclass(frozen=True)
class Evidence:
    """Values by setting, method and metric, each with its seeds."""

    values: Mapping[tuple[str, str, str], Mapping[int, float | None]]

    @classmethod
    def from_records(cls, records: Iterable[Row]) -> "Evidence":
        """Build from rows with setting, method, seed, metric and value."""
        values: dict[tuple[str, str, str], dict[int, float | None]] = {}
        for row in records:
            key = (row["setting"], row["method"], row["metric"])
            values.setdefault(key, {})[int(row["seed"])] = row["value"]
        return cls(values)

    def get(self, setting: str, method: str, metric: str) -> Spread | None:
        """Return the values, or None without records."""
        by_seed = self.values.get((setting, method, metric))
        return None if by_seed is None else Spread.of(by_seed.values())

    def seeds(self, setting: str, method: str, metric: str) -> dict[int, float]:
        """Return the numbers by seed."""
        by_seed = self.values.get((setting, method, metric), {})
        return {seed: value for seed, value in sorted(by_seed.items()) if value is not None}

    def require(self, settings: Sequence[str], methods: Sequence[str], *metrics: str) -> None:
        """Raise `MissingRecordsError` unless every combination has records."""
        lacking = []
        for setting in settings:
            absent = {
                method: [m for m in metrics if (setting, method, m) not in self.values]
                for method in methods
            }
            parts = [f"{method} ({', '.join(names)})" for method, names in absent.items() if names]
            if parts:
                lacking.append(f"{setting}: {', '.join(parts)}")
        if lacking:
            raise MissingRecordsError("missing records: " + "; ".join(lacking))

    def of(self, setting: str, method: str, metric: str) -> Spread:
        """Return values that `require` has checked to exist."""
        return Spread.of(self.values[setting, method, metric].values())


def is_ahead(ours: Spread, other: Spread, *, lower: bool, share: float = 0.0) -> bool:
    """Return whether `ours` is better by more than the larger standard deviation.

    With `share`, the difference must also exceed this fraction of the other mean. A method without
    values is never ahead.
    """
    if not ours.count or not other.count:
        return ours.count > 0
    lead = other.mean - ours.mean if lower else ours.mean - other.mean
    return lead > max(ours.std, other.std, share * abs(other.mean))


def best(spreads: Mapping[str, Spread], *, lower: bool) -> str:
    """Return the name with the best mean. Names without values are last."""
    worst = math.inf if lower else -math.inf

    def mean(name: str) -> float:
        return spreads[name].mean if spreads[name].count else worst

    return min(spreads, key=mean) if lower else max(spreads, key=mean)


@final
@dataclass(frozen=True)
class Part:
    """One of the statements of a claim."""

    text: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.text} [{'yes' if self.holds else 'no'}]"


@final
@dataclass(frozen=True)
class Reading:
    """The outcome for one interpretation of a claim."""

    name: str
    verdict: str
    numbers: str

    @classmethod
    def from_parts(cls, name: str, parts: Sequence[Part], extra: str = "") -> "Reading":
        """Build a reading that holds if every part holds."""
        verdict = HOLDS if all(part.holds for part in parts) else FAILS
        return cls(name, verdict, "; ".join([*map(str, parts), *([extra] if extra else [])]))


@final
@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    `verdict` and `numbers` are those of the first reading, which is closest to the paper. `why`
    explains differences between readings. `paper` has the numbers of the paper.
    """

    number: int
    claim: str
    labels: tuple[str, ...]
    rule: str
    paper: str
    readings: tuple[Reading, ...]
    why: str = ""

    @property
    def verdict(self) -> str:
        return self.readings[0].verdict

    @property
    def numbers(self) -> str:
        return self.readings[0].numbers

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"verdict": self.verdict, "numbers": self.numbers}
