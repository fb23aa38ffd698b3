"""The modified damped pendulum. [eq:pend]"""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from .._common.arrays import pytree
from .._common.errors import InputError, quoted, suggestion
from ._system import AbstractSystem, Split, equations

DIFFICULTIES = {
    "low": (0.1, 0.08, 0.05),
    "medium": (0.3, 0.25, 0.15),
    "high": (2.0, 2.0, 2.0),
}


@pytree()
@final
@dataclass(frozen=True)
class Pendulum(AbstractSystem):
    """theta'' = -omega0^2 sin theta - alpha theta'
    + beta1 cos(3 theta) + beta2 exp(-theta^2) + beta3 tanh(theta').

    The three beta terms lie outside the paper's library of degree-two polynomials and unit
    frequencies. The paper's text on irregular sampling compares with a regular step of 0.02;
    regular runs have the 100 points of its other experiments.
    """

    omega0: float = 1.0
    alpha: float = 0.2
    beta1: float = 0.3
    beta2: float = 0.25
    beta3: float = 0.15

    @classmethod
    def of_difficulty(cls, difficulty: str) -> "Pendulum":
        """The paper's low, medium or high strength of the missing terms."""
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
