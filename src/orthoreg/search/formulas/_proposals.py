"""Find candidates for each equation from measured rows, a library and known physics."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np
from jaxtyping import Bool

from ..._common.errors import InputError
from ..._common.notation import left_side
from ..._common.parallel import has_cluster, map_in_order
from ..._common.progress import progress
from ...physics import Knowledge
from ...terms import Expression, FeatureMap, parameters_of, to_text, variables_of
from ._atoms import Atom
from ._candidates import Candidate, scored_fit
from ._catalogue import catalogue
from ._equation import DictionaryProblem
from ._limits import BOUND_SLACK
from ._measurements import Measurements
from ._parametric_term import ParametricTerm, symmetric
from ._projection import project
from ._search import FAMILIES, SearchOutcome, compare, search
from ._variants import in_other_roles


@final
@dataclass(frozen=True, eq=False)
class CoefficientConstraints:
    """Constraints on the candidates of one equation.

    These are bounds on coefficients, required terms, and the rows at whose outer points candidates
    must be defined.
    """

    bounds: dict[Expression, tuple[float, float]]
    required: frozenset[Expression]
    rows: Measurements

    def allow(self, candidate: Candidate) -> bool:
        """Return whether a candidate satisfies the constraints.

        It must contain the required terms, respect the bounds within its errors and the units, and
        be defined at all required points.
        """
        if not self.required <= set(candidate.expressions) or not self.rows.are_defined(
            candidate.values
        ):
            return False
        formulas = [term.expression for term in candidate.fit.terms if not term.known]
        if not all(self.rows.combine_like(formulas)):
            return False
        errors = candidate.standard_errors()
        for term, w, error in zip(
            candidate.expressions, candidate.fit.coefficients, errors, strict=False
        ):
            low, high = self.bounds.get(term, (-np.inf, np.inf))
            slack = BOUND_SLACK * float(np.nan_to_num(error))
            if not low - slack <= w <= high + slack:
                return False
        return True


def constraints_on(
    features: FeatureMap, knowledge: Knowledge, output: int, rows: Measurements
) -> CoefficientConstraints:
    """Return the constraints on one equation's coefficients."""
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
class EquationResult:
    """An equation with its best library candidate and all candidates, best first.

    `model` is the candidate with the terms of a fitted model, if given.
    """

    equation: DictionaryProblem
    base: Candidate
    candidates: tuple[Candidate, ...]
    model: Candidate | None = None


@final
@dataclass(frozen=True, eq=False)
class RowSearch:
    """A search for candidates of all learned equations on the rows of one data set.

    `features` is the library. Its terms are cheap if `is_expected`. `supports` are the terms that a
    model uses in each equation, and `shared` the terms of its other equations, which are also
    cheap. Equations that `knowledge` completes are skipped. In other equations, given terms are
    subtracted, and candidates satisfy the required terms, the symmetries and the bounds.
    """

    rows: Measurements
    features: FeatureMap
    knowledge: Knowledge
    atoms: Sequence[Any] = ()
    supports: Mapping[int, Sequence[int]] = field(default_factory=dict)
    shared: Mapping[int, Set[Expression]] = field(default_factory=dict)
    is_expected: bool = True
    should_continue: Callable[[], bool] = lambda: True

    @property
    def library(self) -> FeatureMap:
        """The library with numbers for the values of its parameters."""
        return self.features.resolved() if self.features.values else self.features

    @np.errstate(all="ignore")  # formulas that overflow are rejected
    def run(self) -> list[EquationResult]:
        """Return the results for all learned equations."""
        offered = new_terms_for(self.rows, self.atoms)
        learned = [c for c in self.rows.learned if c not in self.knowledge.complete]
        what = "Searching for missing terms"
        if has_cluster():
            return self._exchanged(map_in_order(partial(self._search, offered), learned, what))
        results = []
        with progress(what, float(len(learned))) as show:
            for done, c in enumerate(learned):

                def on_progress(part: int, what: str, done: int = done, c: int = c) -> None:
                    name = left_side(self.rows.outputs[c])
                    show(done + part / (len(FAMILIES) + 1), f"{name}: {what}")

                results.append(self._search(offered, c, on_progress))
        return self._exchanged(results)

    def _search(
        self,
        terms: Sequence[ParametricTerm],
        c: int,
        on_progress: Callable[[int, str], None] = lambda part, what: None,
    ) -> EquationResult:
        """Return the result for one equation."""
        knowledge, features = self.knowledge, self.library
        library = library_terms(features, c, self.is_expected, ~knowledge.given[c])
        offered = [*library, *symmetric(terms, knowledge.symmetries, c)]
        offered = [_marked(term, self.shared.get(c, frozenset())) for term in offered]
        required = {features.terms[k] for k in np.flatnonzero(knowledge.required[c])}
        used = {features.terms[k] for k in self.supports.get(c, ())}
        constraints = constraints_on(features, knowledge, c, self.rows)

        def searched(rows: Measurements) -> tuple[DictionaryProblem, SearchOutcome]:
            equation = DictionaryProblem(rows, offered, c, knowledge.symmetries)
            return equation, search(
                equation,
                equation.columns_of(used),
                required=equation.columns_of(required),
                allow=constraints.allow,
                should_continue=self.should_continue,
                on_progress=on_progress,
            )

        rows = without_given(self.rows, features, knowledge, c)
        equation, outcome = searched(rows)
        if _jumps(outcome.candidates[0], rows):
            equation, outcome = searched(rows.without_sign_changes())
        of_model = _of_terms(equation, used) if c in self.supports else None
        return EquationResult(equation, outcome.base, outcome.candidates, of_model)

    def _exchanged(self, results: Sequence[EquationResult]) -> list[EquationResult]:
        """Return the results, extended by candidates that copy the structure of other equations."""
        exchanged, features = [], self.library
        for result in results:
            equation = result.equation
            others = [other.candidates for other in results if other is not result]
            if copies := in_other_roles(equation, others, self.should_continue):
                allow = constraints_on(
                    features, self.knowledge, equation.output, equation.rows
                ).allow
                outcome = compare(equation, [*result.candidates, result.base, *copies], allow)
                result = replace(result, base=outcome.base, candidates=outcome.candidates)
            exchanged.append(result)
        return exchanged


def _of_terms(equation: DictionaryProblem, used: Set[Expression]) -> Candidate | None:
    """Return the candidate with exactly these terms of the library."""
    terms = [term for term in equation.terms if term.known and term.expression in used]
    return scored_fit(equation, project(equation, terms, [()] * len(terms)))


def _jumps(candidate: Candidate, rows: Measurements) -> bool:
    """Return whether a candidate jumps with a velocity that was not measured.

    The times of such jumps are poorly known.
    """
    if rows.sign_changes is None or not rows.sign_changes.any():
        return False
    signs = [term for term in candidate.expressions if "sign(" in to_text(term)]
    return any(variables_of(term) & rows.estimated_velocities for term in signs)


def _marked(term: ParametricTerm, elsewhere: Set[Expression]) -> ParametricTerm:
    is_shared = not term.parameters and term.expression in elsewhere
    return replace(term, is_shared=True) if is_shared else term


def library_terms(
    features: FeatureMap, output: int, is_expected: bool, is_open: Bool[np.ndarray, " K"]
) -> list[ParametricTerm]:
    """Return the library terms that an equation may use, without given terms."""
    return [
        ParametricTerm(term, "known", known=True, is_expected=is_expected, written_as=name)
        for term, name, allowed in zip(
            features.terms, features.names, features.mask[output] & is_open, strict=True
        )
        if allowed and not parameters_of(term)
    ]


def new_terms_for(rows: Measurements, atoms: Sequence[Any]) -> list[ParametricTerm]:
    """Return the user's atoms, followed by the functions of the catalogue."""
    for atom in atoms:
        if not isinstance(atom, Atom):
            raise InputError(
                "atoms must be a list of Atom, such as [Atom('sin(p*z)', p=(0, 5))]; it contains "
                f"{atom!r}."
            )
    own = [term for atom in atoms for term in atom.terms(rows.names, rows.extent)]
    terms = own + catalogue(rows.names, rows.extent, rows.time_variable)
    is_like = rows.combine_like([term.expression for term in terms])
    for term, each in zip(own, is_like, strict=False):
        if not each:
            raise InputError(
                f"atoms must combine like quantities, but '{to_text(term.expression)}' does not by "
                "the units of the columns: multiply each column by a parameter."
            )
    return [term for term, each in zip(terms, is_like, strict=True) if each]
