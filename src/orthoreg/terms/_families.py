"""The libraries people start from: monomials, sines and cosines, formulas of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Any, final

from .._common.errors import FormulaError, InputError
from .._common.registry import part
from ._expression import ONE, ZERO, Expression, Number, Variable, call, multiply
from ._formula import parse
from ._library import AbstractLibrary, distinct, positive_integer
from ._structure import parameters_of, parameters_of_factors, variables_of

MOST_TERMS = 5000
"""More terms than this are a mistake: their Gram matrix alone would fill 200 MB."""


@part
@final
@dataclass(frozen=True)
class Polynomial(AbstractLibrary):
    """All monomials up to a total degree, the constant first.

    Parameters
    ----------
    degree
        the largest sum of exponents.
    include_constant
        whether 1 is a term.

    Examples
    --------
    >>> from orthoreg.terms import feature_names
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


@part
@final
@dataclass(frozen=True)
class Fourier(AbstractLibrary):
    """sin(k x) and cos(k x) of each variable.

    Parameters
    ----------
    n_frequencies
        k = 1 ... n_frequencies.

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
        return tuple(
            call(function, multiply(Number(float(k)), Variable(i, name)))
            for k in range(1, self.n_frequencies + 1)
            for i, name in enumerate(variables)
            for function in ("sin", "cos")
        )


@part
@final
@dataclass(frozen=True)
class Empty(AbstractLibrary):
    """No terms at all: the field is the residual alone."""

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
        texts such as "sin(3*theta)" or "x**2*y". A word that is no variable is a parameter inside a
        term, which a fit estimates: `Terms(["S/(K + S)"])` finds K.
    bounds
        of parameters; one without is positive.

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
        object.__setattr__(self, "bounds", _checked_bounds(self.bounds))

    def terms(self, variables: Sequence[str]) -> tuple[Expression, ...]:
        bounded = dict(self.bounds)
        terms = distinct([self._term(formula, variables, bounded) for formula in self.formulas])
        if ZERO in terms:
            raise FormulaError(f"A formula of {list(self.formulas)} is zero for all values.")
        for name in bounded:
            if not any(name in parameters_of(term) for term in terms):
                raise FormulaError(
                    f"Terms(bounds=...) names '{name}', which is no parameter of "
                    f"{list(self.formulas)}."
                )
        return terms

    def _term(
        self, formula: str, variables: Sequence[str], bounded: Mapping[str, object]
    ) -> Expression:
        term = parse(formula, variables, bounded, free=True)
        free = parameters_of(term)
        if free and not variables_of(term):
            return parse(formula, variables)  # which names the word that is no variable
        for name in free:
            if name in parameters_of_factors(term):
                raise FormulaError(
                    f"Formula '{formula}': '{name}' only multiplies the term, and the term's "
                    f"coefficient does so already. Leave it out."
                )
        return term


@part
@final
@dataclass(frozen=True, init=False)
class PerState(AbstractLibrary):
    """A library of its own for some equations.

    The table of coefficients stays rectangular: an equation has zeros for terms that only others
    may use. Added to another library it extends single equations:
    `Polynomial(2) + PerState({"S": Terms(["S/(K + S)"])})`.

    Parameters
    ----------
    by_state
        the library of each equation, or its text: {"omega": Fourier(1), "theta": "poly(1)"}.
    default
        of the equations without an entry.

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

    def terms_of(self, equation: str, variables: Sequence[str]) -> tuple[Expression, ...]:
        own = self.of(equation)
        return () if own is None else own.terms(variables)

    def parts(self) -> tuple[AbstractLibrary, ...]:
        own = tuple(library for _, library in self.by_state)
        return own if self.default is None else (*own, self.default)

    def of(self, state: str) -> AbstractLibrary | None:
        """The library of one equation, if it has one."""
        return dict(self.by_state).get(state, self.default)


def _checked_bounds(given: Any) -> tuple[tuple[str, tuple[float, float]], ...]:
    """Lower and upper ends by name, as something that can be hashed."""
    found = []
    for name, ends in dict(given).items():
        low, high = (float(end) for end in ends)
        if not low < high:
            raise InputError(
                f"Terms(bounds=...) needs a lower and a higher end for '{name}'; got {ends!r}."
            )
        found.append((str(name), (low, high)))
    return tuple(found)
