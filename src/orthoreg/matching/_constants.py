"""The free parameters of a field, collected in one vector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..field.hybrid import HybridField
from ..physics import Knowledge, atom_bounds, null_space
from ..terms import parameters_of
from . import _limits as limits


@final
class Values(NamedTuple):
    """The parameters of a field: coefficients (c, K), inner parameters (q,), weights (H, c)."""

    coefficients: np.ndarray
    parameters: np.ndarray
    weights: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Constants:
    """The free parameters p, in this order: coefficients, inner parameters, residual weights.

    `rows` and `columns` are the indices of the coefficients, and `inner` the indices of the inner
    parameters. `weighted` lists the equations whose residual is free, with `width` weights each.
    Relations tie coefficients: all coefficients are offset + mixing u, where u are the independent
    coefficients, at the indices `lead`.
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
        """Return the free parameters of a field: coefficients, inner parameters and weights.

        The coefficients are the nonzero ones and the `candidates`, except given values and
        equations in `fixed`. Inner parameters are those of terms in use. Weights are included if
        the residual is nonzero.
        """
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
        directions = np.eye(len(rows))
        if knowledge is not None:
            directions = null_space(knowledge.relations[:, rows, columns])
        lead = np.array([int(np.flatnonzero(row)[0]) for row in directions], dtype=int)
        coefficients = np.asarray(field.coefficients)[rows, columns]
        offset = coefficients - directions.T @ coefficients[lead]
        offset[np.abs(offset) <= limits.OFFSET_ROUNDING * np.abs(coefficients)] = 0.0
        names = frozenset().union(*(parameters_of(field.features.terms[k]) for k in parameterised))
        inner = [i for i, name in enumerate(field.features.parameters) if name in names]
        has_residual = np.any(np.asarray(field.weights) != 0, axis=0)
        weighted = [int(c) for c in np.flatnonzero(has_residual) if c not in fixed and residual]
        return cls(
            rows, columns, np.array(inner, dtype=int), tuple(weighted), field.basis.size,
            directions.T, offset, lead,
        )  # fmt: skip

    @classmethod
    def none(cls) -> "Constants":
        """Return an empty set: every parameter is fixed."""
        empty = np.zeros(0, dtype=int)
        return cls(empty, empty, empty, (), 0, np.zeros((0, 0)), np.zeros(0), empty)

    @property
    def count(self) -> int:
        """Number of free coefficients and inner parameters."""
        return len(self.lead) + len(self.inner)

    @property
    def size(self) -> int:
        """Number of all free parameters."""
        return self.count + len(self.weighted) * self.width

    def weights_of(self, index: int) -> slice:
        """Return the slice with the weights of equation `weighted[index]`."""
        start = self.count + index * self.width
        return slice(start, start + self.width)

    def read(self, field: HybridField) -> Float[np.ndarray, " P"]:
        """Return the free parameters of a field."""
        weights = np.asarray(field.weights)[:, list(self.weighted)].T.ravel()
        coefficients = np.asarray(field.coefficients)[self.rows, self.columns]
        return np.concatenate([coefficients[self.lead], _parameters(field)[self.inner], weights])

    def values(self, field: HybridField, p: Float[np.ndarray, " P"]) -> Values:
        """Return all parameters of the field, with the free parameters replaced by p."""
        coefficients = np.array(field.coefficients, dtype=float)
        n_free = len(self.lead)
        coefficients[self.rows, self.columns] = self.offset + self.mixing @ p[:n_free]
        parameters = _parameters(field).copy()
        parameters[self.inner] = p[n_free : self.count]
        weights = np.array(field.weights, dtype=float)
        for i, c in enumerate(self.weighted):
            weights[:, c] = p[self.weights_of(i)]
        return Values(coefficients, parameters, weights)

    def write(self, field: HybridField, p: Float[np.ndarray, " P"]) -> HybridField:
        """Return the field with these values of the free parameters."""
        values = self.values(field, p)
        return replace(
            field,
            features=field.features.with_values(values.parameters),
            coefficients=values.coefficients,
            weights=values.weights,
            parameters=None if field.parameters is None else values.parameters,
        )

    def bounds(
        self,
        field: HybridField,
        given: Mapping[str, tuple[float, float]],
        knowledge: Knowledge | None = None,
    ) -> Float[np.ndarray, "2 P"]:
        """Return the bounds on each free parameter. Inner parameters without bounds are
        positive.
        """
        bounds = np.tile([[-np.inf], [np.inf]], self.size)
        if knowledge is not None:
            low, high = (
                limit[self.rows, self.columns] - self.offset
                for limit in (knowledge.low, knowledge.high)
            )
            bounds[:, : len(self.lead)] = atom_bounds(self.mixing.T, low, high)
        for k, i in enumerate(self.inner):
            name = field.features.parameters[i]
            bounds[:, len(self.lead) + k] = given.get(name, (0.0, np.inf))
        return bounds

    def estimate_bounds(
        self, free: Float[np.ndarray, "2 P"], knowledge: Knowledge | None = None
    ) -> Float[np.ndarray, "kq 2"]:
        """Return the bounds on coefficients and inner parameters, given the bounds on the `free`
        parameters.
        """
        bounds = np.tile([-np.inf, np.inf], (len(self.rows) + len(self.inner), 1))
        if knowledge is not None:
            bounds[: len(self.rows), 0] = knowledge.low[self.rows, self.columns]
            bounds[: len(self.rows), 1] = knowledge.high[self.rows, self.columns]
        bounds[len(self.rows) :] = free[:, len(self.lead) : self.count].T
        return bounds

    def profile_factors(self, free: Float[np.ndarray, "p 2"]) -> Float[np.ndarray, "kq 2"]:
        """Return factors for the lower and upper half-widths of all coefficients and inner
        parameters.

        `free` contains the factors of the independent ones. The factor is 1 for a coefficient that
        depends on several free parameters.
        """
        factors = np.ones((len(self.rows) + len(self.inner), 2))
        factors[len(self.rows) :] = free[len(self.lead) :]
        for i, row in enumerate(self.mixing):
            used = np.flatnonzero(row)
            if len(used) == 1:
                factors[i] = free[used[0]][:: 1 if row[used[0]] > 0 else -1]
        return factors

    def derivatives(self) -> Float[np.ndarray, "kq P"]:
        """Return the derivatives of coefficients and inner parameters with respect to the free
        parameters.
        """
        jacobian = np.zeros((len(self.rows) + len(self.inner), self.size))
        n_free = len(self.lead)
        jacobian[: len(self.rows), :n_free] = self.mixing
        jacobian[len(self.rows) :, n_free : self.count] = np.eye(len(self.inner))
        return jacobian


def _parameters(field: HybridField) -> Float[np.ndarray, " q"]:
    return np.array(field.features.values, dtype=float)
