"""Random systems with known equations: sparse polynomials and sines with bounded trajectories."""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, final

import numpy as np

_NAMES = ("x", "y", "z")
_LARGEST = 5.0  # trajectories beyond this value are discarded
_MOTION = 0.2  # smallest standard deviation of a state
_LARGEST_STEP = 0.2  # maximum change of a state between rows


@final
@dataclass(frozen=True)
class Term:
    """A product of states, such as (0, 0, 1) for x**2*y, or the sine or cosine of a state."""

    states: tuple[int, ...]
    function: str = ""

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the values of the term at states."""
        if self.function:
            return getattr(np, self.function)(x[..., self.states[0]])
        return np.prod([x[..., i] for i in self.states], axis=0) * np.ones(x.shape[:-1])

    @property
    def name(self) -> str:
        """The name of the term in a library."""
        if self.function:
            return f"{self.function}({_NAMES[self.states[0]]})"
        powers = [(_NAMES[i], self.states.count(i)) for i in sorted(set(self.states))]
        return "*".join(s if power == 1 else f"{s}**{power}" for s, power in powers) or "1"


@final
@dataclass(frozen=True)
class RandomSystem:
    """Equations, as coefficients of terms, and clean runs from random initial states."""

    equations: tuple[dict[Term, float], ...]
    library: str
    times: np.ndarray
    paths: tuple[np.ndarray, ...]

    @property
    def names(self) -> list[str]:
        """The names of the states."""
        return list(_NAMES[: len(self.equations)])

    def rates(self, states: np.ndarray) -> np.ndarray:
        """Return the derivatives at states."""
        return _rates(self.equations, states)

    def coefficients(self, feature_names: list[str]) -> np.ndarray:
        """Return the true coefficients in the order of a model's features."""
        return np.array(
            [
                [{term.name: w for term, w in row.items()}.get(name, 0.0) for name in feature_names]
                for row in self.equations
            ]
        )

    def noisy(self, level: float, rng: np.random.Generator) -> list[np.ndarray]:
        """Return the runs with noise relative to the standard deviation of each state."""
        scale = level * np.concatenate(self.paths).std(axis=0)
        return [path + scale * rng.standard_normal(path.shape) for path in self.paths]

    def more_runs(self, starts: np.ndarray) -> list[np.ndarray]:
        """Return clean runs from other initial states."""
        return [_path(self.equations, start, self.times) for start in starts]

    def dataset(self, paths: Any) -> Any:
        """Return runs at the times of the system as a `Dataset`."""
        import orthoreg as og

        times = [self.times[: len(path)] for path in paths]
        return og.Dataset.from_arrays(list(paths), times, names=self.names)


def random_system(
    rng: np.random.Generator, *, states: int | None = None, runs: int = 4, rows: int = 121
) -> RandomSystem:
    """Return a system of one to three states with bounded trajectories that are not constant."""
    n = int(rng.integers(1, 4)) if states is None else states
    while True:
        library = str(rng.choice(["poly(2)", "poly(3)", "poly(2) + fourier(1)"]))
        terms = _terms(n, library)
        equations = tuple(_equation(i, terms, rng) for i in range(n))
        times = np.linspace(0.0, float(rng.uniform(4.0, 10.0)), rows)
        starts = rng.uniform(-2.0, 2.0, (runs, n))
        if not _stays(equations, starts, times):
            continue
        paths = [_path(equations, start, times) for start in starts]
        if all(len(path) == rows for path in paths) and _moves(paths):
            return RandomSystem(equations, library, times, tuple(paths))


def _stays(equations: tuple[dict[Term, float], ...], states: np.ndarray, times: np.ndarray) -> bool:
    """Return whether trajectories stay within the bounds, by a fast and coarse method."""
    step = float(times[-1]) / 50
    for _ in range(50):
        middle = states + step / 2 * _rates(equations, states)
        states = states + step * _rates(equations, middle)
        if not np.abs(states).max() < 2 * _LARGEST:
            return False
    return True


def _moves(paths: list[np.ndarray]) -> bool:
    """Return whether no state is constant, and all changes between rows are small enough."""
    steps = max(np.abs(np.diff(path, axis=0)).max() for path in paths)
    return bool(np.concatenate(paths).std(axis=0).min() > _MOTION and steps < _LARGEST_STEP)


def _terms(states: int, library: str) -> list[Term]:
    degree = 3 if "poly(3)" in library else 2
    terms = [
        Term(powers)
        for total in range(degree + 1)
        for powers in combinations_with_replacement(range(states), total)
    ]
    if "fourier" in library:
        terms += [Term((i,), name) for i in range(states) for name in ("sin", "cos")]
    return terms


def _equation(i: int, terms: list[Term], rng: np.random.Generator) -> dict[Term, float]:
    """Return one to three random terms, with a damping term in half of the cases."""
    chosen = rng.choice(len(terms), int(rng.integers(1, 4)), replace=False)
    row = {terms[k]: float(rng.uniform(0.2, 2.0) * rng.choice([-1, 1])) for k in chosen}
    if rng.random() < 0.5:
        row[Term((i,))] = -float(rng.uniform(0.2, 2.0))
    return row


def _rates(equations: tuple[dict[Term, float], ...], states: np.ndarray) -> np.ndarray:
    columns = [sum(w * term(states) for term, w in row.items()) for row in equations]
    return np.stack(columns, axis=-1)  # pyright: ignore


def _path(
    equations: tuple[dict[Term, float], ...], start: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """Return the trajectory, or its part within the bounds."""
    from scipy.integrate import solve_ivp

    def leaves(_: float, x: np.ndarray) -> float:
        return _LARGEST - float(np.abs(x).max())

    leaves.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        lambda _, x: _rates(equations, x), (0.0, times[-1]), start, t_eval=times, events=leaves,
        method="LSODA", rtol=1e-9, atol=1e-10,
    )  # fmt: skip
    return solution.y.T
