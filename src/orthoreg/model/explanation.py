"""`explain` for a fitted model: proposals for what its library lacks, and accepting them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from time import time
from typing import Any, Self, final

import numpy as np

from .._common.errors import InputError
from .._common.html import html_lines, html_sentences, html_table
from .._common.scikit import clone
from .._common.threads import one_thread
from ..data import AnyRows, Dataset
from ..export import equation_mathml, equation_names, significant, typeset_sentence
from ..findings._words import interval, whole_percent
from ..losses import Weak
from ..matching import judge
from ..physics import Bound, Physics, bind_physics
from ..search.formulas import (
    Alternative,
    Atom,
    Candidate,
    EquationProposals,
    Measurements,
    ModelSearch,
    ProposalConstant,
    ScoredCandidate,
    SearchInput,
    explain_rows,
    gather_evidence,
    measurements,
    proposals_by_rows,
    proposals_by_trajectories,
    rows_as_measurements,
    short_terms,
)
from ..search.rows import Chosen
from ..terms import AbstractLibrary, PerState, Terms, as_library, to_text
from .validation import (
    in_states_of,
    known_dataset,
    known_variables,
    run_rows,
    training_rows,
)


@final
@dataclass(frozen=True)
class Addition:
    """What accepting a proposal needs, as plain data: the equation, the new terms with bounds of
    their inner parameters, and the library's terms that the equation keeps."""

    equation: str
    formula: str
    gain: float
    new: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    kept: tuple[str, ...]

    @classmethod
    def of(
        cls, equation: str, formula: str, gain: float, candidate: Candidate, suffix: str
    ) -> Self:
        """Simple numbers stay as they are, others are to be estimated near where they were
        found; `suffix` makes the names of these unique."""
        new, bounds = list[str](), dict[str, tuple[float, float]]()
        for k in candidate.new:
            text, ends = candidate.fit.written(k, suffix)
            new.append(text)
            bounds |= ends
        kept = tuple(
            term.written_as or to_text(term.expression)
            for term in candidate.fit.terms
            if term.known
        )
        return cls(equation, formula, gain, tuple(new), bounds, kept)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote, perhaps by way of JSON."""
        return cls(
            str(entries["equation"]),
            str(entries["formula"]),
            float(entries["gain"]),
            tuple(str(text) for text in entries["new"]),
            {str(name): (float(low), float(high))
             for name, (low, high) in entries["bounds"].items()},
            tuple(str(text) for text in entries["kept"]),
        )  # fmt: skip


def extended(model: Any, additions: Sequence[Addition], data: Any) -> Any:
    """Return a new model with the new terms in its library, fitted to the data. In the equations
    of the additions their terms are chosen; the others are as they were."""
    recipe = model.recipe()
    new = {one.equation: Terms(one.new, dict(one.bounds)) for one in additions}
    copy: Any = clone(model)
    larger = copy.set_params(library=as_library(recipe.library) + PerState(new))
    if "selection" in larger.get_params(deep=False):
        terms = {one.equation: (*one.kept, *one.new) for one in additions}
        old = recipe.selection
        if isinstance(old, Chosen):
            terms, old = dict(old.terms) | terms, old.others
        larger.set_params(selection=Chosen(terms, old), sparsity=None)
    fitted = larger.fit(*data[:2], u=data[2]) if isinstance(data, tuple) else larger.fit(data)
    log = tuple({"equation": one.equation, "formula": one.formula, "gain": one.gain}
                for one in additions)  # fmt: skip
    fitted.fit_ = replace(fitted.fit_, accepted=(*model.accepted_, *log))
    return fitted


@final
@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """Terms that one equation lacks, and what speaks for them.

    `formula` are the new terms, `terms` each of them; `text` is the whole equation. `gain` is in
    nats, over the best that the library can do. `inside` and `outside` are the shares of what the
    library leaves beyond noise that the proposal explains, among the data and on their outer shell,
    None where single rows show noise only;
    `probability` is how often resamples prefer it. `constants` have intervals, `alternatives`
    cannot be told apart from it, `changes` are the coefficients of library terms in the model, and
    if it is accepted.
    `partial_residual` (R, 2) has what the new terms say at each row, and what the other terms
    leave for them; `plotting.plot_proposal` draws it.
    """

    equation: str
    formula: str
    terms: tuple[str, ...]
    text: str
    gain: float
    inside: float | None
    outside: float | None
    probability: float
    constants: tuple[ProposalConstant, ...]
    alternatives: tuple[Alternative, ...]
    changes: dict[str, tuple[float, float]]
    partial_residual: Any
    candidate: Candidate
    _explanation: "list[Explanation]" = field(default_factory=list)

    def accept(self) -> Any:
        """A new model whose library has these terms too, fitted to the same data."""
        return self._explanation[0].accept(self)

    def addition(self, suffix: str = "0") -> Addition:
        """What accepting the proposal needs, as plain data."""
        return Addition.of(self.equation, self.formula, self.gain, self.candidate, suffix)

    def values(self, variables: Any) -> Any:
        """The proposed right-hand side at states, then inputs (N, V)."""
        return self.candidate.values(np.asarray(variables, dtype=float))

    def to_mathml(self) -> str:
        """The whole equation as one MathML element."""
        fit = self.candidate.fit
        pairs = [
            (float(w), term.at([float(f"{v:.4g}") for v in values]))
            for term, values, w in zip(fit.terms, fit.values, fit.coefficients, strict=True)
        ]
        model = self._explanation[0].model if self._explanation else None
        return equation_mathml(self.equation, {} if model is None else model.velocity_of_, pairs)

    @property
    def is_worse_outside(self) -> bool:
        """Whether it extrapolates worse than the library alone."""
        return self.outside is not None and self.outside < 0

    @property
    def explains(self) -> str:
        """The shares that it explains as a sentence without its subject."""
        shares = [(self.inside, "inside"), (self.outside, "on the outer shell")]
        known = [(share, where) for share, where in shares if share is not None]
        better = [(whole_percent(share), where) for share, where in known if share >= 0]
        worse = [where for share, where in known if share < 0]
        words = []
        if better:
            (share, where), *rest = better
            parts = [f"explains {share} of what the library leaves beyond noise {where}"]
            words.append(", ".join([*parts, *map(" ".join, rest)]))
        if worse:
            words.append(f"does worse than the library alone {' and '.join(worse)}")
        return " but ".join(words) or "matters on trajectories, while single rows show noise only"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "equation": self.equation,
            "formula": self.formula,
            "terms": list(self.terms),
            "text": self.text,
            "gain": self.gain,
            "inside": self.inside,
            "outside": self.outside,
            "probability": self.probability,
            "constants": [vars_of(one) for one in self.constants],
            "alternatives": [vars_of(one) for one in self.alternatives],
            "changes": {name: list(pair) for name, pair in self.changes.items()},
        }

    def __repr__(self) -> str:
        return f"Proposal({self.equation}' needs {self.formula}, gain {self.gain:.0f} nats)"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What a fitted model lacks: `proposals`, best first; none where the library is enough.
    `timed_out` says that the search was ended before all was tried."""

    model: Any
    data: Any
    proposals: tuple[Proposal, ...]
    timed_out: bool = False

    def accept(self, *which: "int | Proposal") -> Any:
        """A new model with the terms of these proposals in its library, fitted to the same data;
        without an argument those of the best proposal for each equation."""
        chosen = [self._proposal(one) for one in which] or self._best_of_each()
        if not chosen:
            raise InputError("There is no proposal to accept: the data show nothing to add.")
        equations = [one.equation for one in chosen]
        if len(set(equations)) < len(equations):
            raise InputError(
                f"Proposals for the same equation exclude each other; got two for "
                f"'{max(equations, key=equations.count)}'. Accept one of them."
            )
        additions = [one.addition(str(i)) for i, one in enumerate(chosen)]
        return extended(self.model, additions, self.data)

    def _proposal(self, which: "int | Proposal") -> Proposal:
        if isinstance(which, Proposal):
            return which
        if not 0 <= which < len(self.proposals):
            raise InputError(
                f"There are {len(self.proposals)} proposals, counted from 0; got {which}."
            )
        return self.proposals[which]

    def _best_of_each(self) -> list[Proposal]:
        best: dict[str, Proposal] = {}
        for one in self.proposals:
            best.setdefault(one.equation, one)
        return list(best.values())

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "proposals": [one.to_dict() for one in self.proposals],
            "timed_out": self.timed_out,
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the equations that are proposed, each with its evidence."""
        if not self.proposals:
            return html_sentences([repr(self)])
        names = self.model.field_.features.variables
        columns = ("", "equation lacks", "gain", "explains inside", "outer shell", "preferred")
        rows = [
            (
                f"[{i}]", typeset_sentence(f"{one.equation}': {one.formula}", names),
                f"{one.gain:.0f} nats",
                *("-" if share is None else whole_percent(share)
                  for share in (one.inside, one.outside, one.probability)),
            )
            for i, one in enumerate(self.proposals)
        ]  # fmt: skip
        best = html_lines([one.to_mathml() for one in self._best_of_each()])
        return best + html_table(columns, rows, words=2)

    def __repr__(self) -> str:
        late = ["The time was up before everything was tried."] if self.timed_out else []
        if not self.proposals:
            nothing = "no formula that was tried explains what the library leaves."
            if len(self.model.knowledge().complete) == len(self.model.output_names_):
                nothing = "all equations are given completely. End one with '+ ...' to extend it."
            return " ".join([f"Nothing to add: {nothing}", *late])
        first = {one.equation: one for one in reversed(self.proposals)}
        lines = [
            f"[{i}] {describe_proposal(one, in_full=first[one.equation] is one)}"
            for i, one in enumerate(self.proposals)
        ]
        return "\n".join([*lines, *late])


def describe_proposal(one: Proposal, *, in_full: bool = True) -> str:
    """A proposal and its evidence in a few lines."""
    if not in_full:
        return f"or {one.formula}, gain {one.gain:.0f} nats"
    lines = [
        f"{one.equation}' lacks {one.formula}",
        f"    {one.text}",
        f"    gain {one.gain:.0f} nats; {one.explains}; preferred in "
        f"{whole_percent(one.probability)} of resamples",
    ]
    lines += [
        f"    {c.name}: {c.value:.5g}"
        + (" (a simple number)" if c.is_snapped else "")
        + f", 95% interval {interval(c.low, c.high)}"
        for c in one.constants
    ]
    lines += [
        f"    {name}: {before:.4g} -> {after:.4g}"
        for name, (before, after) in one.changes.items()
        if abs(after - before) > 0.01 * max(abs(before), abs(after))
    ]
    lines += [
        f"    a rival is {other.formula} ({other.gap:+.1f} nats); they differ most "
        f"at {', '.join(f'{name} = {value:.3g}' for name, value in other.where.items())}"
        for other in one.alternatives
    ]
    return "\n".join(lines)


def vars_of(one: Any) -> dict[str, Any]:
    """The fields of a record."""
    return dict(vars(one))


TRIED = 24
"""Combinations of candidates that are matched to trajectories."""
_MOST_PROPOSALS = 8
_MOST_RESAMPLES = 0.5  # that must prefer a proposal which extrapolates worse than the library
_FEWEST_STEPS = 4  # rows of a run, up to which there is no trajectory to match


@one_thread()
def explanation_of(
    model: Any,
    X: Any,
    y: Any,
    t: Any,
    u: Any,
    atoms: Sequence[Atom],
    minutes: float | None,
    functions_of_time: bool,
) -> Explanation:
    """The proposals for a fitted model on these data, by their scores. One that is worse than the
    library on the outer shell of the data comes after all that are not."""
    should_continue = until(minutes)
    loss = model.recipe().loss
    data = known_dataset(model, X, y, t, u)
    if data is None:
        if functions_of_time:
            raise InputError("Functions of time need runs in time: a Dataset, or X with t=....")
        rows, _ = training_rows(model, loss, X, y, t, u)
        given = (X, y, u)
        judgements = _judged_by_rows(model, rows_as_measurements(rows), atoms, should_continue)
    else:
        given = data = in_states_of(model, data)
        known_variables(model, data, None)  # refuses other names
        timed = data.with_time_input() if functions_of_time else data
        in_time = timed.derivatives is None
        if in_time and int(timed.run_lengths.max()) > _FEWEST_STEPS:
            judgements = _judged_by_trajectories(model, timed, atoms, should_continue)
        else:
            judgements = _judged_by_rows(model, measurements(loss, timed), atoms, should_continue)
    found = [
        _proposal(model, judgement, one)
        for judgement, shown in zip(
            judgements, _shown([one.proposals for one in judgements]), strict=True
        )
        for one in shown
    ]
    found = sorted(
        (one for one in found if not one.is_worse_outside or one.probability > _MOST_RESAMPLES),
        key=lambda one: (one.is_worse_outside, -one.gain),
    )
    result = Explanation(model, given, tuple(found), timed_out=not should_continue())
    for one in found:
        one._explanation.append(result)
    return result


def _judged_by_rows(
    model: Any, rows: Measurements, atoms: Sequence[Atom], should_continue: Callable[[], bool]
) -> list[EquationProposals]:
    results = explain_rows(
        rows,
        model.field_.features,
        atoms,
        supports=_supports(model),
        knowledge=model.knowledge(),
        is_expected=not model.recipe().library_is_default,
        should_continue=should_continue,
    )
    return [proposals_by_rows(result) for result in results]


def _judged_by_trajectories(
    model: Any, data: Dataset, atoms: Sequence[Atom], should_continue: Callable[[], bool]
) -> list[EquationProposals]:
    """The search of `discover`, beginning with the terms of the model."""
    recipe, features = model.recipe(), model.field_.features
    rows, columns = run_rows(data, recipe.loss)
    given = SearchInput(
        data,
        features,
        model.knowledge(),
        partial(_bound, model, data),
        dict(columns.interpolation) | model.input_interpolation_,
        recipe.loss,
        rows.point_extent.sample,
        recipe.physics,
        atoms,
        is_expected=not recipe.library_is_default,
        supports=_supports(model),
        values=dict(zip(features.parameters, features.values, strict=True)),
    )
    search = ModelSearch(given, should_continue)
    ranked = search.run(TRIED)
    if search.ranking.longest() < _window_steps(data, rows):
        return [proposals_by_rows(result) for result in search.results]
    found = judge(ranked[0].field, data.plan.clean, given.interpolation)
    misfits = {} if found is None else dict(enumerate(found.of_equations(data)))
    return [
        proposals_by_trajectories(result, ranked, misfits.get(result.equation.output))
        for result in search.results
    ]


def _window_steps(data: Dataset, rows: AnyRows) -> float:
    """Steps in the widest window of the weak form, which shows more of the motion than trajectories
    that can be followed over fewer; zero for rows of derivatives."""
    if rows.windows is None:
        return 0.0
    return 2 * max(data.plan.half_widths(Weak().order)) / float(np.median(data.step_of_run()))


def _supports(model: Any) -> dict[int, list[int]]:
    support = np.asarray(model.field_.coefficients) != 0
    return {c: np.flatnonzero(row).tolist() for c, row in enumerate(support)}


def _bound(
    model: Any, data: Dataset, library: AbstractLibrary, physics: Physics | None = None
) -> Bound:
    return bind_physics(
        physics or model.recipe().physics, library, data.variable_names, data.state_names,
        dict(data.given_rates), data.schema.time_index,
    )  # fmt: skip


def _shown(proposals: Sequence[Sequence[ScoredCandidate]]) -> list[Sequence[ScoredCandidate]]:
    """The first proposals of each equation, as many for each as there is room."""
    lists = sum(map(bool, proposals))
    each = max(_MOST_PROPOSALS // max(lists, 1), 1)
    return [some[:each] for some in proposals]


def until(minutes: float | None) -> Any:
    """Whether there is time left."""
    if minutes is None:
        return lambda: True
    if not minutes > 0:
        raise InputError(f"minutes must be more than 0; got {minutes!r}.")
    end = time() + 60 * minutes  # of the day, which workers elsewhere know too
    return lambda: time() < end


def _proposal(model: Any, judgement: EquationProposals, judged: ScoredCandidate) -> Proposal:
    labels = equation_names(model.output_names_, model.velocity_of_)
    found = judged.candidate
    evidence = gather_evidence(judgement, judged, _coefficients(model, found.output))
    terms = short_terms(found)
    return Proposal(
        model.output_names_[found.output],
        " + ".join(terms),
        terms,
        equation_text(labels[found.output], found),
        judgement.base.score - judged.score,
        evidence.inside,
        evidence.outside,
        evidence.probability,
        evidence.constants,
        evidence.alternatives,
        evidence.changes,
        evidence.partial,
        found,
    )


def _coefficients(model: Any, output: int) -> dict[str, float]:
    """Those of one equation of the model, by the terms, without what is given."""
    features = model.field_.features
    features = features.resolved() if features.values else features
    weights, given = np.asarray(model.field_.coefficients)[output], model.knowledge().given[output]
    return {
        to_text(term): float(w)
        for term, w, is_given in zip(features.terms, weights, given, strict=True)
        if w and not is_given
    }


def equation_text(label: str, found: Candidate) -> str:
    """The candidate as a line: theta'' = -1.000 sin(theta) + 0.3000 cos(3*theta)."""
    text = ""
    for term, values, w in zip(
        found.fit.terms, found.fit.values, found.fit.coefficients, strict=True
    ):
        name = to_text(term.at([float(f"{v:.4g}") for v in values]))
        size = significant(abs(float(w)), 4)
        name = f"({name})" if name[0].isdigit() else name  # 2 (1/(1 + x)), not 2 1/(1 + x)
        body = size if name == "(1)" else f"{size} {name}"
        sign = "-" if w < 0 else "+"
        text += f" {sign} {body}" if text else f"-{body}" if w < 0 else body
    return f"{label}' = {text or '0'}"
