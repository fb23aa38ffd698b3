"""`FeatureMap`: the terms of a library, bound to variables and ready for evaluation."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.arrays import Mask
from .._common.errors import InputError, quoted, suggestion
from ..data import split_delayed
from ._expression import Expression, Number, Program, Variable, compiled, run, to_text
from ._formula import parse
from ._library import (
    AbstractLibrary,
    Empty,
    Neighbors,
    PerState,
    Terms,
    all_parts,
    distinct,
)
from ._limits import MAX_TERMS
from ._structure import parameters_of, substitute, variables_of


@final
@dataclass(frozen=True)
class FeatureMap:
    """Terms theta_1 ... theta_K as functions of the variables, and the terms that each equation may
    use.

    `allowed[c][k]` states whether equation c may use term k. `parameters` are the names of
    constants inside terms, and `values` are their values. Hashing ignores the values, so that a
    compiled simulation can be used with any values.
    """

    variables: tuple[str, ...]
    terms: tuple[Expression, ...]
    allowed: tuple[tuple[bool, ...], ...]
    parameters: tuple[str, ...] = ()
    values: tuple[float, ...] = field(default=(), compare=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(to_text(term) for term in self.terms)

    @cached_property
    def mask(self) -> Mask:
        return np.array(self.allowed, dtype=bool).reshape(len(self.allowed), len(self.terms))

    def columns(self, variables: Any, xp: Any, values: Any = None) -> list[Any]:
        """Return one value per term, given one value per variable, computed by `xp`.

        Under JAX, pass the `values` of parameters; otherwise they are compiled as constants.
        """
        values = self.values if values is None else values
        named = {name: values[i] for i, name in enumerate(self.parameters)}
        return run(self._program, variables, xp, named)

    @cached_property
    def _program(self) -> Program:
        return compiled(self.terms)

    def __call__(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N K"]:
        """Return the library matrix Phi at samples, computed by NumPy.

        It may contain NaN or infinity.
        """
        result = np.empty((len(self.terms), len(variables)))
        with np.errstate(all="ignore"):
            columns = np.ascontiguousarray(variables.T)
            for row, column in zip(result, self.columns(columns, np), strict=True):
                row[:] = column
        return result.T

    def only(self, chosen: Sequence[int]) -> "FeatureMap":
        """Return the map with only the chosen terms."""
        return replace(
            self,
            terms=tuple(self.terms[k] for k in chosen),
            allowed=tuple(tuple(row[k] for k in chosen) for row in self.allowed),
        )

    def among(self, candidates: Sequence[bool]) -> "FeatureMap":
        """Return the map with `candidates` as the only allowed terms.

        The indices of terms do not change.
        """
        rows = (zip(row, candidates, strict=True) for row in self.allowed)
        return replace(self, allowed=tuple(tuple(a and b for a, b in row) for row in rows))

    def resolved(self, digits: int | None = None) -> "FeatureMap":
        """Return the map with the values of parameters, rounded to `digits`, inserted into the
        terms.
        """
        shown = {
            name: Number(value if digits is None else float(f"{value:.{digits}g}"))
            for name, value in zip(self.parameters, self.values, strict=True)
        }
        terms = tuple(substitute(term, shown) for term in self.terms)
        return replace(self, terms=terms, parameters=(), values=())

    def with_values(self, values: Iterable[float]) -> "FeatureMap":
        """Return the map with other values of the parameters."""
        return replace(self, values=tuple(float(value) for value in values))


def bind(
    library: AbstractLibrary,
    variables: Sequence[str],
    equations: Sequence[str],
    given: Mapping[int, int] | None = None,
    time_input: int | None = None,
) -> FeatureMap:
    """Return the terms of a library for these variables and equations, without values of
    parameters.

    `given` maps an equation to the variable that it equals. This variable is then the only term of
    the equation, and is added to the library if necessary. Terms that contain the variable
    `time_input` are used only if they were written as formulas.
    """
    given = given or {}
    if not isinstance(library, AbstractLibrary):
        raise InputError(
            f"library must be a library such as Polynomial(2) + Fourier(1); got {library!r}."
        )
    names = tuple(variables)
    written = _written(library, names)
    terms = tuple(
        t for t in library.terms(names) if time_input not in variables_of(t) or t in written
    )
    if len(terms) > MAX_TERMS:
        raise InputError(f"The library has {len(terms)} terms; at most {MAX_TERMS} are allowed.")
    for part in all_parts(library):
        for state, _ in part.by_state if isinstance(part, PerState) else ():
            if state not in equations:
                raise InputError(
                    f"PerState names '{state}', which is not an equation."
                    f"{suggestion(state, equations)} The equations are {quoted(equations)}."
                )
    rates = {c: Variable(v, names[v]) for c, v in given.items()}
    n_library = len(terms)
    terms = distinct([*terms, *rates.values()])
    allowed = []
    differs = any(isinstance(part, PerState | Neighbors) for part in all_parts(library))
    index = {term: k for k, term in enumerate(terms[:n_library])}
    for c, equation in enumerate(equations):
        if c in rates:
            allowed.append(tuple(term == rates[c] for term in terms))
            continue
        candidates = library.terms_of(equation, names) if differs else terms[:n_library]
        if not candidates and not isinstance(library, Empty):
            raise InputError(
                f"PerState gives no library for '{equation}'. Add an entry or a default."
            )
        row = [False] * len(terms)
        for term in candidates:
            if term in index:  # terms that contain time may be excluded
                row[index[term]] = True
        allowed.append(tuple(row))
    parameters = sorted(frozenset().union(*(parameters_of(term) for term in terms)))
    check_delays(names, parameters)
    return FeatureMap(names, terms, tuple(allowed), tuple(parameters))


def check_delays(variables: Sequence[str], parameters: Iterable[str]) -> None:
    """Raise InputError if the constant of a delay also occurs in a term."""
    delays = {split[1] for name in variables if (split := split_delayed(name))}
    for name in sorted(delays.intersection(parameters)):
        raise InputError(
            f"'{name}' is a delay and also a constant of a term. Give the constant of the term "
            f"another name."
        )


def parameter_bounds(library: AbstractLibrary) -> dict[str, tuple[float, float]]:
    """Return the bounds on parameters that the library specifies."""
    return {
        name: (bounds[0], bounds[1])
        for part in all_parts(library)
        if isinstance(part, Terms)
        for name, bounds in dict(part.bounds).items()
    }


def feature_names(library: AbstractLibrary, variables: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the terms of a library in these variables."""
    return tuple(to_text(term) for term in library.terms(tuple(variables)))


def _written(library: AbstractLibrary, variables: tuple[str, ...]) -> set[Expression]:
    """Return the terms of the library that were written as formulas."""
    formulas = [part for part in all_parts(library) if isinstance(part, Terms)]
    return {term for part in formulas for term in part.terms(variables)}


def names_variable(library: AbstractLibrary, name: str, others: Sequence[str]) -> bool:
    """Return whether a formula of the library contains the variable `name`.

    `others` are the other variables.
    """
    formulas = [part.formulas for part in all_parts(library) if isinstance(part, Terms)]
    return any(
        0 in variables_of(parse(formula, (name, *others), free=True))
        for formula in itertools.chain(*formulas)
    )
