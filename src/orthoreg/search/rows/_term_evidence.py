"""Evidence from resamples for the selected terms, in the form stored in a model file."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ..._common.progress import step
from ...matching import Inclusion
from ._bootstrap import inclusion
from ._confounded import ConfoundedPair, confounded_pairs
from ._selection import SelectionResult


@final
@dataclass(frozen=True, eq=False)
class TermEvidence:
    """Probability of each term of each equation, and the 95% interval of its coefficient (NaN if
    unknown). `support` are the terms in use, and `pairs` the terms that the data confound with
    them. Probabilities come from the scores of term sets on trajectories, or else are the fractions
    of resamples that select the term. `equation_probability` is the joint probability of all terms
    of an equation, known from trajectories only."""

    support: Bool[np.ndarray, "c K"]
    probability: Float[np.ndarray, "c K"]
    interval: Float[np.ndarray, "c K 2"]
    pairs: tuple[ConfoundedPair, ...]
    from_trajectories: bool = False
    equation_probability: Float[np.ndarray, " c"] | None = None


@step("Bootstrapping the terms")
def term_evidence(
    selected: SelectionResult,
    features: Any,
    support: Bool[np.ndarray, "c K"],
    *,
    matched: Inclusion | None = None,
    resamples: int = 300,
    seed: int = 0,
) -> TermEvidence | None:
    """Return the evidence for the terms in use (`support`), without intervals, or None if the
    selection kept no moments. Resamples are drawn unless trajectories provide the probabilities
    (`matched`)."""
    if selected.evidence is None:
        return None
    if matched is None:
        probability = inclusion(selected, selected.evidence, resamples=resamples, seed=seed)
    else:
        probability = matched.terms
    pairs = confounded_pairs(
        selected, selected.evidence, features, support=support,
        probability=None if matched is None else probability,
    )  # fmt: skip
    unknown = np.where(support[:, :, None], np.nan, np.zeros(2))
    return TermEvidence(
        support, probability, unknown, tuple(pairs), matched is not None,
        None if matched is None else matched.equations,
    )  # fmt: skip
