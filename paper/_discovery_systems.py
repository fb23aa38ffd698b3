"""Systems with a withheld library term, for the discovery experiment."""

from dataclasses import dataclass
from typing import final

import numpy as np

from orthoreg import Dataset
from orthoreg.terms import Polynomial, Terms, evaluate, feature_names, parse

_RUNS, _POINTS = 4, 250


@final
@dataclass(frozen=True)
class Benchmark:
    """Equations as terms with coefficients, the box of initial states, the duration of runs, and
    the equation and term that is withheld from the library."""

    equations: dict[str, dict[str, float]]
    low: tuple[float, ...]
    high: tuple[float, ...]
    until: float
    equation: str
    withheld: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.equations)

    def library(self, *, complete: bool) -> Terms:
        """Return degree-two polynomials and all true terms, without the withheld term unless
        `complete`."""
        texts = [*feature_names(Polynomial(2), self.names)]
        texts += [term for terms in self.equations.values() for term in terms]
        kept = {parse(text, self.names): text for text in texts}
        if not complete:
            kept.pop(parse(self.withheld, self.names))
        return Terms(list(kept.values()))

    def slope(self, states: np.ndarray) -> np.ndarray:
        """Return the true derivatives at states (N, n)."""
        columns = list(states.T)
        return np.column_stack([
            sum(
                w * (np.zeros(len(states)) + evaluate(parse(term, self.names), columns, np))
                for term, w in terms.items()
            )
            for terms in self.equations.values()
        ])  # fmt: skip

    def generate(self, noise: float, seed: int) -> Dataset:
        """Return a few runs with noise relative to the standard deviation of each state."""
        from scipy.integrate import solve_ivp

        rng = np.random.default_rng(seed)
        times = np.linspace(0, self.until, _POINTS)
        runs = [
            solve_ivp(
                lambda _, x: self.slope(x[None])[0], (0, self.until), rng.uniform(self.low,
            self.high),
                t_eval=times, rtol=1e-9, atol=1e-11,
            ).y.T
            for _ in range(_RUNS)
        ]  # fmt: skip
        spread = np.concatenate(runs).std(axis=0)
        noisy = [run + noise * spread * rng.standard_normal(run.shape) for run in runs]
        return Dataset.from_arrays(noisy, times, names=self.names)


def _of(
    equations: dict[str, dict[str, float]],
    low: tuple[float, ...],
    high: tuple[float, ...],
    until: float,
    equation: str,
    withheld: str,
) -> Benchmark:
    return Benchmark(equations, low, high, until, equation, withheld)


_V = {"x": {"v": 1.0}}
BENCHMARKS = {
    "pendulum": _of(_V | {"v": {"sin(x)": -1.0, "v": -0.1}}, (-2.8, -1), (2.8, 1), 12, "v",
            "sin(x)"),
    "duffing": _of(_V | {"v": {"x": 1.0, "x**3": -1.0, "v": -0.2}}, (-2, -1), (2, 1), 12, "v",
            "x**3"),
    "van der pol": _of(_V | {"v": {"x": -1.0, "v": 1.0, "x**2*v": -1.0}}, (-2, -2), (2, 2), 12, "v",
                       "x**2*v"),
    "quadratic drag": _of(_V | {"v": {"x": -1.0, "v*abs(v)": -0.3}}, (-3, -2), (3, 2), 12, "v",
                          "v*abs(v)"),
    "saturating drag": _of(_V | {"v": {"x": -1.0, "tanh(2*v)": -0.5}}, (-3, -2), (3, 2), 10, "v",
                           "tanh(2*v)"),
    "gaussian well": _of(_V | {"v": {"x*exp(-x**2)": -2.0, "x": -0.2, "v": -0.1}}, (-3, -1), (3,
            1), 15,
                         "v", "x*exp(-x**2)"),
    "two frequencies": _of(_V | {"v": {"sin(x)": -1.0, "sin(2*x)": 0.7, "v": -0.1}}, (-3, -1), (3,
            1),
                           12, "v", "sin(2*x)"),
    "lotka-volterra": _of({"x": {"x": 1.0, "x*y": -0.5}, "y": {"y": -0.8, "x*y": 0.4}}, (0.5, 0.5),
                          (4, 4), 12, "x", "x*y"),
    "holling": _of({"x": {"x": 1.0, "x**2": -0.25, "x*y/(0.5 + x)": -0.8},
                    "y": {"y": -0.4, "x*y": 0.3}}, (0.5, 0.5), (3, 2), 15, "x", "x*y/(0.5 + x)"),
    "michaelis": _of({"s": {"1": 0.3, "s/(0.4 + s)": -0.6}, "p": {"s/(0.4 + s)": 0.6, "p": -0.3}},
                     (0.1, 0.1), (4, 2), 12, "s", "s/(0.4 + s)"),
    "tanks": _of({"a": {"1": 0.3, "sqrt(a)": -0.4}, "b": {"sqrt(a)": 0.4, "sqrt(b)": -0.3}}, (0.2,
            0.2),
                 (4, 4), 12, "a", "sqrt(a)"),
    "gompertz": _of({"x": {"x*log(x)": -0.5}, "y": {"x": 1.0, "y": -0.7}}, (0.05, 0.1), (3, 2), 8,
            "x",
                    "x*log(x)"),
    "toggle": _of({"x": {"1/(1 + y**2)": 3.0, "x": -1.0}, "y": {"1/(1 + x**2)": 3.0, "y": -1.0}},
                  (0.1, 0.1), (4, 4), 8, "x", "1/(1 + y**2)"),
    "diode": _of({"x": {"y": 1.0, "exp(x)": -0.3, "x": -0.2}, "y": {"x": -1.0, "1": 0.5,
            "y": -0.1}},
                 (-2, -2), (2, 2), 10, "x", "exp(x)"),
    "phases": _of({"a": {"1": 1.0, "sin(a - b)": -0.8}, "b": {"1": 1.5, "sin(a - b)": 0.8}}, (-3,
            -3),
                  (3, 3), 5, "a", "sin(a - b)"),
    "selkov": _of({"x": {"x": -1.0, "y": 0.08, "x**2*y": 1.0}, "y": {"1": 0.6, "y": -0.08,
                   "x**2*y": -1.0}}, (0.3, 0.3), (2, 2), 15, "x", "x**2*y"),
    "brusselator": _of({"x": {"1": 1.0, "x": -3.5, "x**2*y": 1.0}, "y": {"x": 2.5, "x**2*y": -1.0}},
                       (0.5, 0.5), (3, 3), 15, "y", "x**2*y"),
    "fitzhugh": _of({"v": {"v": 1.0, "v**3": -0.3333, "w": -1.0, "1": 0.5}, "w": {"v": 0.3,
            "1": 0.2,
                     "w": -0.25}}, (-2, -1), (2, 1), 20, "v", "v**3"),
    "lorenz": _of({"x": {"x": -10.0, "y": 10.0}, "y": {"x": 28.0, "y": -1.0, "x*z": -1.0},
                   "z": {"z": -2.6667, "x*y": 1.0}}, (-10, -10, 15), (10, 10, 35), 4, "y", "x*z"),
    "lorenz z": _of({"x": {"x": -10.0, "y": 10.0}, "y": {"x": 28.0, "y": -1.0, "x*z": -1.0},
                     "z": {"z": -2.6667, "x*y": 1.0}}, (-10, -10, 15), (10, 10, 35), 4, "z", "x*y"),
    "rossler": _of({"x": {"y": -1.0, "z": -1.0}, "y": {"x": 1.0, "y": 0.2}, "z": {"1": 0.2,
            "z": -5.7,
                    "x*z": 1.0}}, (-5, -5, 0), (5, 5, 2), 15, "z", "x*z"),
    "epidemic": _of({"s": {"s*i": -1.5}, "i": {"s*i": 1.5, "i": -0.4}, "r": {"i": 0.4}},
                    (0.6, 0.01, 0.0), (0.98, 0.1, 0.1), 15, "i", "s*i"),
    "rigid body": _of({"a": {"b*c": 0.5}, "b": {"a*c": -1.0}, "c": {"a*b": 0.6}}, (-1, -1, -1),
                      (1, 1, 1), 12, "b", "a*c"),
    "exposed": _of({"s": {"s*i": -1.5}, "e": {"s*i": 1.5, "e": -0.8}, "i": {"e": 0.8, "i": -0.4},
                    "r": {"i": 0.4}}, (0.7, 0.01, 0.01, 0.0), (0.95, 0.1, 0.1, 0.1), 20, "e",
            "s*i"),
    "coupled springs": _of({"x": {"v": 1.0}, "v": {"x": -1.0, "x**3": -0.5, "y": 0.3},
                            "y": {"w": 1.0}, "w": {"y": -1.2, "x": 0.3}}, (-2, -1, -2, -1),
                           (2, 1, 2, 1), 12, "v", "x**3"),
}  # fmt: skip
