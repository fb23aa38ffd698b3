"""The libraries people start from: monomials, sines and cosines, formulas of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import final

from .._errors import FormulaError, InputError
from ._expression import ONE, ZERO, Expression, Number, Variable, call, multiply
from ._formula import parse
from ._library import AbstractLibrary, distinct, positive_integer

MOST_TERMS = 5000
"""More terms than this are a mistake: their Gram matrix alone would fill 200 MB."""


@final
@dataclass(frozen=True)
class Polynomial(AbstractLibrary):
    """All monomials up to a total degree, the constant first.

    >>> from orthoreg.libraries import feature_names
    >>> feature_names(Polynomial(2), ["x", "y"])
    ('1', 'x', 'y', 'x**2', 'x*y', 'y**2')
    """

    degree: int
    include_constant: bool = True

    def __post_init__(self):
        degree = positive_integer(self.degree, "Polynomial(degree=...)", least=0)
        object.__setattr__(self, "degree", degree)
        if not (degree or self.include_constant):
            raise InputError("Polynomial(0, include_constant=False) has no terms.")

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        nodes = [Variable(i, name) for i, name in enumerate(variables)]
        count = comb(len(nodes) + self.degree, self.degree)
        if count > MOST_TERMS:
            raise InputError(
                f"Polynomial({self.degree}) in {len(nodes)} variables has {count} terms; at most "
                f"{MOST_TERMS} are allowed. Choose a lower degree."
            )
        start = 0 if self.include_constant else 1
        return tuple(
            multiply(ONE, *chosen)
            for degree in range(start, self.degree + 1)
            for chosen in combinations_with_replacement(nodes, degree)
        )


@final
@dataclass(frozen=True)
class Fourier(AbstractLibrary):
    """sin(k x) and cos(k x) of each variable for k = 1 ... n_frequencies."""

    n_frequencies: int = 1

    def __post_init__(self):
        count = positive_integer(self.n_frequencies, "Fourier(n_frequencies=...)")
        object.__setattr__(self, "n_frequencies", count)

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return tuple(
            call(function, multiply(Number(float(k)), Variable(i, name)))
            for k in range(1, self.n_frequencies + 1)
            for i, name in enumerate(variables)
            for function in ("sin", "cos")
        )


@final
@dataclass(frozen=True)
class Empty(AbstractLibrary):
    """No terms at all: the field is the residual alone."""

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return ()


@final
@dataclass(frozen=True)
class Terms(AbstractLibrary):
    """Terms written as formulas: `Terms(["sin(3*theta)", "x**2*y"])`."""

    formulas: Sequence[str]

    def __post_init__(self):
        if isinstance(self.formulas, str):
            raise FormulaError(
                f"Terms needs a list of formulas; got the text '{self.formulas}'. "
                f"Write Terms(['{self.formulas}'])."
            )
        object.__setattr__(self, "formulas", tuple(self.formulas))
        if not self.formulas:
            raise FormulaError("Terms needs at least one formula; the list is empty.")

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        terms = distinct([parse(formula, variables) for formula in self.formulas])
        if ZERO in terms:
            raise FormulaError(f"A formula of {list(self.formulas)} is zero for all values.")
        return terms


@final
@dataclass(frozen=True, init=False)
class PerState(AbstractLibrary):
    """A library of its own for some equations: `PerState({"omega": Fourier(1)}, default=...)`.

    A library may be text, as in `PerState({"omega": "fourier(1)"}, default="poly(2)")`. The table
    of coefficients stays rectangular: an equation has zeros for terms that only others may use.
    Equations without an entry take `default`.
    """

    by_state: tuple[tuple[str, AbstractLibrary], ...]
    default: AbstractLibrary | None

    def __init__(
        self,
        by_state: Mapping[str, AbstractLibrary | str] | Sequence[tuple[str, AbstractLibrary | str]],
        default: AbstractLibrary | str | None = None,
    ):
        from ._spec import as_library  # which reads these families

        pairs = tuple((name, as_library(library)) for name, library in dict(by_state).items())
        default = as_library(default)
        for library in [library for _, library in pairs] + ([default] if default else []):
            if isinstance(library, PerState):
                raise InputError("PerState cannot stand inside another PerState.")
            if not isinstance(library, AbstractLibrary):
                raise InputError(
                    f"PerState needs a library such as Polynomial(2) for each state; "
                    f"got {library!r}."
                )
        object.__setattr__(self, "by_state", pairs)
        object.__setattr__(self, "default", default)

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        libraries = [library for _, library in self.by_state]
        if self.default is not None:
            libraries.append(self.default)
        return distinct([term for library in libraries for term in library.terms(variables)])

    def of(self, state: str) -> AbstractLibrary | None:
        """The library of one equation, if it has one."""
        return dict(self.by_state).get(state, self.default)

    def __add__(self, other: AbstractLibrary) -> AbstractLibrary:
        raise InputError(
            "PerState cannot be joined with '+' or '*': change each of its entries instead."
        )

    __mul__ = __radd__ = __rmul__ = __add__
