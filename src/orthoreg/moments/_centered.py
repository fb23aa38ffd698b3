"""The library's terms written about the mean of the data, where their sizes can be compared."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from ..libraries import Expression, monomial, variables_of

CENTERED_ROWS = 5000
"""The rows that sizes and correlations are measured on, which need no more."""
_FLAT = 1e-12  # a standard deviation below this share of the root mean square is rounding

Part = tuple[int, ...] | Expression
"""Exponents of a monomial of (z - mean), or a term that is no monomial."""


@final
@dataclass(frozen=True, eq=False)
class CenteredTerms:
    """theta_k = constant_k + sum_j expansion[k, j] phi_j, each phi_j of standard deviation one.

    The phi_j are monomials of (z - mean), and the terms that are no monomials, as they stand: so
    x - 300 near x = 300 is one small term, not the difference of two large ones. `correlation` is
    that of the phi_j on the data; `member[j, g]` says which are functions of the same variables,
    and between others the correlation is left at zero.
    """

    expansion: Float[np.ndarray, "K J"]
    correlation: Float[np.ndarray, "J J"]
    member: Float[np.ndarray, "J G"]

    @classmethod
    def of(cls, features: Any, variables: Float[np.ndarray, "N V"]) -> "CenteredTerms":
        """From the terms of a `FeatureMap`; of many rows of data, some are used."""
        rows = variables[:: -(-len(variables) // CENTERED_ROWS)]
        mean = rows.mean(axis=0)
        expansions = [_expanded(term, mean) for term in features.terms]
        parts = list(dict.fromkeys(part for weights in expansions for part in weights))
        expansion = _filled(expansions, parts)
        own = dict(zip(features.terms, features(rows).T, strict=True))
        values = np.array([_values(part, rows - mean, own) for part in parts])
        values = values.reshape(len(parts), len(rows))
        spread, size = values.std(axis=1), np.sqrt((values**2).mean(axis=1))
        spread = np.where(spread > _FLAT * size, spread, 0.0)
        unit = np.where(spread > 0, spread, 1.0)[:, None]
        standard = (values - values.mean(axis=1, keepdims=True)) / unit
        uses = [_uses(part) for part in parts]
        groups = list(dict.fromkeys(uses))
        member = _filled([{use: 1.0} for use in uses], groups)
        return cls(
            expansion * spread,
            (standard @ standard.T / len(rows)) * (member @ member.T),
            member,
        )

    def scaled(self, scale: Float[np.ndarray, " K"]) -> "CenteredTerms":
        """Those of the terms divided by `scale`."""
        return replace(self, expansion=self.expansion / scale[:, None])

    def only(self, terms: Int[np.ndarray, " k"]) -> "CenteredTerms":
        """Those of these terms alone."""
        expansion = self.expansion[terms]
        used = (expansion != 0).any(axis=0)
        member = self.member[used]
        return CenteredTerms(
            expansion[:, used],
            self.correlation[np.ix_(used, used)],
            member[:, member.any(axis=0)],
        )

    def combined(self, maps: Float[np.ndarray, "g K J"]) -> "CenteredTerms":
        """Those of combinations of terms in several equations, which are kept apart."""
        count = len(maps)
        together = np.kron(np.eye(count), self.correlation)
        expansion = np.concatenate([one.T @ self.expansion for one in maps], axis=1)
        return CenteredTerms(expansion, together, np.kron(np.eye(count), self.member))

    def cancellation(
        self, coefficients: Float[np.ndarray, "M K"], size: Float[np.ndarray, " M"]
    ) -> Float[np.ndarray, " M"]:
        """How many times larger than their sum the terms of an equation are.

        The sizes of the terms in the same variables are added up, and divided by the size of
        their sum, or by that of the whole right-hand side, `size`, where that is larger. The
        largest such ratio counts.
        """
        weights = coefficients @ self.expansion
        squares = (weights * (weights @ self.correlation)) @ self.member
        sums = np.sqrt(np.maximum(squares, np.maximum(size[:, None], 1e-150) ** 2))
        return (np.abs(weights) @ self.member / sums).max(axis=1, initial=0.0)


def _filled(
    rows: Sequence[Mapping[Any, float]], columns: Sequence[Any]
) -> Float[np.ndarray, "R C"]:
    """A matrix with the values of each row under their columns, zero elsewhere."""
    place = {column: number for number, column in enumerate(columns)}
    found = np.zeros((len(rows), len(columns)))
    for row, values in zip(found, rows, strict=True):
        for column, value in values.items():
            row[place[column]] = value
    return found


def _expanded(term: Expression, mean: Float[np.ndarray, " V"]) -> dict[Part, float]:
    """The term as a sum of monomials about the mean, without the constant; else as itself."""
    found = monomial(term, len(mean))
    if found is None:
        return {term: 1.0}
    factor, powers = found
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
    part: Part, away: Float[np.ndarray, "N V"], own: dict[Expression, np.ndarray]
) -> Float[np.ndarray, " N"]:
    if not isinstance(part, tuple):
        return own[part]
    return math.prod((away[:, i] ** p for i, p in enumerate(part) if p), start=np.ones(len(away)))


def _uses(part: Part) -> frozenset[int]:
    """The variables of a part."""
    if not isinstance(part, tuple):
        return variables_of(part)
    return frozenset(i for i, power in enumerate(part) if power)
