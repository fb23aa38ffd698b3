"""Predators and prey with a coupling modulated in time. [app:subsec_lv]"""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from .._common.arrays import pytree
from ._system import AbstractSystem, Parameter, Split, equations


@pytree()
@final
@dataclass(frozen=True)
class LotkaVolterra(AbstractSystem):
    """x' = alpha x - beta x y + epsilon1 x m, y' = delta x y - gamma y + epsilon2 y m q, with
    m = sin(w_fast t) cos(w_fast x y) sin(w_slow (x + y)) and q = sin(x / (y + c_reg)).

    The epsilon terms lie outside the paper's library; they depend on time, which no term of
    a library knows. [app:non_autonomy_caveat] The paper leaves w_fast, w_slow and c_reg open:
    the first two are those of `SIR`. alpha to delta count animals; in split T3 every run
    draws its own four.

    States are animals divided by `scale`, and the epsilon terms act on them. The scale is a
    tenth of the largest training state. It changes the very runs it is taken from, so it was
    fixed once for all seeds, and once without the epsilon terms: the largest of 1000 training
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
