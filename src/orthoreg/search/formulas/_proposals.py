"""Candidates for each equation, from measured rows, a library and what is known."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from jaxtyping import Bool

from ..._common.errors import InputError
from ..._common.parallel import has_cluster, map_in_order
from ..._common.progress import progress
from ...physics import Knowledge
from ...terms import Expression, FeatureMap, parameters_of, to_text, variables_of
from ._atoms import Atom
from ._candidates import Candidate, scored_fit
from ._catalogue import catalogue
from ._equation import Dictionary, Equation, dictionary
from ._limits import BOUND_SLACK
from ._measurements import Measurements
from ._parametric_term import ParametricTerm, symmetric
from ._projection import project
from ._search import FAMILIES, Found, compare, search
from ._variants import in_other_roles


@final
@dataclass(frozen=True, eq=False)
class CoefficientConstraints:
    """Bounds of the coefficients of terms, the terms that every candidate must have, and the rows,
    at whose outer points candidates must be defined."""

    bounds: dict[Expression, tuple[float, float]]
    required: frozenset[Expression]
    rows: Measurements

    def allow(self, candidate: Candidate) -> bool:
        """Return whether a candidate has the required terms, respects the bounds within the errors,
        and is defined where it must be."""
        if not self.required <= set(candidate.terms) or not self.rows.are_defined(candidate.values):
            return False
        errors = candidate.standard_errors()
        for term, w, error in zip(
            candidate.terms, candidate.fit.coefficients, errors, strict=False
        ):
            low, high = self.bounds.get(term, (-np.inf, np.inf))
            slack = BOUND_SLACK * float(np.nan_to_num(error))
            if not low - slack <= w <= high + slack:
                return False
        return True


def constraints_on(
    features: FeatureMap, knowledge: Knowledge, output: int, rows: Measurements
) -> CoefficientConstraints:
    """Return what is known of one equation's coefficients."""
    open_ = ~knowledge.given[output]
    return CoefficientConstraints(
        {
            features.terms[k]: (float(knowledge.low[output, k]), float(knowledge.high[output, k]))
            for k in np.flatnonzero(open_)
        },
        frozenset(features.terms[k] for k in np.flatnonzero(knowledge.required[output] & open_)),
        rows,
    )


def without_given(
    rows: Measurements, features: FeatureMap, knowledge: Knowledge, output: int
) -> Measurements:
    """Return the rows with the terms of known coefficients subtracted."""
    w = np.where(knowledge.given[output], knowledge.low[output], 0.0)
    if not w.any():
        return rows
    used = np.flatnonzero(w).tolist()
    values = features.only(used)(rows.points) @ w[used]
    targets = rows.targets.copy()
    targets[:, output] -= rows.at_rows(values[:, None])[:, 0]
    slopes = None if rows.slopes is None else rows.slopes.copy()
    if slopes is not None:
        slopes[:, output] -= values
    return replace(rows, targets=targets, slopes=slopes)


@final
@dataclass(frozen=True, eq=False)
class Gap:
    """One equation: its best library candidate, and all candidates, best first. `model` has the
    terms of a fitted model, if given."""

    equation: Equation
    base: Candidate
    candidates: tuple[Candidate, ...]
    model: Candidate | None = None


@np.errstate(all="ignore")  # formulas that overflow are tried, and are no candidates then
def explain_rows(
    rows: Measurements,
    features: FeatureMap,
    atoms: Sequence[Any] = (),
    *,
    supports: Mapping[int, Sequence[int]] | None = None,
    knowledge: Knowledge | None = None,
    shared: Mapping[int, Set[Expression]] | None = None,
    is_expected: bool = True,
    goes_on: Callable[[], bool] = lambda: True,
    most: int = 16,
) -> list[Gap]:
    """Search all learned equations for candidates.

    `features` is the library, whose terms are cheap if it `is_expected`; `supports` are the terms
    that a model uses in each equation, and `shared` those of its other equations, which are cheap
    as well. Equations that `knowledge` completes are skipped. In the others given terms are
    subtracted, and candidates obey the required terms, the symmetries and the bounds.
    """
    shapes = new_shapes(rows, atoms)
    features = features.resolved() if features.values else features
    known = Knowledge.none(features.mask.shape) if knowledge is None else knowledge

    gap_of = partial(
        _gap,
        rows,
        features,
        shapes,
        known,
        supports or {},
        shared or {},
        is_expected,
        goes_on,
        most,
    )
    learned = [c for c in rows.learned if c not in known.complete]
    if has_cluster():
        gaps = map_in_order(gap_of, learned, "Searching for missing terms")
        return _exchanged(gaps, features, known, goes_on, most)
    gaps = []
    with progress("Searching for missing terms", float(len(learned))) as show:
        for done, c in enumerate(learned):

            def told(part: int, what: str, done: int = done, c: int = c) -> None:
                show(done + part / (len(FAMILIES) + 1), f"{rows.outputs[c]}': {what}")

            gaps.append(gap_of(c, told))
    return _exchanged(gaps, features, known, goes_on, most)


def _exchanged(
    gaps: Sequence[Gap],
    features: FeatureMap,
    known: Knowledge,
    goes_on: Callable[[], bool],
    most: int,
) -> list[Gap]:
    """Return the results with candidates that copy the structure of other equations."""
    exchanged = []
    for gap in gaps:
        others = [other.candidates for other in gaps if other is not gap]
        if copies := in_other_roles(gap.equation, others, goes_on):
            allow = constraints_on(features, known, gap.equation.output, gap.equation.rows).allow
            compared = compare(gap.equation, [*gap.candidates, gap.base, *copies], allow, most)
            gap = replace(gap, base=compared.base, candidates=compared.candidates)
        exchanged.append(gap)
    return exchanged


def _gap(
    rows: Measurements,
    features: FeatureMap,
    shapes: Sequence[ParametricTerm],
    known: Knowledge,
    supports: Mapping[int, Sequence[int]],
    shared: Mapping[int, Set[Expression]],
    is_expected: bool,
    goes_on: Callable[[], bool],
    most: int,
    c: int,
    told: Callable[[int, str], None] = lambda part, what: None,
) -> Gap:
    """Search one equation."""
    reduced = without_given(rows, features, known, c)
    library = known_shapes(features, c, is_expected, ~known.given[c])
    offered = [*library, *symmetric(shapes, known.symmetries, c)]
    offered = [_marked(term, shared.get(c, frozenset())) for term in offered]
    constraints = constraints_on(features, known, c, rows)

    def searched(rows: Measurements) -> tuple[Equation, Found]:
        terms = dictionary(offered, rows)
        equation = Equation(rows, terms, c, known.symmetries)
        return equation, search(
            equation,
            _columns(terms, features, supports.get(c, ())),
            required=_columns(terms, features, np.flatnonzero(known.required[c]).tolist()),
            allow=constraints.allow, goes_on=goes_on, told=told, most=most,
        )  # fmt: skip

    equation, found = searched(reduced)
    if _jumps(found.candidates[0], reduced):
        equation, found = searched(reduced.without_turns())
    return Gap(equation, found.base, found.candidates, _of_model(equation, features, supports, c))


def _of_model(
    equation: Equation, features: FeatureMap, supports: Mapping[int, Sequence[int]], c: int
) -> Candidate | None:
    """Return the candidate with exactly the terms of a model, or None if no model is given."""
    if c not in supports:
        return None
    wanted = {features.terms[k] for k in supports[c]}
    shapes = [term for term in equation.shapes if term.known and term.expression in wanted]
    return scored_fit(equation, project(equation, shapes, [()] * len(shapes)))


def _jumps(candidate: Candidate, rows: Measurements) -> bool:
    """Return whether a candidate jumps with a velocity that was not measured, at times that are
    hardly known."""
    if rows.turns is None or not rows.turns.any():
        return False
    signs = [term for term in candidate.terms if "sign(" in to_text(term)]
    return any(variables_of(term) & rows.speeds for term in signs)


def _marked(shape: ParametricTerm, elsewhere: Set[Expression]) -> ParametricTerm:
    is_shared = not shape.parameters and shape.expression in elsewhere
    return replace(shape, is_shared=True) if is_shared else shape


def known_shapes(
    features: FeatureMap, output: int, is_expected: bool, is_open: Bool[np.ndarray, " K"]
) -> list[ParametricTerm]:
    """Return the library terms that an equation may use, except given ones."""
    return [
        ParametricTerm(term, "known", known=True, is_expected=is_expected, written_as=name)
        for term, name, allowed in zip(
            features.terms, features.names, features.mask[output] & is_open, strict=True
        )
        if allowed and not parameters_of(term)
    ]


def new_shapes(rows: Measurements, atoms: Sequence[Any]) -> list[ParametricTerm]:
    """Return the user's atoms, then the catalogue."""
    for atom in atoms:
        if not isinstance(atom, Atom):
            raise InputError(
                f"atoms must be a list of Atom, such as [Atom('sin(p*z)', p=(0, 5))]; "
                f"it has {atom!r}."
            )
    own = [shape for atom in atoms for shape in atom.shapes(rows.names, rows.extent)]
    return own + catalogue(rows.names, rows.extent, rows.clock)


def _columns(terms: Dictionary, features: FeatureMap, support: Sequence[int]) -> list[int]:
    """Return the columns of the dictionary that are these library terms."""
    wanted = {features.terms[k] for k in support}
    return [
        k
        for k in range(len(terms.shape))
        if terms.known[k] and terms.shapes[terms.shape[k]].expression in wanted
    ]
