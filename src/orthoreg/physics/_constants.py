"""Named constants in known equations. Coefficients of terms are sums of products of constants.

The coefficients w are linear in the distinct products m of constants, w = matrix m + offset. The
logarithms of the products are linear in the logarithms of the constants.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from . import _limits as limits

Powers = tuple[tuple[str, float], ...]
Place = tuple[int, int]


@final
@dataclass(frozen=True)
class ConstantProduct:
    """The product number * prod name**exponent, a summand of the coefficient W[equation, term]."""

    equation: int
    term: int
    number: float
    powers: Powers

    @property
    def place(self) -> Place:
        return self.equation, self.term

    @property
    def text(self) -> str:
        """The product as text, such as k/m for {"k": 1, "m": -1}."""
        above = [_power(name, e) for name, e in self.powers if e > 0]
        below = [_power(name, -e) for name, e in self.powers if e < 0]
        shown = "*".join(above) or "1"
        if not below:
            return shown
        return f"{shown}/{below[0]}" if len(below) == 1 else f"{shown}/({'*'.join(below)})"


def _power(name: str, exponent: float) -> str:
    return name if exponent == 1 else f"{name}**{exponent:g}"


@final
@dataclass(frozen=True, eq=False)
class ConstantSystem:
    """The coefficients that contain constants, as sums of products of constants."""

    constants: tuple[ConstantProduct, ...]

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The coefficients as pairs (equation, term)."""
        return tuple(dict.fromkeys(constant.place for constant in self.constants))

    @cached_property
    def products(self) -> tuple[Powers, ...]:
        """The distinct products of constants."""
        return tuple(dict.fromkeys(part.powers for part in self.constants if part.powers))

    @cached_property
    def matrix(self) -> Float[np.ndarray, "w m"]:
        """The factor of each product in each coefficient."""
        matrix = np.zeros((len(self.places), len(self.products)))
        for part in self.constants:
            if part.powers:
                row, column = self.places.index(part.place), self.products.index(part.powers)
                matrix[row, column] += part.number
        return matrix

    @cached_property
    def offset(self) -> Float[np.ndarray, " w"]:
        """The number that each coefficient has in addition to its products."""
        offset = np.zeros(len(self.places))
        for part in self.constants:
            if not part.powers:
                offset[self.places.index(part.place)] += part.number
        return offset

    @cached_property
    def inverse(self) -> Float[np.ndarray, "m w"]:
        sizes = np.abs(self.matrix).max(axis=1, initial=0.0)
        sizes[sizes == 0] = 1.0  # numbers may differ by many orders of magnitude
        inverse = np.linalg.pinv(self.matrix / sizes[:, None])
        return np.where(np.abs(inverse) > limits.EXPONENT_ROUNDING, inverse, 0.0) / sizes

    @cached_property
    def is_determined(self) -> Bool[np.ndarray, " m"]:
        """Mask of the products that the coefficients determine."""
        return np.isclose(np.diag(self.inverse @ self.matrix), 1.0, atol=limits.EXPONENT_ROUNDING)

    @cached_property
    def is_alone(self) -> Bool[np.ndarray, " m"]:
        """Mask of the products that are, up to a factor, the only summand of some coefficient."""
        alone = ((self.matrix != 0).sum(axis=1) == 1) & (self.offset == 0)
        return (self.matrix[alone] != 0).any(axis=0)

    def coefficients(self, values: Float[np.ndarray, "c K"]) -> Float[np.ndarray, " w"]:
        """Return the coefficients at `places`."""
        return np.array([values[place] for place in self.places])

    def sizes(self, coefficients: Float[np.ndarray, " w"]) -> Float[np.ndarray, " m"]:
        """Return the values of the products. Values of undetermined products are meaningless."""
        with np.errstate(invalid="ignore"):
            shares = self.inverse * (coefficients - self.offset)
        # an infinite coefficient should affect only its own products
        return np.where(self.inverse != 0, shares, 0.0).sum(axis=1)

    def at(self, values: Callable[[str], float]) -> dict[Place, float]:
        """Return the coefficients for these values of the constants."""
        products = [
            float(np.prod([values(name) ** exponent for name, exponent in powers]))
            for powers in self.products
        ]
        result = self.matrix @ np.array(products) + self.offset
        return dict(zip(self.places, result.tolist(), strict=True))

    def sign(self, place: Place) -> float:
        """Return the sign of a coefficient if all constants are positive, or 0 if it may be
        either.
        """
        signs = {float(np.sign(part.number)) for part in self.constants if part.place == place}
        return signs.pop() if len(signs) == 1 else 0.0

    def text(self, place: Place) -> str:
        """Return the constants of a coefficient as text, such as "a + e", without a common
        number.
        """
        parts = [part for part in self.constants if part.place == place and part.powers]
        words = [(part.number / parts[0].number, part.text) for part in parts]
        shown = [
            (f"{abs(number):g}*" * (abs(number) != 1) + text, number) for number, text in words
        ]
        first, *others = shown
        return first[0] + "".join(f" {'-' if n < 0 else '+'} {text}" for text, n in others)

    def rules(self, sizes: Float[np.ndarray, " m"]) -> dict[str, Float[np.ndarray, " m"]]:
        """Return the exponents of the products in each determined constant.

        For a constant that is not determined, or would be the root of a negative number, the
        determined products that contain it are returned instead.
        """
        names = sorted({name for powers in self.products for name, _ in powers})
        exponents = np.array(
            [[dict(powers).get(name, 0.0) for name in names] for powers in self.products]
        ).reshape(len(self.products), len(names))
        exponents[~self.is_determined] = 0.0
        result: dict[str, np.ndarray] = {}
        if not names:
            return result
        inverse = np.linalg.pinv(exponents)
        determined = np.isclose(np.diag(inverse @ exponents), 1.0, atol=limits.EXPONENT_ROUNDING)
        for i, name in enumerate(names):
            weights = np.where(np.abs(inverse[i]) > limits.EXPONENT_ROUNDING, inverse[i], 0.0)
            nearest = np.round(weights)  # remove rounding errors of the pseudo-inverse
            weights = np.where(
                np.abs(weights - nearest) < limits.EXPONENT_ROUNDING, nearest, weights
            )
            if determined[i] and _has_root(weights, sizes):
                result[name] = weights
        for number, powers in enumerate(self.products):
            if self.is_determined[number] and any(name not in result for name, _ in powers):
                text = ConstantProduct(0, 0, 1.0, powers).text
                result[text] = np.eye(len(self.products))[number]
        return result

    def open_places(self) -> list[int]:
        """Return the indices of coefficients with undetermined products."""
        return np.flatnonzero((self.matrix[:, ~self.is_determined] != 0).any(axis=1)).tolist()

    def sums(self, names: Collection[str]) -> list[Place]:
        """Return the coefficients with several constants, all of which are in `names`."""
        used: dict[Place, set[str]] = {place: set() for place in self.places}
        for part in self.constants:
            used[part.place] |= {name for name, _ in part.powers}
        rows = (self.matrix != 0).sum(axis=1)
        return [
            place
            for place, count in zip(self.places, rows, strict=True)
            if count > 1 and used[place] <= set(names)
        ]

    def summed_names(self) -> frozenset[str]:
        """Return the constants that only sums determine."""
        alone = {powers for powers, is_alone in zip(self.products, self.is_alone, strict=True)
                 if is_alone}  # fmt: skip
        inside = {name for powers in alone for name, _ in powers}
        return frozenset(name for powers in self.products for name, _ in powers) - inside


def constant_values(
    constants: Sequence[ConstantProduct], coefficients: Float[np.ndarray, "c K"]
) -> dict[str, float]:
    """Return the values of the constants that the coefficients determine.

    For a constant that is not determined, its product or sum with others is returned under a text
    such as "b*c".
    """
    functions = constant_functions(constants, coefficients, ())
    return {name: function(np.zeros(0)) for name, function in functions.items()}


def constant_functions(
    constants: Sequence[ConstantProduct],
    coefficients: Float[np.ndarray, "c K"],
    places: Sequence[Place],
) -> dict[str, Callable[[np.ndarray], float]]:
    """Return each constant as a function of the coefficients at `places`.

    Other coefficients keep their values.
    """
    system = ConstantSystem(tuple(constants))
    index = {place: i for i, place in enumerate(places)}
    columns = [(i, index[place]) for i, place in enumerate(system.places) if place in index]
    base = system.coefficients(coefficients)
    base_sizes = system.sizes(base)

    def current(values: np.ndarray) -> np.ndarray:
        result = base.copy()
        for i, column in columns:
            result[i] = values[column]
        return result

    def product(weights: np.ndarray, values: np.ndarray) -> float:
        sizes = system.sizes(current(values))
        crossed = (weights != 0) & (sizes * base_sizes <= 0)
        if (crossed & (weights < 0)).any():  # a quotient has a pole where its divisor is zero
            return float(np.copysign(np.inf, _product(base_sizes, weights)))
        if (crossed & ((weights % 2 != 1) | (sizes == 0))).any():
            return 0.0
        return _product(sizes, weights)

    def total(row: int, values: np.ndarray) -> float:
        number = next(n.number for n in constants if n.place == system.places[row] and n.powers)
        return float((current(values)[row] - system.offset[row]) / number)

    rules = system.rules(base_sizes)
    sums = {system.text(system.places[row]): partial(total, row) for row in system.open_places()}
    return {name: partial(product, weights) for name, weights in rules.items()} | sums


def _has_root(weights: Iterable[float], sizes: Iterable[float]) -> bool:
    return all(
        size > 0 or (size < 0 and abs(weight) % 2 == 1)
        for weight, size in zip(weights, sizes, strict=True)
        if weight
    )


def _product(sizes: np.ndarray, weights: np.ndarray) -> float:
    used = weights != 0
    sign = np.prod(np.sign(sizes[used]))
    return float(sign * np.exp(weights[used] @ np.log(np.abs(sizes[used]))))
