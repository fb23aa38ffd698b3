"""What a search found: proposals for what a library lacks, and ranked models."""

from typing import TYPE_CHECKING, Any

from ...findings._words import interval
from ._data import ProposalView, RankedModel

if TYPE_CHECKING:  # both bring the whole search for formulas
    from ...model.discovery import Discovery
    from ...model.explanation import Explanation

_MOVED = 0.01  # of a coefficient: a smaller change is none


def proposals_of(found: "Explanation", model: Any) -> tuple[ProposalView, ...]:
    """The proposals with their evidence in words, and whether the model accepted them."""
    accepted = {(one["equation"], one["formula"]) for one in model.accepted_}
    result = []
    for one in found.proposals:
        constants = [
            f"{c.name} = {c.value:.5g}{', a simple number' if c.is_snapped else ''} "
            f"({interval(c.low, c.high)})"
            for c in one.constants
        ]
        changes = [
            f"{name}: {before:.4g} → {after:.4g}"
            for name, (before, after) in one.changes.items()
            if abs(after - before) > _MOVED * max(abs(before), abs(after))
        ]
        others = [f"{other.formula} ({other.gap:+.1f} nats)" for other in one.alternatives]
        result.append(
            ProposalView(
                f"{one.equation}'", one.formula, one.to_mathml(), one.gain, one.inside, one.outside,
                one.probability, tuple(constants), tuple(changes), tuple(others),
                (one.equation, one.formula) in accepted,
            )
        )  # fmt: skip
    return tuple(result)


def ranking_of(found: "Discovery") -> tuple[RankedModel, ...]:
    """The models, best first."""
    return tuple(
        RankedModel(
            tuple(one.to_mathml()), one.gap, one.is_base,
            "" if one.difference is None else str(one.difference),
        )
        for one in found.models
    )  # fmt: skip
