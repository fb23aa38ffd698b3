"""Estimate the joint uncertainty of the constants of a fit from rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import final

import numpy as np
from jaxtyping import Float

from ..data import AnyRows, grouping_rule
from ..field.hybrid import HybridField
from ..matching import Constants, Uncertainty
from ..physics import Knowledge
from ..search.rows import SelectionEvidence
from ..solving import gather_partitioned
from ..terms import Expression, Number, derivative
from . import _limits as limits
from ._fit import Fit, Recipe
from ._route import knowledge_of


def with_row_uncertainty(recipe: Recipe, fit: Fit, observed: AnyRows) -> Fit:
    """Return the fit with the uncertainty from rows, unless trajectories provide it."""
    is_refined = fit.refinement is not None and fit.refinement.kept
    evidence = None if fit.selection is None else fit.selection.evidence
    if (
        is_refined
        or not recipe.loss.is_linear
        or (evidence is None and not fit.field.features.parameters)
    ):
        return fit
    known = knowledge_of(
        recipe, observed.names, observed.outputs, observed.given, observed.time_index
    )
    bounds = recipe.parameter_bounds(known)
    return replace(fit, uncertainty=row_uncertainty(fit.field, observed, known, bounds, evidence))


def row_uncertainty(
    field: HybridField,
    rows: AnyRows,
    known: Knowledge,
    bounds: Mapping[str, tuple[float, float]],
    evidence: SelectionEvidence | None,
) -> Uncertainty | None:
    """Return the joint covariance of coefficients and inner parameters, by least squares on rows.

    Return None if there are too few groups.

    Let J be the derivatives of the targets with respect to all constants, and r the residuals. Each
    group g of rows, a run or a stretch, has H_g = J_g'J_g and s_g = J_g'r_g. Without the group, the
    constants would change by d_g = -(H - H_g)^-1 s_g, and the covariance is (G - 1)/G sum_g (d_g -
    d)(d_g - d)'. [delete-a-group jackknife; Efron 1982]

    Groups do not reveal an error that all of them share. One example is the error of estimated
    derivatives, whose formula underestimates the same peaks in every run. This known error e = |y -
    y_true| changes constants by at most e sqrt(diag H^-1) (Cauchy and Schwarz).
    `DERIVATIVE_ERROR_SHARE` of this bound is added as a standard error. The errors of windows are
    noise, which groups do reveal.

    The moments come from the selection (`evidence`) or, if terms have parameters, from another pass
    over the rows.
    """
    constants = Constants.of(field, tuple(rows.given), residual=False, knowledge=known)
    if not constants.count or (evidence is not None and not evidence.can_be_resampled):
        return None
    moments = _Moments(field, constants, rows, evidence)
    H, scores = moments.normal_equations()
    if len(H) < limits.MIN_GROUPS:
        return None
    change = _group_influence(H, scores)
    deviation = change - change.mean(axis=0)
    jacobian = constants.derivatives()
    covariance = deviation.T @ deviation * (len(H) - 1) / len(H)
    if rows.windows is None:
        covariance += moments.derivative_errors(H.sum(axis=0), rows)
    covariance = jacobian @ covariance @ jacobian.T
    p = constants.read(field)
    if np.any(np.asarray(field.weights)):  # a residual moves the least-squares minimum
        p = p + _solved(H.sum(axis=0)[None], scores.sum(axis=0)[None])[0]
    values = constants.values(field, p)
    return Uncertainty(
        places=tuple(zip(constants.rows.tolist(), constants.columns.tolist(), strict=True)),
        parameters=tuple(field.features.parameters[i] for i in constants.inner),
        values=np.append(
            values.coefficients[constants.rows, constants.columns],
            values.parameters[constants.inner],
        ),
        covariance=covariance,
        degrees_of_freedom=len(H) - 1.0,
        bounds=constants.estimate_bounds(constants.bounds(field, bounds, known), known),
        stretch=np.ones((len(covariance), 2)),
    )


@final
class _Moments:
    """Moments of each group: of the terms in use, their derivatives by parameters, and the
    targets.
    """

    def __init__(
        self,
        field: HybridField,
        constants: Constants,
        rows: AnyRows,
        evidence: SelectionEvidence | None,
    ):
        self._field, self._constants = field, constants
        features = field.features
        self._columns: dict[int, int] = {}  # column of each term
        self._derivatives: list[tuple[int, int, int]] = []  # term, free parameter, column
        if evidence is not None and not len(constants.inner):
            self._columns = {k: k for k in range(len(features.terms))}
            cells = evidence.cells
        else:
            terms: list[Expression] = []
            for k in np.flatnonzero(np.asarray(field.coefficients).any(axis=0)).tolist():
                self._columns[k] = len(terms)
                terms.append(features.terms[k])
                for j, i in enumerate(constants.inner):
                    slope = derivative(features.terms[k], features.parameters[i])
                    if slope != Number(0.0):
                        self._derivatives.append((k, len(constants.lead) + j, len(terms)))
                        terms.append(slope)
            allowed = tuple((True,) * len(terms) for _ in features.allowed)
            extended = replace(features, terms=tuple(terms), allowed=allowed)
            cells = gather_partitioned(extended, rows, grouping_rule(rows))
        self._width = cells.n_features
        totals = np.zeros((cells.n_groups, *cells.total.shape[1:]))
        np.add.at(totals, cells.group, cells.total)
        self._totals: Float[np.ndarray, "G Z Z"] = totals[totals.any(axis=(1, 2))]

    def normal_equations(
        self,
    ) -> tuple[Float[np.ndarray, "G P P"], Float[np.ndarray, "G P"]]:
        """Return H_g and s_g. Each equation is in units of its target."""
        coefficients, constants = np.asarray(self._field.coefficients), self._constants
        squares = np.diagonal(self._totals.sum(axis=0))[self._width :]
        size = self._totals.shape[-1]
        equations = np.zeros((len(self._totals), constants.count + 1, constants.count + 1))
        for c, row in enumerate(coefficients):
            maps = np.zeros((size, constants.count + 1))
            for i in np.flatnonzero(constants.rows == c):
                maps[self._columns[int(constants.columns[i])], : len(constants.lead)] += (
                    constants.mixing[i]
                )
            for k, free, column in self._derivatives:
                maps[column, free] += row[k]
            if not maps.any():
                continue
            maps[self._width + c, -1] = 1.0
            for k in np.flatnonzero(row):
                maps[self._columns[int(k)], -1] = -row[k]
            used = np.flatnonzero(maps.any(axis=1))
            part = self._totals[:, used[:, None], used]
            scale = squares[c] if squares[c] > 0 else 1.0
            equations += np.swapaxes(maps[used], 0, 1) @ part @ maps[used] / scale
        return equations[:, :-1, :-1], equations[:, :-1, -1]

    def derivative_errors(
        self, H: Float[np.ndarray, "P P"], rows: AnyRows
    ) -> Float[np.ndarray, "P P"]:
        """Return the covariance due to errors of the targets.

        Each equation is in units of its target.
        """
        squares = np.diagonal(self._totals.sum(axis=0))[self._width :]
        error = rows.target_mse * len(rows) / np.where(squares > 0, squares, 1.0)
        constants = self._constants
        largest = np.full(constants.count, np.sqrt(error.max(initial=0.0)))
        for i in range(len(constants.lead)):
            used = constants.rows[constants.mixing[:, i] != 0]
            largest[i] = np.sqrt(error[used].max(initial=0.0))
        scale = np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1.0))
        inverse = np.linalg.pinv(H / np.outer(scale, scale), limits.UNDETERMINED, hermitian=True)
        error = limits.DERIVATIVE_ERROR_SHARE * largest / scale
        return inverse * np.outer(error, error)


def _group_influence(
    H: Float[np.ndarray, "G P P"], scores: Float[np.ndarray, "G P"]
) -> Float[np.ndarray, "G P"]:
    """Return the change of the constants if each group is left out."""
    return -_solved(H.sum(axis=0) - H, scores)


def _solved(
    H: Float[np.ndarray, "G P P"], right: Float[np.ndarray, "G P"]
) -> Float[np.ndarray, "G P"]:
    """Return H^-1 times the right-hand sides.

    The result does not depend on units, and is zero in directions without information.
    """
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H / (scale[:, :, None] * scale[:, None, :])
    inverse = np.linalg.pinv(scaled, limits.UNDETERMINED, hermitian=True)
    return (inverse @ (right / scale)[..., None])[..., 0] / scale
