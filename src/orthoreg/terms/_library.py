"""Libraries of candidate terms: monomials, Fourier terms, formulas, and their combinations."""

import abc
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from numbers import Integral
from typing import Any, final

from .._common.errors import FormulaError, InputError, quoted, shortened, suggestion
from .._common.registry import part
from ..data import delays_in, split_delayed
from ._expression import ONE, ZERO, Expression, Number, Variable, call, multiply, replace_variables
from ._formula import parse
from ._limits import MAX_PRODUCTS, MAX_TERMS
from ._structure import parameters_of, parameters_of_factors, variables_of


class AbstractLibrary(abc.ABC):
    """A recipe for candidate terms. They become formulas once the variables are known.

    `a + b` joins two libraries. `a * b` contains all products of their terms. Equal terms are
    merged.
    """

    @abc.abstractmethod
    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        """Return the candidate terms in these variables, without repetition."""

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        """Return the candidate terms of one equation. By default, these are all terms."""
        return self.terms(variables)

    def parts(self) -> "tuple[AbstractLibrary, ...]":
        """Return the libraries that make up this library."""
        return ()

    def __add__(self, other: "AbstractLibrary") -> "AbstractLibrary":
        return Joined(self, other) if isinstance(other, AbstractLibrary) else NotImplemented

    def __mul__(self, other: "AbstractLibrary") -> "AbstractLibrary":
        return Products(self, other) if isinstance(other, AbstractLibrary) else NotImplemented


@part
@final
@dataclass(frozen=True)
class Joined(AbstractLibrary):
    """The terms of two libraries, written as `first + second`."""

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
    """All products of a term of one library and a term of another, written as `first * second`."""

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
    count = len(first) * len(second)
    if count > MAX_PRODUCTS:
        raise InputError(
            f"The product of libraries with {len(first)} and {len(second)} terms has {count} "
            f"products; at most {MAX_PRODUCTS} are allowed. Multiply smaller libraries."
        )
    return distinct([multiply(left, right) for left in first for right in second])


def distinct(terms: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return the terms in order, without repetition."""
    return tuple(dict.fromkeys(terms))


def _undelayed(variables: Sequence[str]) -> list[Variable]:
    """Return the variables for families of terms.

    Delayed variables, such as u(t - tau), occur only in formulas.
    """
    return [Variable(i, name) for i, name in enumerate(variables) if split_delayed(name) is None]


def _check_size(family: str, variables: Sequence[Variable], count: int, fix: str) -> None:
    """Raise InputError if a family has too many terms, before they are built."""
    if count > MAX_TERMS:
        shown = f"{count} terms" if count < 10**9 else "over a billion terms"
        raise InputError(
            f"{family} in {len(variables)} variables has {shown}; at most {MAX_TERMS} are "
            f"allowed. {fix}"
        )


def positive_integer(value: object, what: str, minimum: int = 1) -> int:
    """Return the value. Raise InputError unless it is an integer of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < minimum:
        raise InputError(f"{what} must be a whole number of at least {minimum}; got {value!r}.")
    return int(value)


@part
@final
@dataclass(frozen=True)
class Polynomial(AbstractLibrary):
    """All monomials up to a total degree, starting with the constant.

    Parameters
    ----------
    degree
        maximum sum of exponents.
    include_constant
        whether to include the constant 1.

    Examples
    --------
    >>> from orthoreg.terms import feature_names
    >>> feature_names(Polynomial(2), ["x", "y"])
    ('1', 'x', 'y', 'x**2', 'x*y', 'y**2')
    """

    degree: int
    include_constant: bool = True

    def __post_init__(self):
        degree = positive_integer(self.degree, "Polynomial(degree=...)", minimum=0)
        object.__setattr__(self, "degree", degree)
        if not (degree or self.include_constant):
            raise InputError("Polynomial(0, include_constant=False) has no terms.")

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        nodes = _undelayed(variables)
        count = comb(len(nodes) + self.degree, self.degree)
        _check_size(f"Polynomial({self.degree})", nodes, count, "Choose a lower degree.")
        start = 0 if self.include_constant else 1
        return tuple(
            multiply(ONE, *factors)
            for degree in range(start, self.degree + 1)
            for factors in combinations_with_replacement(nodes, degree)
        )


@part
@final
@dataclass(frozen=True)
class Fourier(AbstractLibrary):
    """sin(k x) and cos(k x) of each variable.

    Parameters
    ----------
    n_frequencies
        maximum k; k = 1 ... n_frequencies.

    Examples
    --------
    >>> from orthoreg.terms import feature_names
    >>> feature_names(Fourier(1), ["x"])
    ('sin(x)', 'cos(x)')
    """

    n_frequencies: int = 1

    def __post_init__(self):
        count = positive_integer(self.n_frequencies, "Fourier(n_frequencies=...)")
        object.__setattr__(self, "n_frequencies", count)

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        nodes = _undelayed(variables)
        count = 2 * self.n_frequencies * len(nodes)
        _check_size(f"Fourier({self.n_frequencies})", nodes, count, "Choose fewer frequencies.")
        return tuple(
            call(function, multiply(Number(float(k)), variable))
            for k in range(1, self.n_frequencies + 1)
            for variable in nodes
            for function in ("sin", "cos")
        )


@part
@final
@dataclass(frozen=True)
class Empty(AbstractLibrary):
    """A library without terms. The field then consists of the residual alone."""

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return ()


@part
@final
@dataclass(frozen=True)
class Terms(AbstractLibrary):
    """Terms written as formulas.

    Parameters
    ----------
    formulas
        formulas such as "sin(3*theta)" or "x**2*y". Words that are not variables are parameters,
        which a fit estimates: `Terms(["S/(K + S)"])` estimates K. "u(t - tau)" is an earlier value
        of u, and tau its delay.
    bounds
        bounds on parameters, by name. Parameters without bounds are positive.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> S = np.linspace(0.1, 3, 60)[:, None]
    >>> data = og.Dataset.from_arrays(S, 0.1, names=["S"], derivatives=2 * S / (0.7 + S))
    >>> model = og.OrthoReg(og.Terms(["S/(K + S)"], bounds={"K": (0.1, 5)}), og.Zero()).fit(data)
    >>> round(model.parameters_["K"], 3)
    0.7
    """

    formulas: Sequence[str]
    bounds: Mapping[str, Sequence[int | float]] | Sequence[Any] = ()

    def __post_init__(self):
        if isinstance(self.formulas, str):
            raise FormulaError(
                f"Terms needs a list of formulas; got the text '{self.formulas}'. "
                f"Write Terms(['{self.formulas}'])."
            )
        object.__setattr__(self, "formulas", tuple(self.formulas))
        if not self.formulas:
            raise FormulaError("Terms needs at least one formula; the list is empty.")
        if len(self.formulas) > MAX_TERMS:
            raise FormulaError(
                f"Terms may have at most {MAX_TERMS} formulas; got {len(self.formulas)}."
            )
        object.__setattr__(self, "bounds", _checked_bounds(self.bounds))

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        bounded = dict(self.bounds)
        terms = distinct([self._term(formula, variables, bounded) for formula in self.formulas])
        if ZERO in terms:
            formula = next(f for f in self.formulas if self._term(f, variables, bounded) == ZERO)
            raise FormulaError(f"Formula '{shortened(formula)}' is zero for all values.")
        delays = {written.delay for formula in self.formulas for written in delays_in(formula)}
        for name in bounded:
            if name not in delays and not any(name in parameters_of(term) for term in terms):
                raise FormulaError(
                    f"Terms(bounds=...) names '{name}', which is not a parameter of "
                    f"{quoted(self.formulas)}."
                )
        return terms

    def _term(
        self, formula: str, variables: Sequence[str], bounded: Mapping[str, object]
    ) -> Expression:
        term = parse(formula, variables, bounded, free=True)
        free = parameters_of(term)
        if free and not variables_of(term):
            return parse(formula, variables)  # raise an error that names the word
        for name in free:
            if name in parameters_of_factors(term):
                raise FormulaError(
                    f"Formula '{formula}': '{name}' only multiplies the term, which already has a "
                    "coefficient. Omit it."
                )
        return term


@part
@final
@dataclass(frozen=True, init=False)
class PerState(AbstractLibrary):
    """A separate library for each equation.

    The coefficient matrix remains rectangular: coefficients of terms that an equation may not have
    are zero. Add `PerState` to another library to extend single equations: `Polynomial(2) +
    PerState({"S": Terms(["S/(K + S)"])})`.

    Parameters
    ----------
    by_state
        library of each equation, or its text: {"omega": Fourier(1), "theta": "poly(1)"}.
    default
        library of equations without an entry.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> states = np.column_stack([np.sin(t), np.cos(t)])
    >>> library = og.PerState({"x0": "x1", "x1": "poly(1)"})
    >>> og.OrthoReg(library, og.Zero()).fit(states, t=t).equations(2)
    ["x0' = 1.0 x1", "x1' = -1.0 x0"]
    """

    by_state: tuple[tuple[str, AbstractLibrary], ...]
    default: AbstractLibrary | None

    def __init__(
        self,
        by_state: Mapping[str, AbstractLibrary | str] | Sequence[tuple[str, AbstractLibrary | str]],
        default: AbstractLibrary | str | None = None,
    ):
        from ._spec import as_library  # imports these families

        pairs = tuple((name, as_library(library)) for name, library in dict(by_state).items())
        default = as_library(default)
        for library in [library for _, library in pairs] + ([default] if default else []):
            if isinstance(library, PerState):
                raise InputError("PerState cannot be nested in another PerState.")
            if not isinstance(library, AbstractLibrary):
                raise InputError(
                    f"PerState needs a library such as Polynomial(2) for each state; "
                    f"got {library!r}."
                )
        object.__setattr__(self, "by_state", pairs)
        object.__setattr__(self, "default", default)

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        return distinct([term for part in self.parts() for term in part.terms(variables)])

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        library = self.of(equation)
        return () if library is None else library.terms(variables)

    def parts(self) -> tuple[AbstractLibrary, ...]:
        libraries = tuple(library for _, library in self.by_state)
        return libraries if self.default is None else (*libraries, self.default)

    def of(self, state: str) -> AbstractLibrary | None:
        """Return the library of one equation, or None."""
        return dict(self.by_state).get(state, self.default)


def _checked_bounds(given: Any) -> tuple[tuple[str, tuple[float, float]], ...]:
    """Return (name, (lower, upper)) pairs, which are hashable."""
    bounds = []
    for name, limits in dict(given).items():
        low, high = (float(end) for end in limits)
        if not low < high:
            raise InputError(
                f"Terms(bounds=...) needs a lower and a higher end for '{name}'; got {limits!r}."
            )
        bounds.append((str(name), (low, high)))
    return tuple(bounds)


_NUMBER = re.compile(r"(\d+)\D*$", re.ASCII)


@part
@final
@dataclass(frozen=True, init=False)
class Neighbors(AbstractLibrary):
    """The terms of a library, restricted to neighbouring variables in each equation.

    Variables are neighbours if the numbers in their names differ by at most `reach`: in a chain q0
    ... q99, v0 ... v99 the equation of v7 has terms in q6, q7, q8, v6, v7 and v8. Variables without
    a number, such as inputs, are neighbours of all equations. They are the only neighbours of an
    equation without a number. `of` lists the neighbours explicitly.

    Parameters
    ----------
    library
        library of terms in the neighbours, or its text. Formulas name their variables, so add them
        separately, as in `Neighbors(Polynomial(2)) + Terms(["sin(q3)"])`.
    reach
        maximum difference of numbers.
    of
        neighbours of each equation, {"a": ["a", "b"], "b": ["a", "b", "c"]}.

    Examples
    --------
    >>> from orthoreg.terms import Polynomial, to_text
    >>> library = Neighbors(Polynomial(1), reach=1)
    >>> [to_text(term) for term in library.terms_of("x3", ["x0", "x1", "x2", "x3", "x4"])]
    ['1', 'x2', 'x3', 'x4']
    """

    library: AbstractLibrary
    reach: int
    of: tuple[tuple[str, tuple[str, ...]], ...]

    def __init__(
        self,
        library: AbstractLibrary | str,
        reach: int = 1,
        of: Mapping[str, Sequence[str]] | Sequence[tuple[str, Sequence[str]]] = (),
    ):
        from ._spec import as_library  # imports this family

        library = as_library(library)
        if not isinstance(library, AbstractLibrary):
            raise InputError(f"Neighbors needs a library such as Polynomial(2); got {library!r}.")
        if any(isinstance(part, Terms | PerState | Neighbors) for part in all_parts(library)):
            raise InputError(
                "Neighbors takes families such as Polynomial(2) and Fourier(1). Add formulas and "
                "libraries of individual equations to it: "
                'Neighbors(Polynomial(2)) + Terms(["sin(x3)"]).'
            )
        given = tuple((str(name), tuple(map(str, seen))) for name, seen in dict(of).items())
        object.__setattr__(self, "library", library)
        object.__setattr__(self, "reach", positive_integer(reach, "Neighbors(reach=...)", 0))
        object.__setattr__(self, "of", given)

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        equations = [name for name, _ in self.of] or variables
        seen = dict.fromkeys(self._near(equation, variables) for equation in equations)
        return distinct([term for near in seen for term in self._in(near, variables)])

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        return self._in(self._near(equation, variables), variables)

    def parts(self) -> tuple[AbstractLibrary, ...]:
        return (self.library,)

    def _in(self, near: tuple[int, ...], variables: Sequence[str]) -> tuple[Expression, ...]:
        """Return the library's terms in the variables with the indices `near`."""
        neighbors = [Variable(index, variables[index]) for index in near]
        terms = self.library.terms([variable.name for variable in neighbors])
        return tuple(replace_variables(term, neighbors) for term in terms)

    def _near(self, equation: str, variables: Sequence[str]) -> tuple[int, ...]:
        """Return the indices of the neighbours of an equation."""
        if self.of:
            seen = dict(self.of).get(equation)
            if seen is None:
                raise InputError(
                    f"Neighbors(of=...) has no entry for '{equation}'; it needs one for each "
                    f"equation."
                )
            for name in seen:
                if name not in variables:
                    raise InputError(
                        f"Neighbors(of=...) names '{name}', which is not a variable."
                        f"{suggestion(name, variables)} The variables are {quoted(variables)}."
                    )
            return tuple(variables.index(name) for name in seen)
        center = _number(equation)
        numbers = [_number(name) for name in variables]
        return tuple(
            index
            for index, number in enumerate(numbers)
            if number is None or (center is not None and abs(number - center) <= self.reach)
        )


def _number(name: str) -> int | None:
    """Return the last number in a name, such as 12 for 'T_12' and 'v12_dot', or None."""
    match = _NUMBER.search(name)
    return None if match is None else int(match[1])


def all_parts(library: AbstractLibrary) -> list[AbstractLibrary]:
    """Return the library, and all libraries that make it up."""
    return [library, *(nested for part in library.parts() for nested in all_parts(part))]
