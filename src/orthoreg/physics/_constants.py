"""Named constants that stand before terms, from the coefficients that they make up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    sizes = np.array([coefficients[one.equation, one.term] / one.number for one in constants])
    return {name: _product(sizes, weights) for name, weights in rules(constants, sizes).items()}


def constant_functions(
    constants: Sequence[Constant],
    coefficients: Float[np.ndarray, "c K"],
    places: Sequence[tuple[int, int]],
) -> dict[str, Callable[[np.ndarray], float]]:
    """Each constant as a function of the coefficients at `places`; the others stay as they are."""
    index = {place: i for i, place in enumerate(places)}
    base = np.array([coefficients[one.equation, one.term] / one.number for one in constants])

    def function(weights: np.ndarray, values: np.ndarray) -> float:
        sizes = base.copy()
        for i, one in enumerate(constants):
            place = index.get((one.equation, one.term))
            if place is not None:
                sizes[i] = values[place] / one.number
        crossed = (weights != 0) & (sizes * base <= 0)
        if (crossed & (weights < 0)).any():  # a quotient has a pole where its divisor vanishes
            return float(np.copysign(np.inf, _product(base, weights)))
        if (crossed & ((weights % 2 != 1) | (sizes == 0))).any():
            return 0.0
        return _product(sizes, weights)

    return {name: partial(function, weights) for name, weights in rules(constants, base).items()}


def rules(
    constants: Sequence[Constant], sizes: Float[np.ndarray, " m"]
) -> dict[str, Float[np.ndarray, " m"]]:
    """For each name the powers of the products' sizes that it is made of.

    The logarithms of the products are linear in those of the constants. A name that they do not
    determine, or that would be the root of a negative number, is not given; the product is.
    """
    names = sorted({name for one in constants for name, _ in one.powers})
    exponents = np.array([[dict(one.powers).get(name, 0.0) for name in names] for one in constants])
    found: dict[str, np.ndarray] = {}
    if not names:
        return found
    inverse = np.linalg.pinv(exponents)
    determined = np.isclose(np.diag(inverse @ exponents), 1.0, atol=_ROUNDING)
    for i, name in enumerate(names):
        weights = np.where(np.abs(inverse[i]) > _ROUNDING, inverse[i], 0.0)
        near = np.round(weights)  # whole powers, which the pseudo-inverse rounds
        weights = np.where(np.abs(weights - near) < _ROUNDING, near, weights)
        if determined[i] and _has_root(weights, sizes):
            found[name] = weights
    for place, one in enumerate(constants):
        if any(name not in found for name, _ in one.powers):
            found[one.text] = np.eye(len(constants))[place]
    return found


def _has_root(weights: np.ndarray, sizes: np.ndarray) -> bool:
    return all(
        size > 0 or (size < 0 and abs(weight) % 2 == 1)
        for weight, size in zip(weights, sizes, strict=True)
        if weight
    )


def _product(sizes: np.ndarray, weights: np.ndarray) -> float:
    used = weights != 0
    sign = np.prod(np.sign(sizes[used]))
    return float(sign * np.exp(weights[used] @ np.log(np.abs(sizes[used]))))
