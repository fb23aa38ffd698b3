"""Which numbers of a field are free in a refinement, and where they stand in one vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..field.hybrid import HybridField
from ..libraries import parameters_of
from ..physics import Knowledge, atom_bounds, null_space

_ROUNDING = 1e-12


@final
class Values(NamedTuple):
    """The numbers of a field: coefficients (c, K), inner parameters (q,), weights (H, c)."""

    coefficients: np.ndarray
    parameters: np.ndarray
    weights: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Constants:
    """The free numbers p, in this order: coefficients, inner parameters, weights by equation.

    `rows`, `columns` are the places of the coefficients, `inner` those of the parameters,
    `weighted` the equations whose residual is free, with `width` weights each. Coefficients that
    relations tie are offset + mixing u, where u are those that stay free, at the places `lead`
    among them.
    """

    rows: Int[np.ndarray, " k"]
    columns: Int[np.ndarray, " k"]
    inner: Int[np.ndarray, " q"]
    weighted: tuple[int, ...]
    width: int
    mixing: Float[np.ndarray, "k f"]
    offset: Float[np.ndarray, " k"]
    lead: Int[np.ndarray, " f"]

    @classmethod
    def of(
        cls,
        field: HybridField,
        fixed: Sequence[int] = (),
        *,
        residual: bool = True,
        knowledge: Knowledge | None = None,
        candidates: Bool[np.ndarray, "c K"] | None = None,
    ) -> "Constants":
        """All non-zero coefficients and `candidates` but those of the equations `fixed` and those
        that are given, the parameters in the terms in use, and the weights of a residual that is
        not zero."""
        used = np.asarray(field.coefficients) != 0
        used[list(fixed)] = False
        parameterised = np.nonzero(used)[1]
        if candidates is not None:
            used |= candidates
            used[list(fixed)] = False
        if knowledge is not None:
            used &= ~knowledge.given
            residual &= not len(knowledge.conserved)
        rows, columns = np.nonzero(used)
        moves = np.eye(len(rows))
        if knowledge is not None:
            moves = null_space(knowledge.relations[:, rows, columns])
        lead = np.array([int(np.flatnonzero(move)[0]) for move in moves], dtype=int)
        coefficients = np.asarray(field.coefficients)[rows, columns]
        offset = coefficients - moves.T @ coefficients[lead]
        offset[np.abs(offset) <= _ROUNDING * np.abs(coefficients)] = 0.0
        names = frozenset().union(*(parameters_of(field.features.terms[k]) for k in parameterised))
        inner = [i for i, name in enumerate(field.features.parameters) if name in names]
        moved = np.any(np.asarray(field.weights) != 0, axis=0)
        weighted = [int(c) for c in np.flatnonzero(moved) if c not in fixed and residual]
        return cls(
            rows, columns, np.array(inner, dtype=int), tuple(weighted), field.basis.size,
            moves.T, offset, lead,
        )  # fmt: skip

    @classmethod
    def none(cls) -> "Constants":
        """Everything stays."""
        empty = np.zeros(0, dtype=int)
        return cls(empty, empty, empty, (), 0, np.zeros((0, 0)), np.zeros(0), empty)

    @property
    def count(self) -> int:
        """How many coefficients and inner parameters are free."""
        return len(self.lead) + len(self.inner)

    @property
    def size(self) -> int:
        """How many free numbers there are in all."""
        return self.count + len(self.weighted) * self.width

    def weights_of(self, place: int) -> slice:
        """Where the weights of the equation at this place of `weighted` stand."""
        start = self.count + place * self.width
        return slice(start, start + self.width)

    def read(self, field: HybridField) -> Float[np.ndarray, " P"]:
        """The free numbers of a field."""
        weights = np.asarray(field.weights)[:, list(self.weighted)].T.ravel()
        coefficients = np.asarray(field.coefficients)[self.rows, self.columns]
        return np.concatenate([coefficients[self.lead], _parameters(field)[self.inner], weights])

    def values(self, field: HybridField, p: Float[np.ndarray, " P"]) -> Values:
        """All numbers of the field, the free ones replaced."""
        coefficients = np.array(field.coefficients, dtype=float)
        free = len(self.lead)
        coefficients[self.rows, self.columns] = self.offset + self.mixing @ p[:free]
        parameters = _parameters(field).copy()
        parameters[self.inner] = p[free : self.count]
        weights = np.array(field.weights, dtype=float)
        for place, c in enumerate(self.weighted):
            weights[:, c] = p[self.weights_of(place)]
        return Values(coefficients, parameters, weights)

    def write(self, field: HybridField, p: Float[np.ndarray, " P"]) -> HybridField:
        """The field with these free numbers."""
        values = self.values(field, p)
        given = None if field.parameters is None else values.parameters
        return replace(
            field,
            features=field.features.with_values(values.parameters),
            coefficients=values.coefficients,
            weights=values.weights,
            parameters=given,
        )

    def bounds(
        self,
        field: HybridField,
        given: Mapping[str, tuple[float, float]],
        knowledge: Knowledge | None = None,
    ) -> Float[np.ndarray, "2 P"]:
        """Between which ends each free number stays; inner parameters are positive unless told."""
        ends = np.tile([[-np.inf], [np.inf]], self.size)
        if knowledge is not None:
            low, high = (
                limit[self.rows, self.columns] - self.offset
                for limit in (knowledge.low, knowledge.high)
            )
            ends[:, : len(self.lead)] = atom_bounds(self.mixing.T, low, high)
        for place, i in enumerate(self.inner):
            name = field.features.parameters[i]
            ends[:, len(self.lead) + place] = given.get(name, (0.0, np.inf))
        return ends

    def limits(
        self, free: Float[np.ndarray, "2 P"], knowledge: Knowledge | None = None
    ) -> Float[np.ndarray, "kq 2"]:
        """The bounds of coefficients and inner parameters, where those of the `free` numbers are
        known."""
        found = np.tile([-np.inf, np.inf], (len(self.rows) + len(self.inner), 1))
        if knowledge is not None:
            found[: len(self.rows), 0] = knowledge.low[self.rows, self.columns]
            found[: len(self.rows), 1] = knowledge.high[self.rows, self.columns]
        found[len(self.rows) :] = free[:, len(self.lead) : self.count].T
        return found

    def spread_out(self, free: Float[np.ndarray, "p 2"]) -> Float[np.ndarray, "kq 2"]:
        """Factors of lower and upper half-widths, from those of the free coefficients and inner
        parameters; one for a coefficient that several free numbers make up."""
        found = np.ones((len(self.rows) + len(self.inner), 2))
        found[len(self.rows) :] = free[len(self.lead) :]
        for place, row in enumerate(self.mixing):
            used = np.flatnonzero(row)
            if len(used) == 1:
                found[place] = free[used[0]][:: 1 if row[used[0]] > 0 else -1]
        return found

    def follows(self) -> Float[np.ndarray, "kq P"]:
        """How coefficients and inner parameters follow the free numbers."""
        found = np.zeros((len(self.rows) + len(self.inner), self.size))
        free = len(self.lead)
        found[: len(self.rows), :free] = self.mixing
        found[len(self.rows) :, free : self.count] = np.eye(len(self.inner))
        return found


def _parameters(field: HybridField) -> Float[np.ndarray, " q"]:
    return np.array(field.features.values, dtype=float)
