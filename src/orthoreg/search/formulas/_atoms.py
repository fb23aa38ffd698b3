"""`Atom`: a formula that a user adds to the search."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, final

import numpy as np

from ..._common.errors import FormulaError, InputError, quoted, suggestion
from ...data import Extent
from ...terms import Variable, parameters_of, parse, substitute, variables_of
from . import _limits as limits
from ._parametric_term import ParametricTerm

# these names denote any variable, unless the data have variables with these names
_PLACES = ("z", "w")


@final
@dataclass(frozen=True, init=False, repr=False)
class Atom:
    """A formula for `explain` and `discover` to try.

    Parameters
    ----------
    formula
        formula such as "exp(-p*z)*w". z and w denote any two variables, unless the data have
        variables with these names. Other names are variables of the data or inner parameters.
    bounds
        bounds on each inner parameter, by name: `Atom("exp(-p*z)*w", p=(0, 10))`.

    Examples
    --------
    >>> import orthoreg as og
    >>> atom = og.Atom("exp(-p*z)*w", p=(0, 10))
    >>> atom.formula, atom.bounds
    ('exp(-p*z)*w', (('p', (0.0, 10.0)),))
    """

    formula: str
    bounds: tuple[tuple[str, tuple[float, float]], ...]

    def __init__(self, formula: str, **bounds: Any):
        if not isinstance(formula, str):
            raise FormulaError(f"Atom needs a formula as text, as in Atom('sin(p*z)', p=(0, 5)); "
                               f"got {formula!r}.")  # fmt: skip
        known = parameters_of(parse(formula, (), bounds, free=True))
        for name in bounds:
            if name not in known:
                raise FormulaError(
                    f"Atom('{formula}') has bounds for '{name}', which is not in the formula."
                    f"{suggestion(name, known)}"
                )
        object.__setattr__(self, "formula", formula)
        object.__setattr__(
            self,
            "bounds",
            tuple((name, _ends(formula, name, given)) for name, given in bounds.items()),
        )

    def __repr__(self) -> str:
        bounds = "".join(f", {name}=({low:g}, {high:g})" for name, (low, high) in self.bounds)
        return f"Atom({self.formula!r}{bounds})"

    def terms(self, names: Sequence[str], extent: Extent) -> list[ParametricTerm]:
        """Return the formula for each choice of the variables z and w, as terms that are finite on
        all data.
        """
        bounds = dict(self.bounds)
        template = parse(self.formula, tuple(names), {*bounds, *_PLACES}, free=True)
        free = parameters_of(template) - bounds.keys()
        self._refuse_unknown(free - set(_PLACES), names)
        self._refuse_constant(variables_of(template), names, extent)
        moving = [Variable(v, names[v]) for v in np.flatnonzero(extent.varies).tolist()]
        placeholders = [name for name in _PLACES if name in free]
        terms = []
        for arguments in permutations(moving, len(placeholders)):
            expression = substitute(template, dict(zip(placeholders, arguments, strict=True)))
            terms.append(self._with_values(expression, bounds))
        if not terms or not variables_of(terms[0].expression):
            raise FormulaError(
                f"Atom('{self.formula}') contains no variable that moves; the data have "
                f"{quoted(names)}, and z and w stand for any of them."
            )
        defined = [term for term in map(lambda term: _where_finite(term, extent), terms) if term]
        if not defined:
            raise InputError(self._undefined(terms[0], names, extent))
        return defined

    def _with_values(
        self, expression: Any, bounds: dict[str, tuple[float, float]]
    ) -> ParametricTerm:
        parameters = tuple(name for name in bounds if name in parameters_of(expression))
        count = limits.ATOM_VALUES.get(len(parameters), limits.MIN_ATOM_VALUES)
        axes = [_spaced(*bounds[name], count) for name in parameters]
        grid = np.array(list(product(*axes)), dtype=float).reshape(
            count ** len(parameters), len(parameters)
        )
        low, high = (tuple(bounds[name][end] for name in parameters) for end in (0, 1))
        return ParametricTerm(expression, "own", parameters, grid, low, high)

    def _refuse_unknown(self, unknown: Set[str], names: Sequence[str]) -> None:
        for name in sorted(unknown):
            raise FormulaError(
                f"Atom('{self.formula}'): '{name}' is not a variable of the data "
                f"({quoted(names)}) and has no bounds.{suggestion(name, names)} To make it a "
                f"parameter, give bounds: Atom('{self.formula}', {name}=(0, 10))."
            )

    def _refuse_constant(self, used: frozenset[int], names: Sequence[str], extent: Extent) -> None:
        for v in sorted(used):
            if not extent.varies[v]:
                raise InputError(
                    f"Atom('{self.formula}'): '{names[v]}' has only one value in the data, "
                    f"{extent.low[v]:g}, so functions of it are constant on these data."
                )

    def _undefined(self, term: ParametricTerm, names: Sequence[str], extent: Extent) -> str:
        is_finite: Any = np.isfinite(term.columns(extent.sample, term.grid)).all(axis=1)
        row = extent.sample[int(np.argmin(is_finite))]
        where = ", ".join(f"{names[v]} = {row[v]:.4g}" for v in variables_of(term.expression))
        return (
            f"Atom('{self.formula}') is not finite on {int((~is_finite).sum())} of "
            f"{len(is_finite)} rows, for instance at {where}. Change the formula or its bounds, "
            f"or omit these rows."
        )


def _ends(formula: str, name: str, value: Any) -> tuple[float, float]:
    try:
        low, high = (float(bound) for bound in value)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(
            f"Atom('{formula}', {name}=...) needs two finite bounds, the lower one first, such as "
            f"{name}=(0, 10); got {value!r}."
        )
    return low, high


def _spaced(low: float, high: float, count: int) -> np.ndarray:
    """Return values between two bounds. They are logarithmically spaced if the bounds are
    positive.
    """
    share = (np.arange(count) + 0.5) / count
    return low * (high / low) ** share if low > 0 else low + (high - low) * share


def _where_finite(term: ParametricTerm, extent: Extent) -> ParametricTerm | None:
    """Return the term with only those starting values for which it is finite on all data.

    Return None if there are none.
    """
    is_finite = np.isfinite(term.columns(extent.sample, term.grid)).all(axis=0)
    return replace(term, grid=term.grid[is_finite]) if is_finite.any() else None
