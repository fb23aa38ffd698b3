"""From measured rows and a library to the gaps of each equation, with candidates that fill them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

from .._errors import InputError
from .._progress import progress
from ..libraries import FeatureMap, parameters_of
from ._atoms import Atom
from ._candidates import Candidate
from ._catalogue import catalogue
from ._dictionary import Dictionary, dictionary
from ._equation import Equation
from ._measurements import Measurements
from ._search import search
from ._shapes import Shape

LEAST_GAIN = 10.0
"""Nats by which a candidate with new terms must be better than the library's best."""

_FARTHEST = 60.0  # nats behind the best candidate, up to which others are proposed


@final
@dataclass(frozen=True, eq=False)
class Gap:
    """One equation: the best that the library can do, and all candidates, best first."""

    equation: Equation
    base: Candidate
    candidates: tuple[Candidate, ...]

    @property
    def proposals(self) -> tuple[Candidate, ...]:
        """The candidates with new terms that are clearly better than the library."""
        return tuple(
            one
            for one in self.candidates
            if one.new
            and self.base.score - one.score >= LEAST_GAIN
            and one.score - self.candidates[0].score <= _FARTHEST
        )


def explain_rows(
    rows: Measurements,
    features: FeatureMap,
    atoms: Sequence[Any] = (),
    *,
    supports: dict[int, Sequence[int]] | None = None,
    is_expected: bool = True,
    goes_on: Callable[[], bool] = lambda: True,
    most: int = 16,
) -> list[Gap]:
    """The gaps of all equations that are learned. `features` is the library, whose terms are
    cheaper than others if it `is_expected`; `supports` are the terms that a model uses in each
    equation."""
    gaps = []
    shapes = new_shapes(rows, atoms)
    with progress("Searching", float(len(rows.learned))) as show:
        for done, c in enumerate(rows.learned):
            show(float(done), rows.outputs[c])
            terms = dictionary([*known_shapes(features, c, is_expected), *shapes], rows)
            support = _columns(terms, features, (supports or {}).get(c, ()))
            equation = Equation(rows, terms, c)
            found = search(equation, support, goes_on=goes_on, most=most)
            gaps.append(Gap(equation, found.base, found.candidates))
    return gaps


def known_shapes(features: FeatureMap, output: int, is_expected: bool = True) -> list[Shape]:
    """The terms of the library that an equation may use, parameters at their values."""
    resolved = features.resolved() if features.values else features
    return [
        Shape(term, "known", known=True, is_expected=is_expected, written_as=name)
        for term, name, allowed in zip(
            resolved.terms, features.names, features.mask[output], strict=True
        )
        if allowed and not parameters_of(term)
    ]


def new_shapes(rows: Measurements, atoms: Sequence[Any]) -> list[Shape]:
    """The user's atoms, then the catalogue."""
    for atom in atoms:
        if not isinstance(atom, Atom):
            raise InputError(
                f"atoms must be a list of Atom, such as [Atom('sin(p*z)', p=(0, 5))]; "
                f"it has {atom!r}."
            )
    own = [shape for atom in atoms for shape in atom.shapes(rows.names, rows.extent)]
    return own + catalogue(rows.names, rows.extent)


def _columns(terms: Dictionary, features: FeatureMap, support: Sequence[int]) -> list[int]:
    """The columns of the dictionary that are these terms."""
    resolved = features.resolved() if features.values else features
    wanted = {resolved.terms[k] for k in support}
    return [
        k
        for k in range(len(terms.shape))
        if terms.known[k] and terms.shapes[terms.shape[k]].expression in wanted
    ]
