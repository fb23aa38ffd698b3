"""A system with known equations, and its runs."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

SPREAD = 0.15  # constants are drawn within this fraction of their usual value
_SCALARS: dict[str, Any] = {
    name: getattr(math, name) for name in ("sin", "cos", "exp", "sqrt", "tanh")
} | {"abs": abs, "sign": lambda x: (x > 0) - (x < 0)}
_ARRAYS: dict[str, Any] = {
    name: getattr(np, name) for name in ("sin", "cos", "exp", "sqrt", "tanh", "abs", "sign")
}


@final
@dataclass(frozen=True)
class Input:
    """A signal from `low` to `high`: "switch" (two levels), "steps" (random levels), both held for
    about `dwell`, or "smooth" (two sines with periods near `dwell`)."""

    kind: str
    low: float
    high: float
    dwell: float


@final
@dataclass(frozen=True)
class System:
    """Equations by state, each with the coefficients of its terms, which are formulas of the
    constants; the box of starts; the measurement; and the settings in which it is fitted.

    `fixed` names constants that are not varied. `lacking` is a library without one of the terms.
    `physics` has given equations, `known` names constants whose values are given, and `wrong` has
    given equations that lack a term. `positions` maps positions to their velocities.
    """

    name: str
    constants: Mapping[str, float]
    equations: Mapping[str, Mapping[str, str]]
    library: str
    low: tuple[float, ...]
    high: tuple[float, ...]
    last: float
    rows: int = 200
    runs: int = 5
    fixed: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    lacking: str | None = None
    physics: Mapping[str, str] | None = None
    known: tuple[str, ...] = ()
    wrong: Mapping[str, str] | None = None
    positions: Mapping[str, str] = field(default_factory=dict)
    sparse_rows: int | None = None
    settle: float = 0.0
    groups: tuple[str, ...] = ("plain",)

    @property
    def states(self) -> list[str]:
        return list(self.equations)

    def drawn(self, seed: int) -> "Drawn":
        """Return the system with constants near their usual values."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        values = {
            name: value if name in self.fixed else value * (1 + SPREAD * rng.uniform(-1, 1))
            for name, value in self.constants.items()
        }
        return Drawn(self, values)


@final
@dataclass(frozen=True, eq=False)
class Runs:
    """States and inputs of runs without noise, at the same times, and the initial states and
    signals of the runs. Held signals are values at the times, and other signals are functions."""

    times: np.ndarray
    states: list[np.ndarray]
    inputs: list[np.ndarray]
    starts: list[np.ndarray]
    signals: list[list[Any]]


@final
@dataclass(frozen=True, eq=False)
class Drawn:
    """A system with values of its constants. `changed` has coefficients, by equation and term, that
    differ from those of the constants."""

    system: System
    constants: Mapping[str, float]
    changed: Mapping[tuple[int, str], float] = field(default_factory=dict)

    @cached_property
    def coefficients(self) -> list[dict[str, float]]:
        """Return the coefficients of each equation by term."""
        return [
            {
                term: self.changed.get((c, term), float(eval(text, dict(self.constants))))
                for term, text in row.items()
            }
            for c, row in enumerate(self.system.equations.values())
        ]

    def derivatives(self, states: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return derivatives (N, n) at states (N, n) and inputs (N, m)."""
        columns = [*states.T, *inputs.T]
        return np.column_stack(
            [np.broadcast_to(value, len(states)) for value in self._slope(_ARRAYS)(*columns)]
        )

    def _slope(self, functions: dict[str, Any]) -> Any:
        names = [*self.system.states, *self.system.inputs]
        rows = [
            " + ".join(f"({value!r})*({term})" for term, value in row.items()) or "0.0"
            for row in self.coefficients
        ]
        code = f"lambda {', '.join(names)}: ({', '.join(rows)},)"
        return eval(code, dict(self.constants) | functions)

    def simulate(self, rows: int, runs: int, seed: int, last: float | None = None) -> Runs:
        """Simulate runs from random initial states, with random inputs. Inputs that jump
        are held."""
        system = self.system
        rng = np.random.default_rng([seed, 1, *system.name.encode()])
        times = np.linspace(0, system.last if last is None else last, rows)
        result = Runs(times, [], [], [], [])
        for _ in range(runs):
            start = rng.uniform(system.low, system.high)
            if system.settle:
                settling = np.array([0.0, system.settle])
                start = _integrate(self._slope(_SCALARS), start, settling, [])[-1]
            signals = [_signal(kind, times, rng) for kind in system.inputs.values()]
            result.states.append(self.solve(start, times, signals))
            result.starts.append(start)
            result.signals.append(signals)
            values = [s if isinstance(s, np.ndarray) else s(times) for s in signals]
            result.inputs.append(np.column_stack(values) if values else np.empty((rows, 0)))
        return result

    def solve(self, start: np.ndarray, times: np.ndarray, signals: list[Any]) -> np.ndarray:
        """Return the states at the times, (rows, n)."""
        slope = self._slope(_SCALARS)
        held = [isinstance(signal, np.ndarray) for signal in signals]
        if not any(held):
            return _integrate(slope, start, times, signals)
        levels = np.column_stack([s for s, h in zip(signals, held, strict=True) if h])
        jumps = 1 + np.flatnonzero(np.any(np.diff(levels, axis=0) != 0, axis=1))
        ends = [0, *jumps.tolist(), len(times) - 1]
        path = [start[None]]
        for begin, end in zip(ends[:-1], ends[1:], strict=True):
            if end > begin:
                now = [
                    (lambda t, level=float(s[begin]): level) if h else s
                    for s, h in zip(signals, held, strict=True)
                ]
                piece = _integrate(slope, path[-1][-1], times[begin : end + 1], now)
                path.append(piece[1:])
        return np.concatenate(path)


def _integrate(slope: Any, start: np.ndarray, times: np.ndarray, signals: list[Any]) -> np.ndarray:
    from scipy.integrate import solve_ivp

    solution = solve_ivp(
        lambda t, x: slope(*x.tolist(), *(signal(t) for signal in signals)),
        (times[0], times[-1]), start, "LSODA", times, rtol=1e-10,
        atol=1e-11 * (1 + np.abs(start).max()), max_step=np.inf if not signals else times[-1] / 20,
    )  # fmt: skip
    if not solution.success or not np.all(np.isfinite(solution.y)):
        raise ArithmeticError(f"no solution from {start}: {solution.message}")
    return solution.y.T


def _signal(spec: Input, times: np.ndarray, rng: np.random.Generator) -> Any:
    """Return values at the times for a held signal, and otherwise a function of time."""
    middle, half = (spec.low + spec.high) / 2, (spec.high - spec.low) / 2
    if spec.kind == "smooth":
        rates = 2 * np.pi / (spec.dwell * rng.uniform(0.7, 1.4, 2))
        phases = rng.uniform(0, 2 * np.pi, 2)
        return lambda t: (
            middle
            + half * 0.5 * (np.sin(rates[0] * t + phases[0]) + np.sin(rates[1] * t + phases[1]))
        )
    step = times[1] - times[0]
    values, level = np.empty(len(times)), int(rng.integers(2))
    row = 0
    while row < len(times):
        length = max(2, round(spec.dwell * rng.uniform(0.5, 1.5) / step))
        if spec.kind == "switch":
            level = 1 - level
            value = spec.high if level else spec.low
        else:
            value = rng.uniform(spec.low, spec.high)
        values[row : row + length] = value
        row += length
    return values


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a formula with other names."""
    return re.sub(r"[A-Za-z_]\w*", lambda match: names.get(match[0], match[0]), text)
