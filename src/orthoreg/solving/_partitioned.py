"""Moments of many disjoint cells of the data, for the selection of terms.

`CenteredTerms` are the library's terms relative to the mean of the data, so that their sizes can be
compared.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from .._common.errors import DataError
from ..data import AnyRows, Partition, PartitionRule, Rows
from ..terms import Expression, monomial, variables_of
from . import _limits as limits
from ._moments import Moments, not_finite

Part = tuple[int, ...] | Expression
"""The exponents of a monomial of (z - mean), or a term that is not a monomial."""


@final
@dataclass(frozen=True, eq=False)
class CenteredTerms:
    """Terms theta_k = constant_k + sum_j expansion[k, j] phi_j, where each phi_j has standard
    deviation one.

    The phi_j are monomials of (z - mean); other terms are unchanged. For example, x - 300 near x =
    300 is one small term, not the difference of two large terms. `correlation` is the correlation
    of the phi_j on the data. `member[j, g]` is one if phi_j is a function of variable group g;
    correlations between functions of different variables are set to zero.
    """

    expansion: Float[np.ndarray, "K J"]
    correlation: Float[np.ndarray, "J J"]
    member: Float[np.ndarray, "J G"]

    @classmethod
    def of(cls, features: Any, variables: Float[np.ndarray, "N V"]) -> "CenteredTerms":
        """Return the centered terms of a `FeatureMap`, from a sample of rows."""
        rows = variables[:: -(-len(variables) // limits.CENTERED_ROWS)]
        mean = rows.mean(axis=0)
        expansions = [_expanded(term, mean) for term in features.terms]
        parts = list(dict.fromkeys(part for weights in expansions for part in weights))
        expansion = _filled(expansions, parts)
        term_values = dict(zip(features.terms, features(rows).T, strict=True))
        values = np.array([_values(part, rows - mean, term_values) for part in parts])
        values = values.reshape(len(parts), len(rows))
        std, size = values.std(axis=1), np.sqrt((values**2).mean(axis=1))
        std = np.where(std > limits.CONSTANT_TERM_STD * size, std, 0.0)
        unit = np.where(std > 0, std, 1.0)[:, None]
        standard = (values - values.mean(axis=1, keepdims=True)) / unit
        uses = [_uses(part) for part in parts]
        groups = list(dict.fromkeys(uses))
        member = _filled([{use: 1.0} for use in uses], groups)
        return cls(
            expansion * std,
            (standard @ standard.T / len(rows)) * (member @ member.T),
            member,
        )

    def scaled(self, scale: Float[np.ndarray, " K"]) -> "CenteredTerms":
        """Return the centered terms for terms divided by `scale`."""
        return replace(self, expansion=self.expansion / scale[:, None])

    def only(self, terms: Int[np.ndarray, " k"]) -> "CenteredTerms":
        """Return the centered terms for a subset of the terms."""
        expansion = self.expansion[terms]
        used = (expansion != 0).any(axis=0)
        member = self.member[used]
        return CenteredTerms(
            expansion[:, used],
            self.correlation[np.ix_(used, used)],
            member[:, member.any(axis=0)],
        )

    def combined(self, maps: Float[np.ndarray, "g K J"]) -> "CenteredTerms":
        """Return the centered terms for combinations of terms, separately for each equation."""
        count = len(maps)
        correlation = np.kron(np.eye(count), self.correlation)
        expansion = np.concatenate([term_map.T @ self.expansion for term_map in maps], axis=1)
        return CenteredTerms(expansion, correlation, np.kron(np.eye(count), self.member))

    def cancellation(
        self, coefficients: Float[np.ndarray, "M K"], size: Float[np.ndarray, " M"]
    ) -> Float[np.ndarray, " M"]:
        """Return the ratio of the size of the terms of an equation to the size of their sum.

        Sizes of terms in the same variables are summed, and divided by the size of their sum or by
        `size`, the size of the whole right-hand side, whichever is larger. The largest ratio is
        returned.
        """
        weights = coefficients @ self.expansion
        squares = (weights * (weights @ self.correlation)) @ self.member
        sums = np.sqrt(np.maximum(squares, np.maximum(size[:, None], 1e-150) ** 2))
        return (np.abs(weights) @ self.member / sums).max(axis=1, initial=0.0)


def _filled(
    rows: Sequence[Mapping[Any, float]], columns: Sequence[Any]
) -> Float[np.ndarray, "R C"]:
    """Return a matrix with the values of each row in their columns, and zero elsewhere."""
    column_index = {column: number for number, column in enumerate(columns)}
    matrix = np.zeros((len(rows), len(columns)))
    for row, values in zip(matrix, rows, strict=True):
        for column, value in values.items():
            row[column_index[column]] = value
    return matrix


def _expanded(term: Expression, mean: Float[np.ndarray, " V"]) -> dict[Part, float]:
    """Return a term as monomials about the mean without the constant, or the unchanged term."""
    factors = monomial(term, len(mean))
    if factors is None:
        return {term: 1.0}
    factor, powers = factors
    return {
        lower: factor
        * math.prod(
            math.comb(p, q) * float(m) ** (p - q)
            for p, q, m in zip(powers, lower, mean, strict=True)
        )
        for lower in itertools.product(*(range(power + 1) for power in powers))
        if any(lower)
    }


def _values(
    part: Part, deviation: Float[np.ndarray, "N V"], term_values: dict[Expression, np.ndarray]
) -> Float[np.ndarray, " N"]:
    if not isinstance(part, tuple):
        return term_values[part]
    return math.prod(
        (deviation[:, i] ** p for i, p in enumerate(part) if p), start=np.ones(len(deviation))
    )


def _uses(part: Part) -> frozenset[int]:
    """Return the variables in a part."""
    if not isinstance(part, tuple):
        return variables_of(part)
    return frozenset(i for i, power in enumerate(part) if power)


@final
@dataclass(frozen=True, eq=False)
class PartitionedMoments:
    """The sums sum_i z_i z_i' over the rows of each cell, with z = (theta_1 ... theta_K, y_1 ...
    y_c).

    A cell contains the rows of a group that lie on the same side of every cut, so the moments of
    any part are a sum over cells. `a + b` contains the cells of two chunks of rows.
    `extrapolation_gram` is the mean of theta theta' over the `n_extrapolated` extrapolated rows,
    `target_mse` the known squared error of the targets, and `centered` the terms about the mean of
    the data. `level` is the number of times that the number of groups was halved to limit memory.

    After `combined`, columns are combinations of terms. Some columns may be `required` in every
    choice, and have `bounds` on their coefficients.
    """

    count: Int[np.ndarray, " C"]
    total: Float[np.ndarray, "C P P"]
    group: Int[np.ndarray, " C"]
    outer: Bool[np.ndarray, "C Q"]
    cuts: tuple[str, ...]
    extrapolation_gram: Float[np.ndarray, "K K"]
    n_extrapolated: int
    target_mse: Float[np.ndarray, " c"]
    centered: CenteredTerms
    required: Bool[np.ndarray, " K"] | None = None
    bounds: Float[np.ndarray, "2 K"] | None = None
    level: int = 0

    def __add__(self, other: "PartitionedMoments") -> "PartitionedMoments":
        """Return the cells of both. Equal cells are added, and groups are merged if there are
        many.
        """
        n, m = self.n_extrapolated, other.n_extrapolated
        rows = self.all.count + other.all.count
        level = max(self.level, other.level)
        cells, other_cells = self._merged(level), other._merged(level)
        both = replace(
            self,
            count=np.concatenate([cells[0], other_cells[0]]),
            total=np.concatenate([cells[1], other_cells[1]]),
            group=np.concatenate([cells[2], other_cells[2]]),
            outer=np.concatenate([cells[3], other_cells[3]]),
            extrapolation_gram=(n * self.extrapolation_gram + m * other.extrapolation_gram)
            / max(n + m, 1),
            n_extrapolated=n + m,
            target_mse=(self.all.count * self.target_mse + other.all.count * other.target_mse)
            / rows,
            level=level,
        )
        max_cells = limits.MAX_CELL_NUMBERS // self.total.shape[1] ** 2
        while True:
            count, total, group, outer = both._merged(level)
            if len(count) <= max_cells or not group.any():
                break
            level += 1
        return replace(both, count=count, total=total, group=group, outer=outer, level=level)

    def _merged(
        self, level: int
    ) -> tuple[
        Int[np.ndarray, " D"],
        Float[np.ndarray, "D P P"],
        Int[np.ndarray, " D"],
        Bool[np.ndarray, "D Q"],
    ]:
        """Return count, moments, group and sides of cells after groups are merged to this level."""
        width = self.outer.shape[1]
        group = self.group >> (level - self.level)
        code = (group.astype(np.int64) << width) | _bits(self.outer)
        codes, cell = np.unique(code, return_inverse=True)
        if len(codes) == len(code):
            order = np.argsort(cell)
            return self.count[order], self.total[order], group[order], self.outer[order]
        count, total = np.zeros(len(codes), np.int64), np.zeros((len(codes), *self.total.shape[1:]))
        np.add.at(count, cell, self.count)
        np.add.at(total, cell, self.total)
        return count, total, codes >> width, _sides(codes, width)

    @property
    def n_features(self) -> int:
        return len(self.extrapolation_gram)

    @property
    def n_groups(self) -> int:
        return int(self.group.max()) + 1

    @cached_property
    def all(self) -> Moments:
        """The moments of all rows."""
        return Moments(int(self.count.sum()), self.total.sum(axis=0), self.n_features, 0)

    def scaled(
        self,
    ) -> tuple["PartitionedMoments", Float[np.ndarray, " K"], Float[np.ndarray, " c"]]:
        """Return the cells for terms and targets with mean square one, and the scales."""
        squares = np.maximum(np.diag(self.all.total), 0.0)  # rounding may make squares negative
        scale = np.sqrt(squares / self.all.count)
        scale = np.where(scale > 0, scale, 1.0)
        terms, targets = scale[: self.n_features], scale[self.n_features :]
        cells = replace(
            self,
            total=self.total / np.outer(scale, scale),
            extrapolation_gram=self.extrapolation_gram / np.outer(terms, terms),
            target_mse=self.target_mse / targets**2,
            centered=self.centered.scaled(terms),
            bounds=None if self.bounds is None else self.bounds * terms / targets,
        )
        return cells, terms, targets

    def only(self, terms: Int[np.ndarray, " k"], target: int) -> "PartitionedMoments":
        """Return the moments of these terms and one target."""
        columns = np.append(terms, self.n_features + target)
        return replace(
            self,
            total=self.total[:, columns[:, None], columns],
            extrapolation_gram=self.extrapolation_gram[np.ix_(terms, terms)],
            target_mse=self.target_mse[[target]],
            centered=self.centered.only(terms),
            required=None if self.required is None else self.required[terms],
            bounds=None if self.bounds is None else self.bounds[:, terms],
        )

    def combined(
        self,
        maps: Float[np.ndarray, "g P Q"],
        required: Bool[np.ndarray, " J"],
        bounds: Float[np.ndarray, "2 J"],
    ) -> "PartitionedMoments":
        """Return the moments of one problem with the rows of several equations.

        The columns of equation g are combinations maps[g] of the current columns, with the target
        last.
        """
        K = self.n_features
        weights = maps[:, K:, -1]  # weights of the targets
        terms = maps[:, :K, :-1]
        return replace(
            self,
            total=np.einsum("gpq,cpr,grs->cqs", maps, self.total, maps, optimize=True),
            extrapolation_gram=np.einsum(
                "gpq,pr,grs->qs", terms, self.extrapolation_gram, terms, optimize=True
            ),
            target_mse=np.array([np.sum(weights**2 @ self.target_mse)]),
            centered=self.centered.combined(terms),
            required=required,
            bounds=bounds,
        )


def gather_partitioned(
    features: Any, rows: AnyRows, partition: Partition | PartitionRule
) -> PartitionedMoments:
    """Return the moments of every cell, from one pass in blocks of rows sorted by cell.

    A rule returns the partition of any chunk of the rows.
    """
    with np.errstate(all="ignore"):  # a later check names terms that are not finite
        centered = CenteredTerms.of(features, rows.subsample(limits.CENTERED_ROWS).points)

    def of_chunk(chunk: Rows) -> PartitionedMoments:
        chunk_partition = partition if isinstance(partition, Partition) else partition(chunk)
        return _gather_partitioned(features, chunk, chunk_partition, centered)

    return rows.sum_chunks(of_chunk)


def _gather_partitioned(
    features: Any, rows: Rows, partition: Partition, centered: CenteredTerms
) -> PartitionedMoments:
    n_features = features(rows.points[:1]).shape[1]
    size = n_features + rows.targets.shape[1]
    partition = _fewer_cuts(partition, size)
    cell_of_row, group, outer, level = _cells(partition, limits.MAX_CELL_NUMBERS // size**2)
    length = int(np.clip(limits.MAX_BLOCK_NUMBERS // size, 256, limits.MAX_BLOCK_ROWS))
    dtype = np.uint16 if len(group) <= 2**16 else np.int64  # radix sort of small integers is faster
    order = np.argsort(cell_of_row.astype(dtype), kind="stable")
    total = np.zeros((len(group), size, size))
    gram, n_extrapolated = np.zeros((n_features, n_features)), 0
    scratch = np.empty((size, min(length, len(order))))
    for first in range(0, len(order), length):
        chosen = order[first : first + length]
        cells = cell_of_row[chosen]
        starts = np.flatnonzero(np.diff(cells, prepend=-1))
        with np.errstate(all="ignore"):
            block = scratch[:, : len(chosen)]  # one row per function, which fits into the cache
            block[:n_features] = rows.evaluate(features, chosen).T
            block[n_features:] = rows.targets[chosen].T
            for a, b in zip(starts, [*starts[1:], len(chosen)], strict=True):
                total[cells[a]] += block[:, a:b] @ block[:, a:b].T
        if partition.extrapolated is not None:
            extrapolated = features(partition.extrapolated[chosen])
            if (
                not np.abs(extrapolated).max() < limits.MAX_TERM_VALUE
            ):  # a term may be undefined there
                extrapolated = extrapolated[
                    (np.abs(extrapolated) < limits.MAX_TERM_VALUE).all(axis=1)
                ]
            gram += extrapolated.T @ extrapolated
            n_extrapolated += len(extrapolated)
    if not np.isfinite(total).all():
        raise not_finite(features, rows)
    count = np.bincount(cell_of_row, minlength=len(group))
    return PartitionedMoments(
        count, total, group, outer, partition.cuts, gram / max(n_extrapolated, 1), n_extrapolated,
        rows.target_mse, centered, level=level,
    )  # fmt: skip


def _fewer_cuts(partition: Partition, size: int) -> Partition:
    """Return the partition with as many of the first and last cuts as fit into memory.

    The result is the same for every chunk.
    """
    if size <= limits.MANY_COLUMNS:
        return partition
    max_cuts = int(np.log2(max(limits.MAX_CUT_NUMBERS // size**2, limits.MIN_CUT_CELLS)))
    width = partition.outer.shape[1]
    if width <= max_cuts:
        return partition
    chosen = [0, *range(width - max_cuts + 1, width)]
    cuts = tuple(partition.cuts[cut] for cut in chosen)
    return replace(partition, outer=partition.outer[:, chosen], cuts=cuts)


def _cells(
    partition: Partition, max_cells: int
) -> tuple[Int[np.ndarray, " N"], Int[np.ndarray, " C"], Bool[np.ndarray, "C Q"], int]:
    """Return the cell of each row, the group and sides of each cell, and the level of halving."""
    width = partition.outer.shape[1]
    if width > 40:
        raise DataError(f"A partition supports at most 40 cuts; there are {width}.")
    bits = _bits(partition.outer)
    group, level = partition.group, 0
    while True:
        code = (group.astype(np.int64) << width) | bits
        codes, cell_of_row = _distinct(code)
        if len(codes) <= max_cells or not group.any():
            break
        group, level = group // 2, level + 1
    return cell_of_row, codes >> width, _sides(codes, width), level


def _distinct(
    code: Int[np.ndarray, " N"],
) -> tuple[Int[np.ndarray, " C"], Int[np.ndarray, " N"]]:
    """Return the distinct numbers, and the index of each number among them.

    Small numbers are counted, which is faster than sorting.
    """
    largest = int(code.max(initial=0))
    if largest > max(len(code), limits.MAX_COUNTED_CODE):
        return np.unique(code, return_inverse=True)
    occurs = np.bincount(code) > 0
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[code]


def _bits(outer: Bool[np.ndarray, "N Q"]) -> Int[np.ndarray, " N"]:
    return outer @ (1 << np.arange(outer.shape[1], dtype=np.int64))


def _sides(code: Int[np.ndarray, " C"], width: int) -> Bool[np.ndarray, "C Q"]:
    return (code[:, None] >> np.arange(width)) & 1 == 1
