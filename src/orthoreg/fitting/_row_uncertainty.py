"""How well rows determine the constants of a fit: all of them at once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import final

import numpy as np
from jaxtyping import Float

from ..data import AnyRows, grouping_rule
from ..field.hybrid import HybridField
from ..libraries import Expression, Number, derivative, parameter_bounds
from ..moments import gather_partitioned
from ..physics import Knowledge
from ..refinement import Constants, Uncertainty
from ..selection import Evidence
from . import _limits as limits
from ._fit import Fit
from ._recipe import Recipe
from ._route import knowledge_of


def with_row_uncertainty(recipe: Recipe, fit: Fit, observed: AnyRows) -> Fit:
    """The fit with what rows say about its constants, where trajectories do not."""
    refined = fit.refinement is not None and fit.refinement.kept
    evidence = None if fit.selection is None else fit.selection.evidence
    if (
        refined
        or not recipe.loss.is_linear
        or (evidence is None and not fit.field.features.parameters)
    ):
        return fit
    known = knowledge_of(
        recipe, observed.names, observed.outputs, observed.given, observed.time_index
    )
    bounds = parameter_bounds(recipe.library) | known.parameter_bounds
    return replace(fit, uncertainty=row_uncertainty(fit.field, observed, known, bounds, evidence))


def row_uncertainty(
    field: HybridField,
    rows: AnyRows,
    known: Knowledge,
    bounds: Mapping[str, tuple[float, float]],
    evidence: Evidence | None,
) -> Uncertainty | None:
    """The joint covariance of coefficients and inner parameters, as least squares on rows has it.

    With J the slopes of the targets in all constants and r what is left of them, every group of
    runs or stretches g, whose neighbouring rows err alike, has H_g = J_g'J_g and s_g = J_g'r_g.
    Without the group the constants would move by d_g = -(H - H_g)^-1 s_g, and the covariance is
    (G - 1)/G sum_g (d_g - d)(d_g - d)'. [delete-a-group jackknife; Efron 1982]

    Groups do not show an error that all have in common: that of estimated derivatives, whose
    formula cuts the same peaks in every run. What they are known to be off by, e = |y - y_true|,
    moves constants by at most e sqrt(diag H^-1) (Cauchy and Schwarz), and half of that is added as
    a standard error. The targets of windows err by noise, which groups do show.

    Moments are those that terms were chosen from (`evidence`), or, if terms hold parameters, of one
    more pass over the rows. None where there are too few groups.
    """
    constants = Constants.of(field, tuple(rows.given), residual=False, knowledge=known)
    if not constants.count or (evidence is not None and not evidence.can_be_resampled):
        return None
    moments = _Moments(field, constants, rows, evidence)
    H, scores = moments.normal_equations()
    if len(H) < limits.MIN_GROUPS:
        return None
    change = _left_out(H, scores)
    moves = change - change.mean(axis=0)
    follows = constants.follows()
    covariance = moves.T @ moves * (len(H) - 1) / len(H)
    if rows.windows is None:
        covariance += moments.systematic(H.sum(axis=0), rows)
    covariance = follows @ covariance @ follows.T
    p = constants.read(field)
    if np.any(np.asarray(field.weights)):  # what a residual holds is part of least squares
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
        bounds=constants.limits(constants.bounds(field, bounds, known), known),
        stretch=np.ones((len(covariance), 2)),
    )


@final
class _Moments:
    """Moments by group of the terms in use, their slopes in the parameters, and the targets."""

    def __init__(
        self,
        field: HybridField,
        constants: Constants,
        rows: AnyRows,
        evidence: Evidence | None,
    ):
        self._field, self._constants = field, constants
        features = field.features
        self._columns: dict[int, int] = {}  # of each term
        self._slopes: list[tuple[int, int, int]] = []  # term, free number, column
        if evidence is not None and not len(constants.inner):
            self._columns = {k: k for k in range(len(features.terms))}
            cells = evidence.cells
        else:
            terms: list[Expression] = []
            for k in np.flatnonzero(np.asarray(field.coefficients).any(axis=0)).tolist():
                self._columns[k] = len(terms)
                terms.append(features.terms[k])
                for place, i in enumerate(constants.inner):
                    slope = derivative(features.terms[k], features.parameters[i])
                    if slope != Number(0.0):
                        self._slopes.append((k, len(constants.lead) + place, len(terms)))
                        terms.append(slope)
            allowed = tuple((True,) * len(terms) for _ in features.allowed)
            both = replace(features, terms=tuple(terms), allowed=allowed)
            cells = gather_partitioned(both, rows, grouping_rule(rows))
        self._width = cells.n_features
        totals = np.zeros((cells.n_groups, *cells.total.shape[1:]))
        np.add.at(totals, cells.group, cells.total)
        self._totals: Float[np.ndarray, "G Z Z"] = totals[totals.any(axis=(1, 2))]

    def normal_equations(
        self,
    ) -> tuple[Float[np.ndarray, "G P P"], Float[np.ndarray, "G P"]]:
        """H_g and s_g, with every equation in units of its target."""
        coefficients, constants = np.asarray(self._field.coefficients), self._constants
        squares = np.diagonal(self._totals.sum(axis=0))[self._width :]
        size = self._totals.shape[-1]
        found = np.zeros((len(self._totals), constants.count + 1, constants.count + 1))
        for c, row in enumerate(coefficients):
            maps = np.zeros((size, constants.count + 1))
            for i in np.flatnonzero(constants.rows == c):
                maps[self._columns[int(constants.columns[i])], : len(constants.lead)] += (
                    constants.mixing[i]
                )
            for k, free, column in self._slopes:
                maps[column, free] += row[k]
            if not maps.any():
                continue
            maps[self._width + c, -1] = 1.0
            for k in np.flatnonzero(row):
                maps[self._columns[int(k)], -1] = -row[k]
            used = np.flatnonzero(maps.any(axis=1))
            part = self._totals[:, used[:, None], used]
            scale = squares[c] if squares[c] > 0 else 1.0
            found += np.swapaxes(maps[used], 0, 1) @ part @ maps[used] / scale
        return found[:, :-1, :-1], found[:, :-1, -1]

    def systematic(self, H: Float[np.ndarray, "P P"], rows: AnyRows) -> Float[np.ndarray, "P P"]:
        """The covariance that errors of the targets add, each equation's in units of its target."""
        squares = np.diagonal(self._totals.sum(axis=0))[self._width :]
        error = rows.target_mse * len(rows) / np.where(squares > 0, squares, 1.0)
        constants = self._constants
        largest = np.full(constants.count, np.sqrt(error.max(initial=0.0)))
        for place in range(len(constants.lead)):
            used = constants.rows[constants.mixing[:, place] != 0]
            largest[place] = np.sqrt(error[used].max(initial=0.0))
        scale = np.sqrt(np.where(np.diag(H) > 0, np.diag(H), 1.0))
        inverse = np.linalg.pinv(
            H / np.outer(scale, scale), limits.CURVATURE_ROUNDING, hermitian=True
        )
        reach = 0.5 * largest / scale
        return inverse * np.outer(reach, reach)


def _left_out(
    H: Float[np.ndarray, "G P P"], scores: Float[np.ndarray, "G P"]
) -> Float[np.ndarray, "G P"]:
    """By how much the constants move without each group."""
    rest = H.sum(axis=0) - H
    return -_solved(rest, scores)


def _solved(
    H: Float[np.ndarray, "G P P"], right: Float[np.ndarray, "G P"]
) -> Float[np.ndarray, "G P"]:
    """H^-1 times the right-hand sides, in any unit; directions without information do not move."""
    diagonal = np.diagonal(H, axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = H / (scale[:, :, None] * scale[:, None, :])
    inverse = np.linalg.pinv(scaled, limits.CURVATURE_ROUNDING, hermitian=True)
    return (inverse @ (right / scale)[..., None])[..., 0] / scale
