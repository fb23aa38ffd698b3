"""The field f and its derivatives with respect to states and constants, for a batch of states."""

from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..field.hybrid import HybridField
from ..terms import Expression, Number, compiled, derivative, run
from . import _limits as limits
from ._constants import Constants, Values


@final
class Derivatives(NamedTuple):
    """The values f (n, B) and their derivatives.

    `jacobian` contains df_c/dx_j as (c, j, value), and `forcing` contains df_c/dp_q as (c, q,
    value) for coefficients and inner parameters. If there is a residual, `basis` is df/dv (B, H),
    the same for all equations.
    """

    f: np.ndarray
    jacobian: list[tuple[int, int, Any]]
    forcing: list[tuple[int, int, Any]]
    basis: np.ndarray | None


@final
class Linearization:
    """The field and its derivatives as functions of states, inputs and free constants.

    `at` fixes the constants for repeated evaluation.

    Terms are differentiated symbolically, the residual by finite differences, and its weights
    exactly. States and inputs have shape (V, B), with one row per variable.
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
        self.differences = limits.DIFFERENCE * sizes
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
        """List the formulas to evaluate, and the entries to which each formula contributes."""
        coefficients = np.asarray(field.coefficients)
        terms = field.features.terms
        names = field.features.parameters
        items: list[Expression] = []
        self.in_states: list[tuple[int, int, int, int]] = []  # equation, term, state, item
        self.inner: list[tuple[int, int, int, int]] = []  # (equation, term, free parameter, item)

        def item_index(item: Expression) -> int:
            items.append(item)
            return len(items) - 1

        values: dict[int, int] = {}
        for c, k in zip(*np.nonzero(coefficients), strict=True):
            c, k = int(c), int(k)
            if k not in values:
                values[k] = item_index(terms[k])
            for j in range(len(coefficients)):
                slope = derivative(terms[k], j)
                if slope != Number(0.0):
                    self.in_states.append((c, k, j, item_index(slope)))
            for q, i in enumerate(constants.inner):
                slope = derivative(terms[k], names[i])
                if slope != Number(0.0):
                    self.inner.append((c, k, len(constants.lead) + q, item_index(slope)))
        # terms, and the items with their values
        self.in_use = (list(values), list(values.values()))
        for k in constants.columns.tolist():  # the coefficient of a candidate may be zero
            if k not in values:
                values[k] = item_index(terms[k])
        free = zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)
        self.linear = [  # (equation, free parameter, factor, item)
            (c, int(q), float(constants.mixing[i, q]), values[k])
            for i, (c, k) in enumerate(free)
            for q in np.flatnonzero(constants.mixing[i])
        ]
        self.simple = compiled([terms[k] for k in self.in_use[0]])
        self.program = compiled(items)

    def at(self, values: Values) -> "FieldAt":
        """Return f with these constants."""
        return FieldAt(self, values)


@final
class FieldAt:
    """The field f with fixed constants."""

    def __init__(self, linearization: Linearization, values: Values):
        self._linearization, self._values = linearization, values
        names = linearization.field.features.parameters
        self._named = dict(zip(names, values.parameters.tolist(), strict=True))
        w = values.coefficients.tolist()
        self._n = len(w)
        self.count = linearization.constants.count
        self.weighted = linearization.constants.weighted
        self.width = linearization.constants.width if self.weighted else 0
        self._used = values.coefficients[:, linearization.in_use[0]]
        self._in_states = [(c, j, w[c][k], i) for c, k, j, i in linearization.in_states]
        self._inner = [(c, q, w[c][k], i) for c, k, q, i in linearization.inner]

    def __call__(self, z: Float[np.ndarray, "V B"]) -> Float[np.ndarray, "n B"]:
        """Return f without derivatives."""
        f = self._sum(run(self._linearization.simple, z, np, self._named), z.shape[1])
        if self._linearization.has_residual:
            f += self._residual(z)[0]
        return f

    def derivatives(self, z: Float[np.ndarray, "V B"]) -> Derivatives:
        """Return f and all its derivatives."""
        items = run(self._linearization.program, z, np, self._named)
        f = self._sum([items[i] for i in self._linearization.in_use[1]], z.shape[1])
        jacobian: dict[tuple[int, int], Any] = {}
        for c, j, w, i in self._in_states:
            part = w * items[i]
            jacobian[c, j] = jacobian[c, j] + part if (c, j) in jacobian else part
        forcing = [
            (c, q, items[i] if factor == 1 else factor * items[i])
            for c, q, factor, i in self._linearization.linear
        ]
        forcing += [(c, q, w * items[i]) for c, q, w, i in self._inner]
        basis = None
        if self._linearization.has_residual:
            residual, basis = self._add_residual(z, jacobian)
            f += residual
        entries = [(c, j, value) for (c, j), value in jacobian.items()]
        return Derivatives(f, entries, forcing, basis)

    def _sum(self, terms: list[Any], count: int) -> Float[np.ndarray, "n B"]:
        """Return the right-hand sides, given the values of the terms in use.

        A term that is not finite affects all equations; such trajectories are discarded anyway.
        """
        theta = np.empty((len(terms), count))
        for row, values in zip(theta, terms, strict=True):
            row[:] = values
        return self._used @ theta

    def _add_residual(
        self, z: np.ndarray, jacobian: dict[tuple[int, int], Any]
    ) -> tuple[Float[np.ndarray, "n B"], Float[np.ndarray, "B H"]]:
        """Return the residual and its basis. Add the residual's derivatives to the Jacobian."""
        linearization, n, count = self._linearization, self._n, z.shape[1]
        moved = np.repeat(z[:, None], n + 1, axis=1)
        for j in range(n):
            moved[j, j + 1] += linearization.differences[j]
        moved = moved.reshape(len(z), -1)

        def differences(values: Float[np.ndarray, "n M"]) -> Float[np.ndarray, "n n B"]:
            values = values.reshape(n, n + 1, count)
            return (values[:, 1:] - values[:, :1]) / linearization.differences[:, None]

        if linearization.region is None:
            rows, weights = np.ascontiguousarray(z.T), self._values.weights
            residual, psi = self._residual(z)
            network = linearization.field.basis.slopes(
                rows, psi, weights, linearization.differences
            )
            change = np.moveaxis(network, 2, 0) - differences(self._correction(moved))
        else:
            residual, psi = self._residual(moved)
            change = differences(residual)
            residual, psi = residual[:, :count], psi[:count]
            psi = psi * linearization.region.share(z.T)[:, None]
        for c, j in zip(*np.nonzero(change.any(axis=2)), strict=True):
            at = (int(c), int(j))
            jacobian[at] = jacobian[at] + change[at] if at in jacobian else change[at]
        return residual, psi

    def _correction(self, z: np.ndarray) -> Float[np.ndarray, "n B"]:
        """Return the part of the network that the projection removes."""
        correction = np.zeros((self._n, z.shape[1]))
        if self._linearization.corrected:
            columns = self._linearization.field.features.columns(z, np, self._values.parameters)
            for c, k, w in self._linearization.corrected:
                correction[c] += w * columns[k]
        return correction

    def _residual(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the residual (n, B) and its basis functions (B, H)."""
        linearization, field = self._linearization, self._linearization.field
        rows = np.ascontiguousarray(z.T)
        psi = field.basis(rows)
        residual = psi @ self._values.weights
        if linearization.corrected:
            residual -= self._correction(z).T
        if linearization.region is not None:
            residual = linearization.region.gated(rows, residual)
        return residual.T, psi
