"""`Explanation`: proposals for what a library lacks, with what speaks for each."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from .._common.errors import InputError
from .._common.html import html_lines, html_sentences, html_table
from ..export import equation_mathml, typeset_sentence
from ..findings._words import interval, whole_percent
from ..search.formulas import Alternative, Candidate, Constant
from .accepting import Addition, extended


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
    constants: tuple[Constant, ...]
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
            (float(w), shape.at([float(f"{v:.4g}") for v in values]))
            for shape, values, w in zip(fit.shapes, fit.values, fit.coefficients, strict=True)
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
