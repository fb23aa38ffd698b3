"""f, its Jacobian in the states and its derivatives in the constants, for a batch of states."""

from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..field.hybrid import HybridField
from ..libraries import Expression, Number, compiled, derivative, run
from ._constants import Constants, Values

_NUDGE = 1e-6  # of a state's size, by which the residual's slope is measured


@final
class Linearised(NamedTuple):
    """f (n, B); df_c/dx_j as (c, j, value); df_c/dp_q as (c, q, value) for coefficients and inner
    parameters; df/dv, which is the same for all equations, (B, H) where weights are free."""

    f: np.ndarray
    jacobian: list[tuple[int, int, Any]]
    forcing: list[tuple[int, int, Any]]
    basis: np.ndarray | None


@final
class Slope:
    """f as a function of states, inputs and the free constants; `at` some values of these it is
    ready for many evaluations.

    Terms are differentiated as formulas; the residual by differences, its weights exactly. States
    and inputs come as (V, B), one row a variable.
    """

    def __init__(
        self,
        field: HybridField,
        constants: Constants,
        sizes: Float[np.ndarray, " n"],
        *,
        gated: bool = True,
    ):
        self.field, self.constants = field, constants
        self.nudges = _NUDGE * sizes
        self.region = field.region if gated else None
        self.has_residual = bool(
            constants.weighted or np.any(field.weights) or np.any(field.correction)
        )
        correction = np.asarray(field.correction)
        self.corrected = [
            (int(c), int(k), float(correction[c, k]))
            for c, k in zip(*np.nonzero(correction), strict=True)
        ]
        self._plan(field, constants)

    def _plan(self, field: HybridField, constants: Constants) -> None:
        """Which formulas must be evaluated, and what each contributes to."""
        coefficients = np.asarray(field.coefficients)
        terms = field.features.terms
        names = field.features.parameters
        items: list[Expression] = []
        self.slopes: list[tuple[int, int, int, int]] = []  # ..., state, place
        self.inner: list[tuple[int, int, int, int]] = []  # ..., free number, place

        def place_of(item: Expression) -> int:
            items.append(item)
            return len(items) - 1

        values: dict[int, int] = {}
        for c, k in zip(*np.nonzero(coefficients), strict=True):
            c, k = int(c), int(k)
            if k not in values:
                values[k] = place_of(terms[k])
            for j in range(len(coefficients)):
                slope = derivative(terms[k], j)
                if slope != Number(0.0):
                    self.slopes.append((c, k, j, place_of(slope)))
            for q, i in enumerate(constants.inner):
                slope = derivative(terms[k], names[i])
                if slope != Number(0.0):
                    self.inner.append((c, k, len(constants.lead) + q, place_of(slope)))
        self.in_use = (list(values), list(values.values()))  # terms, and places of their values
        for k in constants.columns.tolist():  # a candidate may have the coefficient zero
            if k not in values:
                values[k] = place_of(terms[k])
        free = zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)
        self.linear = [  # equation, free number, what it is multiplied with, place
            (c, int(q), float(constants.mixing[i, q]), values[k])
            for i, (c, k) in enumerate(free)
            for q in np.flatnonzero(constants.mixing[i])
        ]
        self.simple = compiled([terms[k] for k in self.in_use[0]])
        self.program = compiled(items)

    def at(self, values: Values) -> "SlopeAt":
        """f with these constants."""
        return SlopeAt(self, values)


@final
class SlopeAt:
    """f with given constants."""

    def __init__(self, slope: Slope, values: Values):
        self._slope, self._values = slope, values
        names = slope.field.features.parameters
        self._named = dict(zip(names, values.parameters.tolist(), strict=True))
        w = values.coefficients.tolist()
        self._n = len(w)
        self.count = slope.constants.count
        self.weighted = slope.constants.weighted
        self.width = slope.constants.width if self.weighted else 0
        self._used = values.coefficients[:, slope.in_use[0]]
        self._slopes = [(c, j, w[c][k], at) for c, k, j, at in slope.slopes]
        self._inner = [(c, q, w[c][k], at) for c, k, q, at in slope.inner]

    def __call__(self, z: Float[np.ndarray, "V B"]) -> Float[np.ndarray, "n B"]:
        """f alone."""
        f = self._sum(run(self._slope.simple, z, np, self._named), z.shape[1])
        if self._slope.has_residual:
            f += self._residual(z)[0]
        return f

    def linearised(self, z: Float[np.ndarray, "V B"]) -> Linearised:
        """f and all its derivatives."""
        found = run(self._slope.program, z, np, self._named)
        f = self._sum([found[at] for at in self._slope.in_use[1]], z.shape[1])
        slopes: dict[tuple[int, int], Any] = {}
        for c, j, w, at in self._slopes:
            part = w * found[at]
            slopes[c, j] = slopes[c, j] + part if (c, j) in slopes else part
        forcing = [
            (c, q, found[at] if share == 1 else share * found[at])
            for c, q, share, at in self._slope.linear
        ]
        forcing += [(c, q, w * found[at]) for c, q, w, at in self._inner]
        basis = None
        if self._slope.has_residual:
            residual, basis = self._add_residual(z, slopes)
            f += residual
        return Linearised(f, [(c, j, value) for (c, j), value in slopes.items()], forcing, basis)

    def _sum(self, terms: list[Any], count: int) -> Float[np.ndarray, "n B"]:
        """The equations, from the values of the terms in use. What is not finite somewhere spoils
        all equations there: such trajectories are given up in any case."""
        theta = np.empty((len(terms), count))
        for row, values in zip(theta, terms, strict=True):
            row[:] = values
        return self._used @ theta

    def _add_residual(
        self, z: np.ndarray, slopes: dict[tuple[int, int], Any]
    ) -> tuple[Float[np.ndarray, "n B"], Float[np.ndarray, "B H"]]:
        """The residual and its basis; its slopes are added to the others."""
        slope, n, count = self._slope, self._n, z.shape[1]
        moved = np.repeat(z[:, None], n + 1, axis=1)
        for j in range(n):
            moved[j, j + 1] += slope.nudges[j]
        moved = moved.reshape(len(z), -1)

        def differences(values: Float[np.ndarray, "n M"]) -> Float[np.ndarray, "n n B"]:
            each = values.reshape(n, n + 1, count)
            return (each[:, 1:] - each[:, :1]) / slope.nudges[:, None]

        if slope.region is None:
            rows, weights = np.ascontiguousarray(z.T), self._values.weights
            residual, psi = self._residual(z)
            network = slope.field.basis.slopes(rows, psi, weights, slope.nudges)
            change = np.moveaxis(network, 2, 0) - differences(self._correction(moved))
        else:
            residual, psi = self._residual(moved)
            change = differences(residual)
            residual, psi = residual[:, :count], psi[:count]
            psi = psi * slope.region.share(z.T)[:, None]
        for c, j in zip(*np.nonzero(change.any(axis=2)), strict=True):
            at = (int(c), int(j))
            slopes[at] = slopes[at] + change[at] if at in slopes else change[at]
        return residual, psi

    def _correction(self, z: np.ndarray) -> Float[np.ndarray, "n B"]:
        """What the projection takes out of the network."""
        found = np.zeros((self._n, z.shape[1]))
        if self._slope.corrected:
            columns = self._slope.field.features.columns(z, np, self._values.parameters)
            for c, k, w in self._slope.corrected:
                found[c] += w * columns[k]
        return found

    def _residual(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The residual (n, B) and its basis functions (B, H)."""
        slope, field = self._slope, self._slope.field
        rows = np.ascontiguousarray(z.T)
        psi = field.basis(rows)
        residual = psi @ self._values.weights
        if slope.corrected:
            residual -= self._correction(z).T
        if slope.region is not None:
            residual = slope.region.gated(rows, residual)
        return residual.T, psi
