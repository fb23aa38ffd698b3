"""The unforced Duffing oscillator, seen in one of its two wells. [app:subsec_duffing]"""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from .._common.arrays import pytree
from .._common.errors import InputError
from ._system import AbstractSystem, Split, equations

_REACH = 0.8  # of the way from the ridge at 0 to the bottom of the well
_BOTTOM = np.sqrt(10.0)  # of the paper's well, where there is none


@pytree()
@final
@dataclass(frozen=True)
class Duffing(AbstractSystem):
    """x' = y, y' = a y - x (b + c x^2): wells at x = +-sqrt(-b / c).

    The cubic term lies outside the paper's library. Training runs stay in the positive well,
    those of T2 and T3 in the negative one: starts whose run ends up elsewhere, about one in
    fifteen, are drawn again. T3 keeps the starting box of T2 and changes the parameters.

    Without the cubic term there is no well and states grow like exp(0.78 t): such runs keep
    the paper's starting box and stop at t = 4 instead of 40.
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
        kept = np.empty((0, 2))
        while len(kept) < count:
            size = (count - len(kept) + 16, 2)
            drawn = side * rng.uniform([0.1, -1.0], [_REACH * bottom, 1.0], size)
            kept = np.concatenate([kept, drawn[field._stays(drawn)]])
        return kept[:count]

    def _stays(self, starts: Float[np.ndarray, "B n"]) -> Bool[np.ndarray, " B"]:
        """Which runs never cross the ridge between the wells."""
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
