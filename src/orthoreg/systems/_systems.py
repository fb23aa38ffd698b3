"""The paper's four benchmark systems."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import pytree
from .._common.errors import InputError, quoted, suggestion
from ._system import AbstractSystem, Parameter, Split, equations

_REACH = 0.8  # share of the distance from the ridge at 0 to the bottom of the well
_BOTTOM = np.sqrt(10.0)  # position in the paper's well, for systems without a well


@pytree()
@final
@dataclass(frozen=True)
class Duffing(AbstractSystem):
    """The unforced Duffing oscillator in one of its two wells. [app:subsec_duffing]

        x' = y, y' = a y - x (b + c x^2), with wells at x = +-sqrt(-b / c).

    The cubic term is not in the paper's library. Training runs stay in the positive well, runs of
    T2 and T3 in the negative well. Initial states of runs that leave the well, about one in
    fifteen, are drawn again. T3 has the same box of initial states as T2, but other parameters.
    Without the cubic term, there is no well and states grow like exp(0.78 t), so these runs keep
    the paper's box of initial states and stop at t = 4 instead of 40.
    """

    a: float = -0.5
    b: float = -1.0
    c: float = 0.1

    @property
    def state_names(self) -> tuple[str, ...]:
        return ("x", "y")

    @property
    def true_coefficients(self) -> dict[str, dict[str, float]]:
        return {"x": {"y": 1.0}, "y": {"x": -self.b, "y": self.a}}

    @property
    def true_equations(self) -> list[str]:
        terms = self.true_coefficients
        terms["y"] |= {"x**3": -self.c}
        return equations(terms)

    def times(self) -> np.ndarray:
        return 0.01 * np.arange(4000 if self.c else 400)

    def starts(self, split: Split, count: int, rng: np.random.Generator) -> np.ndarray:
        if not (self.a <= 0 and self.b < 0 and self.c >= 0):
            raise InputError(
                f"Duffing has two wells only with a <= 0, b < 0 and c >= 0; got a = {self.a}, "
                f"b = {self.b}, c = {self.c}."
            )
        mirrored = split in (Split.t2, Split.t3)
        side = np.array([-1.0 if mirrored else 1.0, 1.0])
        field = self.shifted(count, rng) if split is Split.t3 else self
        bottom = np.sqrt(-self.b / self.c) if self.c else _BOTTOM
        starts = np.empty((0, 2))
        while len(starts) < count:
            size = (count - len(starts) + 16, 2)
            drawn = side * rng.uniform([0.1, -1.0], [_REACH * bottom, 1.0], size)
            starts = np.concatenate([starts, drawn[field._stays(drawn)]])
        return starts[:count]

    def _stays(self, starts: Float[np.ndarray, "B n"]) -> Bool[np.ndarray, " B"]:
        """Return a mask of the runs that never cross the ridge between the wells."""
        from scipy.integrate import solve_ivp

        times = self.times()[::10]
        crossings = solve_ivp(
            lambda t, x: self.slope(t, x.reshape(starts.shape), np).ravel(),
            (times[0], times[-1]), starts.ravel(), "DOP853", times, rtol=1e-9, atol=1e-9,
        ).y.reshape(*starts.shape, -1)[:, 0]  # fmt: skip
        return (crossings * starts[:, :1] > 0).all(axis=1)

    def shifted(self, count: int, rng: np.random.Generator) -> "Duffing":
        return Duffing(1.2 * self.a, 1.2 * self.b, 2.0 * self.c)

    def within_library(self) -> "Duffing":
        return replace(self, c=0.0)

    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        position, velocity = x[..., 0], x[..., 1]
        acceleration = self.a * velocity - position * (self.b + self.c * position**2)
        return xp.stack([velocity, acceleration], axis=-1)


@pytree()
@final
@dataclass(frozen=True)
class LotkaVolterra(AbstractSystem):
    """Predators and prey with a coupling modulated in time. [app:subsec_lv]

        x' = alpha x - beta x y + epsilon1 x m,
        y' = delta x y - gamma y + epsilon2 y m q,

    with m = sin(w_fast t) cos(w_fast x y) sin(w_slow (x + y)) and q = sin(x / (y + c_reg)).

    The epsilon terms are not in the paper's library. Unlike library terms, they depend on time.
    [app:non_autonomy_caveat] The paper does not give w_fast, w_slow and c_reg; the values of the
    first two are taken from `SIR`. alpha to delta refer to numbers of animals. In split T3, every
    run has its own alpha to delta.

    States are animals divided by `scale`, and the epsilon terms act on these states. The scale is a
    tenth of the largest training state. Because the training states depend on the scale, it was
    fixed once for all seeds, and once without the epsilon terms: the largest state of 1000 training
    runs is 10 to within 3%.
    """

    alpha: Parameter = 1.2
    beta: Parameter = 0.06
    gamma: Parameter = 0.48
    delta: Parameter = 0.00048
    epsilon1: float = 3.0
    epsilon2: float = 2.0
    w_fast: float = 3.0
    w_slow: float = 1.5
    c_reg: float = 0.1
    scale: tuple[float, float] = (220.0, 4.05)

    @property
    def state_names(self) -> tuple[str, ...]:
        return ("x", "y")

    @property
    def true_coefficients(self) -> dict[str, dict[str, Any]]:
        prey, predators = self.scale
        return {
            "x": {"x": self.alpha, "x*y": -self.beta * predators},
            "y": {"y": -self.gamma, "x*y": self.delta * prey},
        }

    @property
    def true_equations(self) -> list[str]:
        terms = self.true_coefficients
        fast, slow = f"{self.w_fast:g}", f"{self.w_slow:g}"
        shared = f"sin({fast}*t)*cos({fast}*x*y)*sin({slow}*(x + y))"
        terms["x"] |= {f"x*{shared}": self.epsilon1}
        terms["y"] |= {f"y*{shared}*sin(x/(y + {self.c_reg:g}))": self.epsilon2}
        return equations(terms)

    def times(self) -> np.ndarray:
        return 0.1 * np.arange(100)

    def starts(self, split: Split, count: int, rng: np.random.Generator) -> np.ndarray:
        prey = 100.0 if split in (Split.t2, Split.t3) else 1000.0
        animals = rng.uniform([prey, 10.0], [2 * prey, 20.0], (count, 2))
        return animals / np.array(self.scale)

    def shifted(self, count: int, rng: np.random.Generator) -> "LotkaVolterra":
        low = 12 * np.array([0.2, 0.01, 0.08, 0.00008])
        alpha, beta, gamma, delta = rng.uniform(low, 1.5 * low, (count, 4)).T
        return replace(self, alpha=alpha, beta=beta, gamma=gamma, delta=delta)

    def within_library(self) -> "LotkaVolterra":
        return replace(self, epsilon1=0.0, epsilon2=0.0, scale=(279.0, 4.0))

    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        prey, predators = x[..., 0], x[..., 1]
        met = prey * predators
        modulation = (
            xp.sin(self.w_fast * t)
            * xp.cos(self.w_fast * met)
            * xp.sin(self.w_slow * (prey + predators))
        )
        asymmetry = xp.sin(prey / (predators + self.c_reg))
        growth = (
            self.alpha * prey - self.beta * self.scale[1] * met + self.epsilon1 * prey * modulation
        )
        hunt = (
            self.delta * self.scale[0] * met
            - self.gamma * predators
            + self.epsilon2 * predators * modulation * asymmetry
        )
        return xp.stack([growth, hunt], axis=-1)


DIFFICULTIES = {
    "low": (0.1, 0.08, 0.05),
    "medium": (0.3, 0.25, 0.15),
    "high": (2.0, 2.0, 2.0),
}


@pytree()
@final
@dataclass(frozen=True)
class Pendulum(AbstractSystem):
    """The modified damped pendulum. [eq:pend]

        theta'' = -omega0^2 sin theta - alpha theta'
                  + beta1 cos(3 theta) + beta2 exp(-theta^2) + beta3 tanh(theta').

    The beta terms are not in the paper's library of degree-two polynomials and unit frequencies.
    The paper's section on irregular sampling compares with a regular step of 0.02; regular runs
    have the 100 points of its other experiments.
    """

    omega0: float = 1.0
    alpha: float = 0.2
    beta1: float = 0.3
    beta2: float = 0.25
    beta3: float = 0.15

    @classmethod
    def of_difficulty(cls, difficulty: str) -> "Pendulum":
        """Return the pendulum with the paper's low, medium or high strength of missing terms."""
        if difficulty not in DIFFICULTIES:
            raise InputError(
                f"difficulty must be one of {quoted(DIFFICULTIES)}; got '{difficulty}'."
                f"{suggestion(difficulty, DIFFICULTIES)}"
            )
        beta1, beta2, beta3 = DIFFICULTIES[difficulty]
        return cls(beta1=beta1, beta2=beta2, beta3=beta3)

    @property
    def state_names(self) -> tuple[str, ...]:
        return ("theta", "omega")

    @property
    def true_coefficients(self) -> dict[str, dict[str, float]]:
        return {
            "theta": {"omega": 1.0},
            "omega": {"sin(theta)": -(self.omega0**2), "omega": -self.alpha},
        }

    @property
    def true_equations(self) -> list[str]:
        terms = self.true_coefficients
        terms["omega"] |= {
            "cos(3*theta)": self.beta1,
            "exp(-theta**2)": self.beta2,
            "tanh(omega)": self.beta3,
        }
        return equations(terms)

    def times(self) -> np.ndarray:
        return np.linspace(0.0, 6.0, 100)

    def starts(self, split: Split, count: int, rng: np.random.Generator) -> np.ndarray:
        box = np.array([np.pi / 2, 1.0])
        if split is not Split.t2:
            return box * rng.uniform(-1, 1, (count, 2))
        drawn = 5 * rng.uniform(-1, 1, (4 * count + 50, 2))
        return drawn[(np.abs(drawn) > box).any(axis=1)][:count]

    def shifted(self, count: int, rng: np.random.Generator) -> "Pendulum":
        return Pendulum(*(1.2 * value for value in (
            self.omega0, self.alpha, self.beta1, self.beta2, self.beta3
        )))  # fmt: skip

    def within_library(self) -> "Pendulum":
        return replace(self, beta1=0.0, beta2=0.0, beta3=0.0)

    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        theta, omega = x[..., 0], x[..., 1]
        acceleration = (
            -(self.omega0**2) * xp.sin(theta)
            - self.alpha * omega
            + self.beta1 * xp.cos(3 * theta)
            + self.beta2 * xp.exp(-(theta**2))
            + self.beta3 * xp.tanh(omega)
        )
        return xp.stack([omega, acceleration], axis=-1)


_MEAN_POPULATION = 12.5  # mean of the initial states in training


@pytree()
@final
@dataclass(frozen=True)
class SIR(AbstractSystem):
    """An epidemic with fading, state-dependent oscillations. [app:subsec_sir]

        S' = -beta S I / N + e S I sin(w_fast (1 + S) t) tanh(w_slow (I + R)),
        I' = beta S I / N - gamma I + e I R sin(w_fast (1 + 2 I) t) tanh(w_slow (S + R)),
        R' = gamma I + e S R sin(w_slow (1 + R) t) tanh(w_slow (S + I)),

    each with its own e = epsilon exp(-t / tau).

    The e terms are not in the paper's library. Unlike library terms, they depend on time.
    [app:non_autonomy_caveat] N is the current number of people, which the e terms do not conserve.
    The library has S*I instead; its stated coefficient is for N = 12.5, the mean at the start of
    training. `population` replaces N by a constant, which makes S*I exact in all splits. In split
    T3, every run has its own beta and gamma.

    States are people divided by `scale`, and the e terms act on these states. The scale is a tenth
    of the largest training state. Because the training states depend on the scale, it was fixed
    once for all seeds, and once without the e terms: the largest state of 1000 training runs is 10
    to within 1%.
    """

    beta: Parameter = 2.0
    gamma: Parameter = 1.0
    epsilons: tuple[float, float, float] = (0.3, 0.25, 0.2)
    w_fast: float = 3.0
    w_slow: float = 1.5
    tau: float = 2.0
    scale: tuple[float, float, float] = (1.1025, 0.52446, 1.0496)
    population: float | None = None

    @property
    def state_names(self) -> tuple[str, ...]:
        return ("S", "I", "R")

    @property
    def true_coefficients(self) -> dict[str, dict[str, Any]]:
        population = _MEAN_POPULATION if self.population is None else self.population
        return self._terms("S*I", population)

    def _terms(self, infections: str, population: float) -> dict[str, dict[str, Any]]:
        susceptible, infected, recovered = self.scale
        rate = self.beta / population
        return {
            "S": {infections: -rate * infected},
            "I": {infections: rate * susceptible, "I": -self.gamma},
            "R": {"I": self.gamma * infected / recovered},
        }

    @property
    def true_equations(self) -> list[str]:
        if self.population is None:
            people = " + ".join(
                f"{unit:.5g}*{state}"
                for unit, state in zip(self.scale, self.state_names, strict=True)
            )
            terms = self._terms(f"S*I/({people})", 1.0)
        else:
            terms = self.true_coefficients
        fast, slow, fading = f"{self.w_fast:g}", f"{self.w_slow:g}", f"exp(-t/{self.tau:g})"
        missing = {
            "S": f"S*I*sin({fast}*(1 + S)*t)*{fading}*tanh({slow}*(I + R))",
            "I": f"I*R*sin({fast}*(1 + 2*I)*t)*{fading}*tanh({slow}*(S + R))",
            "R": f"S*R*sin({slow}*(1 + R)*t)*{fading}*tanh({slow}*(S + I))",
        }
        for (state, term), epsilon in zip(missing.items(), self.epsilons, strict=True):
            terms[state] |= {term: epsilon}
        return equations(terms)

    def times(self) -> np.ndarray:
        return 0.1 * np.arange(100)

    def starts(self, split: Split, count: int, rng: np.random.Generator) -> np.ndarray:
        factor = 10.0 if split in (Split.t2, Split.t3) else 1.0
        people = rng.uniform([9.0 * factor, 1.0, 0.0], [10.0 * factor, 5.0, 0.0], (count, 3))
        return people / np.array(self.scale)

    def shifted(self, count: int, rng: np.random.Generator) -> "SIR":
        beta, gamma = rng.uniform([8.0, 0.8], [12.0, 1.2], (count, 2)).T
        return replace(self, beta=beta, gamma=gamma)

    def within_library(self) -> "SIR":
        return replace(
            self, epsilons=(0.0, 0.0, 0.0), scale=(1.0, 0.573, 1.379), population=_MEAN_POPULATION
        )

    def slope(self, t: Any, x: Any, xp: Any) -> Any:
        s, i, r = x[..., 0], x[..., 1], x[..., 2]
        unit_s, unit_i, unit_r = self.scale
        people = self.population
        if people is None:
            people = unit_s * s + unit_i * i + unit_r * r
        infections = self.beta * s * i / people
        e1, e2, e3 = (epsilon * xp.exp(-t / self.tau) for epsilon in self.epsilons)
        fast, slow = self.w_fast, self.w_slow
        return xp.stack(
            [
                -unit_i * infections
                + e1 * s * i * xp.sin(fast * (1 + s) * t) * xp.tanh(slow * (i + r)),
                unit_s * infections
                - self.gamma * i
                + e2 * i * r * xp.sin(fast * (1 + 2 * i) * t) * xp.tanh(slow * (s + r)),
                self.gamma * unit_i / unit_r * i
                + e3 * s * r * xp.sin(slow * (1 + r) * t) * xp.tanh(slow * (s + i)),
            ],
            axis=-1,
        )


SYSTEMS: dict[str, type[AbstractSystem]] = {
    "pendulum": Pendulum,
    "duffing": Duffing,
    "lotka-volterra": LotkaVolterra,
    "sir": SIR,
}
