"""`FeatureMap`: the terms of a library bound to variables, ready to be evaluated."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._errors import InputError, quoted, suggestion
from .._typing import Mask
from ._expression import Expression, Program, compiled, run, to_text
from ._families import MOST_TERMS, PerState
from ._library import AbstractLibrary


@final
@dataclass(frozen=True)
class FeatureMap:
    """theta_1 ... theta_K as functions of the variables, and which equation may use which.

    `allowed[c][k]` says whether equation c may use term k. Hashable, so that a compiled
    simulation is reused for every model with the same terms.
    """

    variables: tuple[str, ...]
    terms: tuple[Expression, ...]
    allowed: tuple[tuple[bool, ...], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(to_text(term) for term in self.terms)

    @cached_property
    def mask(self) -> Mask:
        return np.array(self.allowed, dtype=bool).reshape(len(self.allowed), len(self.terms))

    def columns(self, variables: Any, xp: Any) -> list[Any]:
        """One value per term, from one value per variable, in the arithmetic of `xp`."""
        return run(self._program, variables, xp)

    @cached_property
    def _program(self) -> Program:
        return compiled(self.terms)

    def __call__(self, variables: Float[np.ndarray, "N V"]) -> Float[np.ndarray, "N K"]:
        """The library matrix Phi on samples, by NumPy. May hold NaN or infinity."""
        result = np.empty((len(self.terms), len(variables)))
        with np.errstate(all="ignore"):
            for row, column in zip(result, self.columns(variables.T, np), strict=True):
                row[:] = column
        return result.T

    def only(self, chosen: Sequence[int]) -> "FeatureMap":
        """The map with only these terms."""
        return FeatureMap(
            self.variables,
            tuple(self.terms[k] for k in chosen),
            tuple(tuple(row[k] for k in chosen) for row in self.allowed),
        )


def bind(
    library: AbstractLibrary, variables: Sequence[str], equations: Sequence[str]
) -> FeatureMap:
    """The library's terms for these variables and equations."""
    if not isinstance(library, AbstractLibrary):
        raise InputError(
            f"library must be a library such as Polynomial(2) + Fourier(1); got {library!r}."
        )
    terms = library.terms(tuple(variables))
    if len(terms) > MOST_TERMS:
        raise InputError(f"The library has {len(terms)} terms; at most {MOST_TERMS} are allowed.")
    if isinstance(library, PerState):
        for state, _ in library.by_state:
            if state not in equations:
                raise InputError(
                    f"PerState names '{state}', which is not an equation."
                    f"{suggestion(state, equations)} The equations are {quoted(equations)}."
                )
        allowed = []
        for equation in equations:
            own = library.of(equation)
            if own is None:
                raise InputError(
                    f"PerState gives no library for '{equation}'. Add an entry or a default."
                )
            own_terms = set(own.terms(tuple(variables)))
            allowed.append(tuple(term in own_terms for term in terms))
    else:
        allowed = [(True,) * len(terms) for _ in equations]
    return FeatureMap(tuple(variables), terms, tuple(allowed))


def feature_names(library: AbstractLibrary, variables: Sequence[str]) -> tuple[str, ...]:
    """The names of the library's terms in these variables."""
    return tuple(to_text(term) for term in library.terms(tuple(variables)))
