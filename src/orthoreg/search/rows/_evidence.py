"""Evidence for the selected terms, from trajectories or from resamples of groups of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ..._common.progress import step
from ...matching import Inclusion
from ...solving import PartitionedMoments
from . import _limits as limits
from ._confounded import ConfoundedPair, confounded_pairs
from ._search import Splits
from ._selection import (
    EquationPath,
    SelectionEvidence,
    SelectionResult,
    error_floor,
    group_cells,
    one_standard_error_choice,
)


@final
@dataclass(frozen=True, eq=False)
class TermEvidence:
    """The probability of each term of each equation, and the 95% interval of its coefficient (NaN
    if unknown).

    `support` are the terms in use, and `pairs` the pairs of terms that the data do not distinguish.
    Probabilities come from the scores of term sets on trajectories; otherwise, they are the
    fractions of resamples that select the term. `equation_probability` is the joint probability of
    all terms of an equation, which only trajectories provide.
    """

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
    """Return the evidence for the terms in use (`support`), without intervals.

    Return None if the selection kept no moments. Resamples are drawn unless trajectories provide
    the probabilities (`matched`).
    """
    if selected.evidence is None:
        return None
    if matched is None:
        probability = _inclusion(selected, selected.evidence, resamples, seed)
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


def _inclusion(
    selected: SelectionResult, evidence: SelectionEvidence, resamples: int, seed: int
) -> Float[np.ndarray, "c K"]:
    """Return the fraction of resamples that select each term, by equation.

    Groups of runs are drawn with replacement, and the terms are selected again from the best
    supports of each size.
    """
    rng = np.random.default_rng(seed)
    n = evidence.cells.n_groups
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    probability = np.zeros(selected.support.shape)
    grouped = {c for group, _ in selected.groups for c in group.equations}
    paths = [path if c not in grouped else None for c, path in enumerate(selected.paths)]
    for c, chosen in enumerate(_resampled_choices(evidence.cells, evidence, paths, weights)):
        if chosen is not None:
            probability[c] = chosen.mean(axis=0)
    for group, path in selected.groups:
        of_group = group_cells(evidence.cells, group)
        (chosen,) = _resampled_choices(of_group, evidence, [path], weights)
        assert chosen is not None
        probability[list(group.equations)] = group.support(chosen).mean(axis=0)
    return probability


def _resampled_choices(
    cells: PartitionedMoments,
    evidence: SelectionEvidence,
    paths: Sequence[EquationPath | None],
    weights: Float[np.ndarray, "R G"],
) -> list[Bool[np.ndarray, "R K"] | None]:
    """Return the selected terms of each target in each resample."""
    cells, _, _ = cells.scaled()
    gram = evidence.caution * cells.extrapolation_gram
    grouped = _by_group(cells, evidence.held_out)
    n_splits = len(grouped[0]) // 2
    size = max(limits.RESAMPLED_NUMBERS // (2 * n_splits * cells.total[0].size), 1)
    blocks = [
        _resampled(grouped, weights[first : first + size], gram, cells)
        for first in range(0, len(weights), size)
    ]
    return [
        None
        if path is None
        else np.concatenate(
            [
                _chosen(parts, n_splits, path.contenders, c, error_floor(cells, c))
                for parts in blocks
            ]
        )
        for c, path in enumerate(paths)
    ]


def _by_group(
    cells: PartitionedMoments, outer: Bool[np.ndarray, "C S"]
) -> tuple[Float[np.ndarray, "S2 G"], Float[np.ndarray, "S2 G P P"]]:
    """Return rows and moments of each group in the inner parts of all splits, followed by the outer
    parts.
    """
    in_part = np.concatenate([~outer, outer], axis=1).astype(float)  # (C, 2 S)
    member = (cells.group[:, None] == np.arange(cells.n_groups)).astype(float)
    shares = (in_part[:, :, None] * member[:, None, :]).reshape(len(in_part), -1)
    shape = (in_part.shape[1], cells.n_groups)
    counts = (cells.count @ shares).reshape(shape)
    return counts, np.tensordot(shares.T, cells.total, 1).reshape(*shape, *cells.total.shape[1:])


def _resampled(
    grouped: tuple[np.ndarray, np.ndarray],
    weights: Float[np.ndarray, "R G"],
    gram: Float[np.ndarray, "K K"],
    cells: PartitionedMoments,
) -> Splits:
    """Return the splits of all resamples, one resample after the other."""
    counts, totals = grouped
    half, size = len(counts) // 2, totals.shape[-1]
    rows = weights @ counts.T  # (R, 2 S)
    sums = np.einsum("rg,sgp->rsp", weights, totals.reshape(*counts.shape, -1), optimize=True)
    sums = sums.reshape(len(weights), 2 * half, size, size)
    everything = (sums[:, 0] + sums[:, half]) / (rows[:, 0] + rows[:, half])[:, None, None]
    means = sums / np.maximum(rows, 1)[..., None, None]
    flat = (len(weights) * half, size, size)
    return Splits(
        means[:, :half].reshape(flat),
        means[:, half:].reshape(flat),
        everything,
        gram,
        cells.centered,
        cells.bounds,
    )


def _chosen(
    parts: Splits, n_splits: int, contenders: np.ndarray, equation: int, floor: float
) -> np.ndarray:
    """Return, for each resample, the smallest contender that no other contender beats."""
    sizes = contenders.sum(axis=1)
    y = parts.target(equation)
    empty = (parts.outer[:, y, y] == 0).reshape(-1, n_splits)  # a part for which no group was drawn
    masks, logs = [], []
    for size in np.unique(sizes):
        of_size = contenders[sizes == size]
        _, outer = parts.errors(np.stack([np.flatnonzero(mask) for mask in of_size]), equation)
        values = np.log(outer + floor).reshape(len(of_size), -1, n_splits)
        values = np.where(empty, 0.0, values)
        best = values.mean(axis=2).argmin(axis=0)
        masks.append(of_size[best])
        logs.append(values[best, np.arange(len(best))])
    chosen, _ = one_standard_error_choice(np.stack(logs, axis=1))
    return np.stack(masks, axis=1)[np.arange(len(chosen)), chosen]
