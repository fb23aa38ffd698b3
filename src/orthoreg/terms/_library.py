"""What a library is, and how two of them are joined and multiplied."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import final

from .._common.errors import InputError
from .._common.registry import part
from ._expression import Expression, multiply


class AbstractLibrary(abc.ABC):
    """A recipe for candidate terms; it becomes formulas once the variables have names.

    `a + b` joins two libraries, `a * b` holds every product of their terms; a term that both
    give stands there once.
    """

    @abc.abstractmethod
    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        """The candidate terms in these variables, without repetition."""

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        """Those that one equation may use: all, unless a library says otherwise."""
        return self.terms(variables)

    def parts(self) -> "tuple[AbstractLibrary, ...]":
        """The libraries that this one is made of, if it is made of any."""
        return ()

    def __add__(self, other: "AbstractLibrary") -> "AbstractLibrary":
        return Joined(self, other) if isinstance(other, AbstractLibrary) else NotImplemented

    def __mul__(self, other: "AbstractLibrary") -> "AbstractLibrary":
        return Products(self, other) if isinstance(other, AbstractLibrary) else NotImplemented


@part
@final
@dataclass(frozen=True)
class Joined(AbstractLibrary):
    """The terms of one library, then those of another. Written `first + second`."""

    first: AbstractLibrary
    second: AbstractLibrary

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return distinct([*self.first.terms(variables), *self.second.terms(variables)])

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        sides = (self.first, self.second)
        return distinct([term for side in sides for term in side.terms_of(equation, variables)])

    def parts(self) -> tuple[AbstractLibrary, ...]:
        return (self.first, self.second)

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"


@part
@final
@dataclass(frozen=True)
class Products(AbstractLibrary):
    """Every product of a term of one library and a term of another. Written `first * second`."""

    first: AbstractLibrary
    second: AbstractLibrary

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return _products(self.first.terms(variables), self.second.terms(variables))

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        return _products(
            self.first.terms_of(equation, variables), self.second.terms_of(equation, variables)
        )

    def parts(self) -> tuple[AbstractLibrary, ...]:
        return (self.first, self.second)

    def __repr__(self) -> str:
        sides = [
            f"({side!r})" if isinstance(side, Joined) else f"{side!r}"
            for side in (self.first, self.second)
        ]
        return " * ".join(sides)


def _products(first: Sequence[Expression], second: Sequence[Expression]) -> tuple[Expression, ...]:
    return distinct([multiply(left, right) for left in first for right in second])


def distinct(terms: Sequence[Expression]) -> tuple[Expression, ...]:
    """The terms in order, each once."""
    return tuple(dict.fromkeys(terms))


def positive_integer(value: object, what: str, least: int = 1) -> int:
    """The value if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise InputError(f"{what} must be a whole number of at least {least}; got {value!r}.")
    return int(value)
