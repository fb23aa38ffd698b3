"""Named constants that stand before terms, from the coefficients that they make up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

_ROUNDING = 1e-9


@final
@dataclass(frozen=True)
class Constant:
    """W[equation, term] = number * prod name**exponent: what one coefficient says of constants."""

    equation: int
    term: int
    number: float
    powers: tuple[tuple[str, float], ...]

    @property
    def text(self) -> str:
        """k/m, of {"k": 1, "m": -1}."""
        above = [_power(name, e) for name, e in self.powers if e > 0]
        below = [_power(name, -e) for name, e in self.powers if e < 0]
        shown = "*".join(above) or "1"
        if not below:
            return shown
        return f"{shown}/{below[0]}" if len(below) == 1 else f"{shown}/({'*'.join(below)})"


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}**{exponent:g}"


def constant_values(
    constants: Sequence[Constant], coefficients: Float[np.ndarray, "c K"]
) -> dict[str, float]:
    """Each constant that the coefficients determine; of others the product that they do."""
    sizes = [float(coefficients[one.equation, one.term]) / one.number for one in constants]
    return {name: rule(np.array(sizes)) for name, rule in rules(constants, sizes).items()}


def constant_intervals(
    constants: Sequence[Constant],
    coefficients: Float[np.ndarray, "c K"],
    intervals: Float[np.ndarray, "c K 2"],
) -> dict[str, tuple[float, float]]:
    """The interval of each constant, from those of the coefficients; widest where it follows from
    several."""
    sizes = np.array([coefficients[one.equation, one.term] / one.number for one in constants])
    ends = np.array([intervals[one.equation, one.term] / one.number for one in constants])
    found = {}
    for name, rule in rules(constants, sizes.tolist()).items():
        middle = rule(sizes)
        low = high = middle
        for i in range(len(sizes)):
            tried = []
            for end in ends[i]:
                moved = sizes.copy()
                moved[i] = end
                same_side = end * sizes[i] > 0
                tried.append(rule(moved) if same_side else np.sign(middle) * np.inf)
            low, high = (
                low + min(0.0, *(x - middle for x in tried)),
                high + max(0.0, *(x - middle for x in tried)),
            )
        found[name] = (float(low), float(high))
    return found


def rules(
    constants: Sequence[Constant], sizes: Sequence[float]
) -> Mapping[str, Callable[[np.ndarray], float]]:
    """For each name, how it follows from the products' sizes.

    The logarithms of the products are linear in those of the constants. A name that they do not
    determine, or that would be the root of a negative number, is not given; the product is.
    """
    names = sorted({name for one in constants for name, _ in one.powers})
    exponents = np.array([[dict(one.powers).get(name, 0.0) for name in names] for one in constants])
    found: dict[str, Callable[[np.ndarray], float]] = {}
    if not names:
        return found
    inverse = np.linalg.pinv(exponents)
    determined = np.isclose(np.diag(inverse @ exponents), 1.0, atol=_ROUNDING)
    for i, name in enumerate(names):
        weights = np.where(np.abs(inverse[i]) > _ROUNDING, inverse[i], 0.0)
        if determined[i] and _has_root(weights, sizes):
            found[name] = lambda s, weights=weights: _product(s, weights)
    for place, one in enumerate(constants):
        if any(name not in found for name, _ in one.powers):
            found[one.text] = lambda s, place=place: float(s[place])
    return found


def _has_root(weights: np.ndarray, sizes: Sequence[float]) -> bool:
    return all(
        size > 0 or (size < 0 and abs(weight) % 2 == 1)
        for weight, size in zip(weights, sizes, strict=True)
        if weight
    )


def _product(sizes: np.ndarray, weights: np.ndarray) -> float:
    used = weights != 0
    sign = np.prod(np.sign(sizes[used]))
    return float(sign * np.exp(weights[used] @ np.log(np.abs(sizes[used]))))
