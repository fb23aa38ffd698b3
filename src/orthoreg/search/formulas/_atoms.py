"""`Atom`: a formula of one's own for the search."""

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

_PLACES = ("z", "w")  # stand for any variable, unless the data have variables of these names


@final
@dataclass(frozen=True, init=False, repr=False)
class Atom:
    """A formula for `explain` and `discover` to try.

    Parameters
    ----------
    formula
        such as "exp(-p*z)*w": z and w stand for any two variables, unless the data have variables
        of these names. Other words are variables of the data, or inner parameters.
    bounds
        of each inner parameter, by its name: `Atom("exp(-p*z)*w", p=(0, 10))`.

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
            self, "bounds", tuple((name, _ends(formula, name, b)) for name, b in bounds.items())
        )

    def __repr__(self) -> str:
        ends = "".join(f", {name}=({low:g}, {high:g})" for name, (low, high) in self.bounds)
        return f"Atom({self.formula!r}{ends})"

    def shapes(self, names: Sequence[str], extent: Extent) -> list[ParametricTerm]:
        """The formula with each choice of variables in the place of z and w, where it is finite
        on all of the data."""
        bounds = dict(self.bounds)
        item = parse(self.formula, tuple(names), {*bounds, *_PLACES}, free=True)
        free = parameters_of(item) - bounds.keys()
        self._refuse_unknown(free - set(_PLACES), names)
        self._refuse_constant(variables_of(item), names, extent)
        moving = [Variable(v, names[v]) for v in np.flatnonzero(extent.varies).tolist()]
        places = [name for name in _PLACES if name in free]
        shapes = []
        for chosen in permutations(moving, len(places)):
            expression = substitute(item, dict(zip(places, chosen, strict=True)))
            shapes.append(self._shape(expression, bounds))
        if not shapes or not variables_of(shapes[0].expression):
            raise FormulaError(
                f"Atom('{self.formula}') is a function of no variable that moves; the data have "
                f"{quoted(names)}, and z and w stand for any of them."
            )
        found = [one for one in map(lambda one: _where_finite(one, extent), shapes) if one]
        if not found:
            raise InputError(self._undefined(shapes[0], names, extent))
        return found

    def _shape(self, expression: Any, bounds: dict[str, tuple[float, float]]) -> ParametricTerm:
        used = tuple(name for name in bounds if name in parameters_of(expression))
        each = limits.ATOM_VALUES.get(len(used), limits.MIN_ATOM_VALUES)
        axes = [_spaced(*bounds[name], each) for name in used]
        grid = np.array(list(product(*axes)), dtype=float).reshape(each ** len(used), len(used))
        low, high = (tuple(bounds[name][end] for name in used) for end in (0, 1))
        return ParametricTerm(expression, "own", used, grid, low, high)

    def _refuse_unknown(self, unknown: Set[str], names: Sequence[str]) -> None:
        for name in sorted(unknown):
            raise FormulaError(
                f"Atom('{self.formula}'): '{name}' is no variable of the data ({quoted(names)}) "
                f"and has no bounds.{suggestion(name, names)} Bounds make it a parameter: "
                f"Atom('{self.formula}', {name}=(0, 10))."
            )

    def _refuse_constant(self, used: frozenset[int], names: Sequence[str], extent: Extent) -> None:
        for v in sorted(used):
            if not extent.varies[v]:
                raise InputError(
                    f"Atom('{self.formula}'): '{names[v]}' has one distinct value in the data, "
                    f"{extent.low[v]:g}, so that no function of it can be told from a constant."
                )

    def _undefined(self, shape: ParametricTerm, names: Sequence[str], extent: Extent) -> str:
        finite: Any = np.isfinite(shape.columns(extent.sample, shape.grid)).all(axis=1)
        row = extent.sample[int(np.argmin(finite))]
        where = ", ".join(f"{names[v]} = {row[v]:.4g}" for v in variables_of(shape.expression))
        return (
            f"Atom('{self.formula}') is not finite on {int((~finite).sum())} of {len(finite)} "
            f"rows, for instance at {where}. Change the formula or its bounds, or leave these "
            f"rows out."
        )


def _ends(formula: str, name: str, given: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite([low, high]).all() and low < high):
        raise InputError(
            f"Atom('{formula}', {name}=...) needs two finite bounds, the lower one first, such as "
            f"{name}=(0, 10); got {given!r}."
        )
    return low, high


def _spaced(low: float, high: float, count: int) -> np.ndarray:
    """Values between bounds: evenly in their logarithm where both are positive, else evenly."""
    inside = (np.arange(count) + 0.5) / count
    return low * (high / low) ** inside if low > 0 else low + (high - low) * inside


def _where_finite(shape: ParametricTerm, extent: Extent) -> ParametricTerm | None:
    """The shape with those starts for which it is finite on all data; None if there are none."""
    finite = np.isfinite(shape.columns(extent.sample, shape.grid)).all(axis=0)
    return replace(shape, grid=shape.grid[finite]) if finite.any() else None
