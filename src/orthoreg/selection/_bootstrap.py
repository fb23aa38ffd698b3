"""Inclusion probabilities and intervals: a bootstrap over groups of runs, from moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ..moments import PartitionedMoments
from ._result import EquationPath, Evidence, SelectionResult
from ._selection import error_floor, group_cells, one_standard_error_choice
from ._splits import Splits, least_squares

_MOST_NUMBERS = 2**22  # of the moments of all resamples that are held at a time
_LEVELS = (0.025, 0.975)


@final
@dataclass(frozen=True, eq=False)
class Inclusion:
    """For each equation and term: how often it is chosen, and its coefficient's 95 % interval.

    The interval is that of the coefficients of the chosen terms, solved for again on each
    resample; it is zero for other terms, and not a number where there are too few runs and rows.
    """

    probability: Float[np.ndarray, "c K"]
    interval: Float[np.ndarray, "c K 2"]


def inclusion(
    selected: SelectionResult,
    evidence: Evidence,
    *,
    resamples: int = 300,
    seed: int = 0,
) -> Inclusion:
    """Draws groups of runs with replacement, chooses again among the best supports of each size
    that the selection found, and solves again for the coefficients of the chosen terms."""
    rng = np.random.default_rng(seed)
    n = evidence.cells.n_groups
    weights = rng.multinomial(n, np.full(n, 1 / n), size=resamples).astype(float)
    probability = np.zeros(selected.support.shape)
    interval = np.zeros((*selected.support.shape, 2))
    known = {c for group, _ in selected.groups for c in group.equations}
    alone = [path if c not in known else None for c, path in enumerate(selected.paths)]
    for c, found in enumerate(_resampled_choices(evidence.cells, evidence, alone, weights)):
        if found is not None:
            probability[c] = found[0].mean(axis=0)
            interval[c] = np.moveaxis(_ends(found[1], n), 0, 1)
    for group, path in selected.groups:
        own = group_cells(evidence.cells, group)
        (found,) = _resampled_choices(own, evidence, [path], weights)
        assert found is not None
        rows = list(group.equations)
        probability[rows] = group.support(found[0]).mean(axis=0)
        interval[rows] = np.moveaxis(_ends(group.coefficients(found[1]), n), 0, 2)
    if not evidence.can_be_resampled:
        interval[selected.support] = np.nan
    return Inclusion(probability, interval)


def _ends(resampled: Float[np.ndarray, "R ..."], groups: int) -> Float[np.ndarray, "2 ..."]:
    """The quantiles of resamples, as far from their median as Student's are for so few groups."""
    from scipy.special import ndtri, stdtrit

    middle = np.median(resampled, axis=0)
    ends = np.quantile(resampled, _LEVELS, axis=0)
    if groups < 3:
        return ends
    wider = stdtrit(groups - 1.0, _LEVELS[1]) / ndtri(_LEVELS[1]) * np.sqrt(groups / (groups - 1))
    return middle + wider * (ends - middle)


def _resampled_choices(
    cells: PartitionedMoments,
    evidence: Evidence,
    paths: Sequence[EquationPath | None],
    weights: Float[np.ndarray, "R G"],
) -> list[tuple[Bool[np.ndarray, "R K"], Float[np.ndarray, "R K"]] | None]:
    """For each target and resample the terms that are chosen, and the coefficients of those that
    are chosen on all data."""
    cells, feature_scale, target_scale = cells.scaled()
    gram = evidence.caution * cells.extrapolation_gram
    grouped = _by_group(cells, evidence.held_out)
    n_splits = len(grouped[0]) // 2
    each = max(_MOST_NUMBERS // (2 * n_splits * cells.total[0].size), 1)
    blocks = [
        _resampled(grouped, weights[first : first + each], gram, cells)
        for first in range(0, len(weights), each)
    ]
    found: list[tuple[np.ndarray, np.ndarray] | None] = []
    for c, path in enumerate(paths):
        if path is None:
            found.append(None)
            continue
        chosen = [
            _chosen(parts, n_splits, path.contenders, c, error_floor(cells, c)) for parts in blocks
        ]
        terms = np.flatnonzero(path.support)
        w = np.zeros((len(weights), cells.n_features))
        w[:, terms] = np.concatenate(
            [
                least_squares(parts.all, terms[None], parts.target(c), parts.bounds)[:, 0]
                for parts in blocks
            ]
        )
        found.append((np.concatenate(chosen), w * target_scale[c] / feature_scale))
    return found


def _by_group(
    cells: PartitionedMoments, outer: Bool[np.ndarray, "C S"]
) -> tuple[Float[np.ndarray, "S2 G"], Float[np.ndarray, "S2 G P P"]]:
    """Rows and moments of each group in the inner parts of all splits, then in the outer."""
    inside = np.concatenate([~outer, outer], axis=1).astype(float)  # (C, 2 S)
    member = (cells.group[:, None] == np.arange(cells.n_groups)).astype(float)
    shares = (inside[:, :, None] * member[:, None, :]).reshape(len(inside), -1)
    shape = (inside.shape[1], cells.n_groups)
    counts = (cells.count @ shares).reshape(shape)
    return counts, np.tensordot(shares.T, cells.total, 1).reshape(*shape, *cells.total.shape[1:])


def _resampled(
    grouped: tuple[np.ndarray, np.ndarray],
    weights: Float[np.ndarray, "R G"],
    gram: Float[np.ndarray, "K K"],
    cells: PartitionedMoments,
) -> Splits:
    """The splits of every resample, one resample after the other."""
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
    """For each resample, the smallest of the contenders that no other beats."""
    sizes = contenders.sum(axis=1)
    y = parts.target(equation)
    empty = (parts.outer[:, y, y] == 0).reshape(-1, n_splits)  # a part that was not drawn
    masks, logs = [], []
    for size in np.unique(sizes):
        mine = contenders[sizes == size]
        _, outer = parts.errors(np.stack([np.flatnonzero(mask) for mask in mine]), equation)
        values = np.log(outer + floor).reshape(len(mine), -1, n_splits)
        values = np.where(empty, 0.0, values)
        best = values.mean(axis=2).argmin(axis=0)
        masks.append(mine[best])
        logs.append(values[best, np.arange(len(best))])
    chosen, _ = one_standard_error_choice(np.stack(logs, axis=1))
    return np.stack(masks, axis=1)[np.arange(len(chosen)), chosen]
