"""The result of `explain`: formulas that a model lacks, with their evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from .._common.errors import InputError
from .._common.html import html_lines, html_sentences, html_table
from .._common.notation import next_values
from .._common.scikit import clone
from ..data import Dataset
from ..export import equation_mathml, typeset_sentence
from ..findings._words import interval, whole_percent
from ..search.formulas import (
    Alternative,
    Candidate,
    ProposalConstant,
)
from ..search.rows import Chosen
from ..terms import (
    PerState,
    Terms,
    as_library,
    to_text,
)
from .model import AbstractModel


@final
@dataclass(frozen=True)
class Addition:
    """The data needed to accept a proposal.

    These are the equation, the new terms with bounds on their inner parameters, and the library
    terms that remain in the equation.
    """

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
        """Return the addition of a candidate.

        Simple numbers are kept; other parameters are estimated near their values. `suffix` makes
        the names of parameters unique.
        """
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
        """Return the addition as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """Return the addition that `to_dict` converted, possibly after a round trip through
        JSON.
        """
        return cls(
            str(entries["equation"]),
            str(entries["formula"]),
            float(entries["gain"]),
            tuple(str(text) for text in entries["new"]),
            {str(name): (float(low), float(high))
             for name, (low, high) in entries["bounds"].items()},
            tuple(str(text) for text in entries["kept"]),
        )  # fmt: skip


def extended(
    model: AbstractModel, additions: Sequence[Addition], data: Dataset | tuple[Any, Any, Any]
) -> AbstractModel:
    """Return a new model with the new terms in its library, fitted to the data.

    The terms of the changed equations are fixed. The other equations are fitted as before.
    """
    recipe = model.recipe()
    terms_of = {
        addition.equation: Terms(addition.new, dict(addition.bounds)) for addition in additions
    }
    larger: AbstractModel = clone(model).set_params(
        library=as_library(recipe.library) + PerState(terms_of)
    )
    if "selection" in larger.get_params(deep=False):
        chosen = {addition.equation: (*addition.kept, *addition.new) for addition in additions}
        selection = recipe.selection
        if isinstance(selection, Chosen):
            chosen, selection = dict(selection.terms) | chosen, selection.others
        larger.set_params(selection=Chosen(chosen, selection), sparsity=None)
    fitted = larger.fit(*data[:2], u=data[2]) if isinstance(data, tuple) else larger.fit(data)
    accepted = [
        {"equation": addition.equation, "formula": addition.formula, "gain": addition.gain}
        for addition in additions
    ]
    fitted.fit_ = replace(fitted.fit_, accepted=(*model.accepted_, *accepted))
    return fitted


@final
@dataclass(frozen=True, eq=False, repr=False)
class Proposal:
    """Terms that one equation lacks, with the evidence for them.

    `formula` is the sum of the new `terms`, and `text` is the whole equation. `gain` is the
    improvement of the score, in nats, over the best candidate of the library. `inside` and
    `outside` are the fractions of the library's residual, beyond noise, that the proposal explains
    on the inner data and on their outer shell; both are None if single rows show only noise.
    `probability` is the fraction of resamples that prefer the proposal. `constants` have intervals,
    `alternatives` are formulas that the data do not distinguish from the proposal, and `changes`
    are the coefficients of library terms before and after. `partial_residual` (R, 2) contains the
    new terms at each row, and the target minus the other terms; `plotting.plot_proposal` draws it.
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
    partial_residual: Float[np.ndarray, "R 2"]
    candidate: Candidate
    _explanation: "list[Explanation]" = field(default_factory=list)

    def accept(self) -> AbstractModel:
        """Return a new model with these terms in its library, fitted to the same data."""
        return self._explanation[0].accept(self)

    def addition(self, suffix: str = "0") -> Addition:
        """Return the data needed to accept the proposal."""
        return Addition.of(self.equation, self.formula, self.gain, self.candidate, suffix)

    def values(self, variables: ArrayLike) -> Float[np.ndarray, " N"]:
        """Return the proposed right-hand side for rows (N, V) of states, then inputs."""
        return self.candidate.values(np.asarray(variables, dtype=float))

    def to_mathml(self) -> str:
        """Return the whole equation as one MathML element."""
        fit = self.candidate.fit
        pairs = [
            (float(w), term.at([float(f"{v:.4g}") for v in values]))
            for term, values, w in zip(fit.terms, fit.values, fit.coefficients, strict=True)
        ]
        model = self._explanation[0].model if self._explanation else None
        velocity_of = {} if model is None else model.velocity_of_
        discrete = self.left == next_values([self.equation])[0]
        return equation_mathml(self.equation, velocity_of, pairs, discrete=discrete)

    @property
    def left(self) -> str:
        """The left side of the equation."""
        return self.text.partition(" = ")[0]

    @property
    def is_worse_outside(self) -> bool:
        """Whether the proposal extrapolates worse than the library alone."""
        return self.outside is not None and self.outside < 0

    @property
    def explains(self) -> str:
        """The explained fractions, as a predicate without a subject."""
        shares = [(self.inside, "inside"), (self.outside, "on the outer shell")]
        known = [(share, where) for share, where in shares if share is not None]
        better = [(whole_percent(share), where) for share, where in known if share >= 0]
        worse = [where for share, where in known if share < 0]
        words = []
        if better:
            (share, where), *rest = better
            parts = [f"explains {share} of the library's residual beyond noise {where}"]
            words.append(", ".join([*parts, *map(" ".join, rest)]))
        if worse:
            words.append(f"is worse than the library alone {' and '.join(worse)}")
        return " but ".join(words) or "improves trajectories, while single rows show only noise"

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as plain data."""
        return {
            "equation": self.equation,
            "formula": self.formula,
            "terms": list(self.terms),
            "text": self.text,
            "gain": self.gain,
            "inside": self.inside,
            "outside": self.outside,
            "probability": self.probability,
            "constants": [
                {key: value for key, value in vars(record).items() if key != "unit" or value}
                for record in self.constants
            ],
            "alternatives": [dict(vars(record)) for record in self.alternatives],
            "changes": {name: list(pair) for name, pair in self.changes.items()},
        }

    def __repr__(self) -> str:
        return f"Proposal({self.left} needs {self.formula}, gain {self.gain:.0f} nats)"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Terms that the library of a fitted model lacks.

    `proposals` are sorted, best first, and empty if the library is sufficient. `timed_out` is true
    if the time limit ended the search.
    """

    model: AbstractModel
    data: Dataset | tuple[Any, Any, Any]
    proposals: tuple[Proposal, ...]
    timed_out: bool = False

    def __post_init__(self):
        for proposal in self.proposals:
            proposal._explanation.append(self)

    def accept(self, *which: "int | Proposal") -> AbstractModel:
        """Return a new model with the terms of these proposals in its library, fitted to the same
        data.

        Without arguments, the best proposal of each equation is accepted.
        """
        proposals = [self._proposal(proposal) for proposal in which] or self._best_of_each()
        if not proposals:
            raise InputError("There is no proposal to accept: no formula improves the library.")
        equations = [proposal.equation for proposal in proposals]
        if len(set(equations)) < len(equations):
            raise InputError(
                f"Proposals for the same equation exclude each other; got two for "
                f"'{max(equations, key=equations.count)}'. Accept one of them."
            )
        additions = [proposal.addition(str(i)) for i, proposal in enumerate(proposals)]
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
        for proposal in self.proposals:
            best.setdefault(proposal.equation, proposal)
        return list(best.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the proposals as plain data."""
        return {
            "proposals": [proposal.to_dict() for proposal in self.proposals],
            "timed_out": self.timed_out,
        }

    def _repr_html_(self) -> str:
        """Return the proposed equations and their evidence as HTML."""
        if not self.proposals:
            return html_sentences([repr(self)])
        names = self.model.field_.features.variables
        columns = ("", "equation lacks", "gain", "explains inside", "outer shell", "preferred")
        rows = [
            (
                f"[{i}]", typeset_sentence(f"{proposal.left}: {proposal.formula}", names),
                f"{proposal.gain:.0f} nats",
                *("-" if share is None else whole_percent(share)
                  for share in (proposal.inside, proposal.outside, proposal.probability)),
            )
            for i, proposal in enumerate(self.proposals)
        ]  # fmt: skip
        best = html_lines([proposal.to_mathml() for proposal in self._best_of_each()])
        return best + html_table(columns, rows, words=2)

    def __repr__(self) -> str:
        notes = ["The time limit ended the search early."] if self.timed_out else []
        if not self.proposals:
            nothing = "no formula that was tried explains the library's residual."
            if len(self.model.knowledge().complete) == len(self.model.output_names_):
                nothing = "all equations are given completely. End one with '+ ...' to extend it."
            return " ".join([f"Nothing to add: {nothing}", *notes])
        first = {proposal.equation: proposal for proposal in reversed(self.proposals)}
        lines = [
            f"[{i}] {describe_proposal(proposal, in_full=first[proposal.equation] is proposal)}"
            for i, proposal in enumerate(self.proposals)
        ]
        return "\n".join([*lines, *notes])


def describe_proposal(proposal: Proposal, *, in_full: bool = True) -> str:
    """Return a proposal and its evidence in a few lines of text."""
    if not in_full:
        return f"or {proposal.formula}, gain {proposal.gain:.0f} nats"
    lines = [
        f"{proposal.left} lacks {proposal.formula}",
        f"    {proposal.text}",
        f"    gain {proposal.gain:.0f} nats; {proposal.explains}; preferred in "
        f"{whole_percent(proposal.probability)} of resamples",
    ]
    lines += [
        f"    {constant.name}: {constant.value:.5g}{f' {constant.unit}' * bool(constant.unit)}"
        + (" (a simple number)" if constant.is_snapped else "")
        + f", 95% interval {interval(constant.low, constant.high)}"
        for constant in proposal.constants
    ]
    lines += [
        f"    {name}: {before:.4g} -> {after:.4g}"
        for name, (before, after) in proposal.changes.items()
        if abs(after - before) > 0.01 * max(abs(before), abs(after))
    ]
    lines += [
        f"an alternative is {other.formula} ({other.gap:+.1f} nats); the two differ most at "
        f"{', '.join(f'{name} = {value:.3g}' for name, value in other.where.items())}"
        for other in proposal.alternatives
    ]
    return "\n".join(lines)
