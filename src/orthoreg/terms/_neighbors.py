"""`Neighbors`: libraries of many states, of which each equation sees only those near it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from .._common.errors import InputError, quoted, suggestion
from .._common.registry import part
from ._expression import Expression, Variable, replace_variables
from ._families import PerState, Terms
from ._library import AbstractLibrary, distinct, positive_integer

_NUMBER = re.compile(r"(\d+)\D*$", re.ASCII)


@part
@final
@dataclass(frozen=True, init=False)
class Neighbors(AbstractLibrary):
    """The terms of a library, for each equation in the variables near it alone.

    Variables are neighbours if the numbers in their names differ by no more than `reach`: in a
    chain q0 ... q99, v0 ... v99 the equation of v7 has terms in q6, q7, q8, v6, v7 and v8. A
    variable without a number, such as an input, is seen by all equations; an equation without one
    sees only such variables. Where names do not tell, `of` says which variables each equation sees.

    Parameters
    ----------
    library
        of the neighbours, or its text. Formulas name their variables themselves: they are added
        to it, `Neighbors(Polynomial(2)) + Terms(["sin(q3)"])`.
    reach
        how many places away a neighbour may be.
    of
        the variables of each equation, {"a": ["a", "b"], "b": ["a", "b", "c"]}.

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
        from ._spec import as_library  # which reads this family

        library = as_library(library)
        if not isinstance(library, AbstractLibrary):
            raise InputError(f"Neighbors needs a library such as Polynomial(2); got {library!r}.")
        if any(isinstance(one, Terms | PerState | Neighbors) for one in _all_parts(library)):
            raise InputError(
                "Neighbors takes families such as Polynomial(2) and Fourier(1). Formulas and "
                "libraries of single equations are added to it: "
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
        """The terms in these variables, by their places among all."""
        own = [Variable(place, variables[place]) for place in near]
        terms = self.library.terms([one.name for one in own])
        return tuple(replace_variables(term, own) for term in terms)

    def _near(self, equation: str, variables: Sequence[str]) -> tuple[int, ...]:
        """The places of the variables that an equation sees."""
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
                        f"Neighbors(of=...) names '{name}', which is no variable."
                        f"{suggestion(name, variables)} The variables are {quoted(variables)}."
                    )
            return tuple(variables.index(name) for name in seen)
        own = _number(equation)
        numbers = [_number(name) for name in variables]
        return tuple(
            place
            for place, number in enumerate(numbers)
            if number is None or (own is not None and abs(number - own) <= self.reach)
        )


def _number(name: str) -> int | None:
    """The last number in a name: 12 of 'T_12' and of 'v12_dot'."""
    found = _NUMBER.search(name)
    return None if found is None else int(found[1])


def _all_parts(library: AbstractLibrary) -> list[AbstractLibrary]:
    return [library, *(one for part in library.parts() for one in _all_parts(part))]
