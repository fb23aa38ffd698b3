"""`explain` for a fitted model: proposals for what its library lacks, to be accepted or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from time import time
from typing import Any, final

import numpy as np

from ._errors import InputError
from ._html import html_lines, html_sentences, html_table
from ._scikit import clone
from ._validation import in_states_of, known_dataset, training_rows
from .data import Dataset
from .explanation import (
    Alternative,
    Atom,
    Candidate,
    Constant,
    Gap,
    explain_rows,
    gather_evidence,
    measurements,
    rows_as_measurements,
    short_terms,
    tell_apart,
)
from .export import equation_mathml, equation_names, significant
from .libraries import AbstractLibrary, PerState, Terms, as_library, to_text
from .physics import Bound, bind_physics
from .selection import Chosen

_MOST_PROPOSALS = 8


@final
@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """Terms that one equation lacks, and what speaks for them.

    `formula` are the new terms, `terms` each of them; `text` is the whole equation. `gain` is in
    nats, over the best that the library can do. `inside` and `outside` are the shares of what the
    library leaves that the proposal explains, among the data and on their outer shell;
    `probability` is how often resamples prefer it. `constants` have intervals, `alternatives`
    cannot be told apart from it, `changes` are the library's coefficients before and after.
    `partial_residual` (R, 2) has what the new terms say at each row, and what the other terms
    leave for them; `plotting.plot_proposal` draws it.
    """

    equation: str
    formula: str
    terms: tuple[str, ...]
    text: str
    gain: float
    inside: float
    outside: float
    probability: float
    constants: tuple[Constant, ...]
    alternatives: tuple[Alternative, ...]
    changes: dict[str, tuple[float, float]]
    partial_residual: Any
    candidate: Candidate
    _explanation: "list[Explanation]" = field(default_factory=list)

    def accept(self) -> Any:
        """A new model whose library has these terms too, fitted to the same data."""
        return self._explanation[0].accept(self)

    def values(self, variables: Any) -> Any:
        """The proposed right-hand side at states, then inputs (N, V)."""
        return self.candidate.values(np.asarray(variables, dtype=float))

    def to_mathml(self) -> str:
        """The whole equation as one MathML element."""
        fit = self.candidate.fit
        pairs = [
            (float(w), shape.at([float(f"{v:.4g}") for v in values]))
            for shape, values, w in zip(fit.shapes, fit.values, fit.coefficients, strict=True)
        ]
        model = self._explanation[0].model if self._explanation else None
        return equation_mathml(self.equation, {} if model is None else model.velocity_of_, pairs)

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
        return extended(self.model, chosen, self.data)

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
        columns = ("", "equation lacks", "gain", "explains inside", "outer shell", "preferred")
        rows = [
            (
                f"[{i}]", f"{one.equation}': {one.formula}", f"{one.gain:.0f} nats",
                _percent(one.inside), _percent(one.outside), _percent(one.probability),
            )
            for i, one in enumerate(self.proposals)
        ]  # fmt: skip
        best = html_lines([one.to_mathml() for one in self._best_of_each()])
        return best + html_table(columns, rows, words=2)

    def __repr__(self) -> str:
        late = ["The time was up before everything was tried."] if self.timed_out else []
        if not self.proposals:
            nothing = "no formula that was tried explains what the library leaves."
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
        f"    gain {one.gain:.0f} nats; explains {_percent(one.inside)} of what the library leaves "
        f"inside, {_percent(one.outside)} on the outer shell; preferred in "
        f"{_percent(one.probability)} of resamples",
    ]
    lines += [
        f"    {c.name}: {c.value:.5g}"
        + (" (a simple number)" if c.is_snapped else "")
        + f", 95 % interval {c.low:.4g} to {c.high:.4g}"
        for c in one.constants
    ]
    lines += [
        f"    {name}: {before:.4g} -> {after:.4g}"
        for name, (before, after) in one.changes.items()
        if abs(after - before) > 0.01 * max(abs(before), abs(after))
    ]
    lines += [
        f"    cannot be told apart from {other.formula} ({other.gap:+.1f} nats); they differ most "
        f"at {', '.join(f'{name} = {value:.3g}' for name, value in other.where.items())}"
        for other in one.alternatives
    ]
    return "\n".join(lines)


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
    """The proposals for a fitted model on these data."""
    goes_on = until(minutes)
    loss = model.recipe().loss
    data, timed = known_dataset(model, X, y, t, u), None
    if data is None:
        if functions_of_time:
            raise InputError("Functions of time need runs in time: a Dataset, or X with t=....")
        rows, _ = training_rows(model, loss, X, y, t, u)
        measured, given = rows_as_measurements(rows), (X, y, u)
    else:
        data = in_states_of(model, data)
        model._variables(data, None)  # refuses other names
        timed = data.with_clock() if functions_of_time else data
        measured, given = measurements(loss, timed), data
    support = np.asarray(model.field_.coefficients) != 0
    gaps = explain_rows(
        measured,
        model.field_.features,
        atoms,
        supports={c: np.flatnonzero(row).tolist() for c, row in enumerate(support)},
        knowledge=model.knowledge(),
        goes_on=goes_on,
    )
    if timed is not None and not model.field_.features.parameters:
        bind = partial(_bound, model, timed)
        gaps = tell_apart(gaps, timed, model.input_interpolation_, bind, goes_on)
    found = [
        _proposal(model, gap, one)
        for gap, shown in zip(gaps, _shown([gap.proposals for gap in gaps]), strict=True)
        for one in shown
    ]
    found = sorted(found, key=lambda one: -one.gain)
    result = Explanation(model, given, tuple(found), timed_out=not goes_on())
    for one in found:
        one._explanation.append(result)
    return result


def _bound(model: Any, data: Dataset, library: AbstractLibrary) -> Bound:
    return bind_physics(
        model.recipe().physics, library, data.variable_names, data.state_names,
        dict(data.given_rates), data.clock_place,
    )  # fmt: skip


def _shown(proposals: Sequence[Sequence[Candidate]]) -> list[Sequence[Candidate]]:
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


def _proposal(model: Any, gap: Gap, found: Candidate) -> Proposal:
    labels = equation_names(model.output_names_, model.velocity_of_)
    evidence = gather_evidence(gap.equation, gap.base, found, gap.proposals)
    terms = short_terms(found)
    return Proposal(
        model.output_names_[found.output],
        " + ".join(terms),
        terms,
        equation_text(labels[found.output], found),
        gap.base.score - found.score,
        evidence.inside,
        evidence.outside,
        evidence.probability,
        evidence.constants,
        evidence.alternatives,
        evidence.changes,
        evidence.partial,
        found,
    )


def equation_text(label: str, found: Candidate, digits: int = 4) -> str:
    """The candidate as a line: theta'' = -1.000 sin(theta) + 0.3000 cos(3*theta)."""
    text = ""
    for shape, values, w in zip(
        found.fit.shapes, found.fit.values, found.fit.coefficients, strict=True
    ):
        name = to_text(shape.at([float(f"{v:.{digits}g}") for v in values]))
        size = significant(abs(float(w)), digits)
        body = size if name == "1" else f"{size} {name}"
        sign = "-" if w < 0 else "+"
        text += f" {sign} {body}" if text else f"-{body}" if w < 0 else body
    return f"{label}' = {text or '0'}"


def extended(model: Any, chosen: Sequence[Proposal], data: Any) -> Any:
    """A new model with the new terms in its library, fitted to the data. In the equations of the
    proposals their terms are chosen; the others are as they were."""
    recipe = model.recipe()
    new = {one.equation: new_terms(one.candidate, f"{i}") for i, one in enumerate(chosen)}
    copy: Any = clone(model)
    larger = copy.set_params(library=as_library(recipe.library) + PerState(new))
    if "selection" in model.get_params(deep=False):
        terms = {
            one.equation: (*known_terms(one.candidate), *new[one.equation].formulas)
            for one in chosen
        }
        old = recipe.selection
        if isinstance(old, Chosen):
            terms, old = dict(old.terms) | terms, old.others
        larger.set_params(selection=Chosen(terms, old), sparsity=None)
    fitted = larger.fit(*data[:2], u=data[2]) if isinstance(data, tuple) else larger.fit(data)
    log = tuple({"equation": one.equation, "formula": one.formula, "gain": one.gain}
                for one in chosen)  # fmt: skip
    fitted.accepted_ = (*model.accepted_, *log)
    return fitted


def known_terms(found: Candidate) -> tuple[str, ...]:
    """The library's terms that a candidate keeps, as the library writes them."""
    fit = found.fit
    return tuple(
        shape.written_as or to_text(shape.expression) for shape in fit.shapes if shape.known
    )


def new_terms(found: Candidate, suffix: str) -> Terms:
    """The terms that the library lacks: simple numbers as they are, others to be estimated near
    where they were found."""
    return as_terms(found, found.new, suffix)


def as_terms(found: Candidate, which: Sequence[int], suffix: str) -> Terms:
    """Some terms of a candidate as a library."""
    formulas, bounds = [], {}
    for k in which:
        text, ends = found.fit.written(k, suffix)
        formulas.append(text)
        bounds |= ends
    return Terms(formulas, bounds)


def vars_of(one: Any) -> dict[str, Any]:
    """The fields of a record."""
    return dict(vars(one))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
