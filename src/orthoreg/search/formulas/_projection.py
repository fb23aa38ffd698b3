"""Estimate coefficients and inner parameters of a few terms jointly.

Gauss-Newton steps with the coefficients projected out (variable projection).
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ...terms import Number, Parameter, substitute, to_text
from . import _limits as limits
from ._equation import DictionaryProblem
from ._parametric_term import ParametricTerm

Group = tuple[tuple[int, int], ...]


@final
@dataclass(frozen=True, eq=False)
class Projection:
    """Terms with their best-fitting parameters and coefficients.

    `held[k]` states which parameters of term k were fixed. `covariance` contains the coefficients,
    then the free parameters, for noise of unit variance.
    """

    terms: tuple[ParametricTerm, ...]
    values: tuple[tuple[float, ...], ...]
    held: tuple[tuple[bool, ...], ...]
    coefficients: Float[np.ndarray, " k"]
    rss: float
    covariance: Float[np.ndarray, "m m"]

    def written(self, k: int, suffix: str) -> tuple[str, dict[str, tuple[float, float]]]:
        """Return term k as text, and bounds on its parameters.

        Estimated parameters have unique names and bounds around their values. Fixed parameters are
        written as numbers.
        """
        term, names, bounds = self.terms[k], {}, {}
        for i, (name, value) in enumerate(zip(term.parameters, self.values[k], strict=True)):
            if self.held[k][i]:
                names[name] = Number(value)
                continue
            unique = self.parameter_name(k, name, suffix)
            names[name] = Parameter(unique)
            margin = max(limits.PARAMETER_MARGIN * abs(value), 1e-6)
            bounds[unique] = (max(term.low[i], value - margin), min(term.high[i], value + margin))
        return to_text(substitute(term.expression, names)), bounds

    def parameters(self, k: int, suffix: str) -> dict[str, float]:
        """Return the values of the parameters in the text of term k, by name."""
        pairs = zip(self.terms[k].parameters, self.values[k], self.held[k], strict=True)
        return {
            self.parameter_name(k, name, suffix): value for name, value, held in pairs if not held
        }

    @property
    def free(self) -> list[Group]:
        """The estimated parameters, in groups. A shared parameter is one group."""
        return free_groups(self.terms, self.held)

    def parameter_name(self, k: int, name: str, suffix: str) -> str:
        """Return the name of a parameter in the text of term k."""
        is_shared = self.terms[k].numerator is not None
        return f"{name}_{suffix}" if is_shared else f"{name}_{suffix}_{k}"


def free_groups(terms: Sequence[ParametricTerm], held: Sequence[tuple[bool, ...]]) -> list[Group]:
    """Return the parameters that are not fixed, as pairs (term, index of the parameter).

    The copies of a parameter of a shared denominator form one group.
    """
    groups: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for k, (term, fixed) in enumerate(zip(terms, held, strict=True)):
        owner = k if term.numerator is None else -1
        for i, name in enumerate(term.parameters):
            if not fixed[i]:
                groups.setdefault((owner, name), []).append((k, i))
    return [tuple(group) for group in groups.values()]


def project(
    equation: DictionaryProblem,
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    held: Sequence[tuple[bool, ...]] | None = None,
    *,
    rounds: int = limits.NEWTON_ROUNDS,
    errors: bool = True,
) -> Projection | None:
    """Fit terms by least squares.

    Parameters that are not `held` move within their bounds, by Gauss-Newton steps with the
    coefficients projected out. Return None if a column is not finite. Without `errors`, no
    covariance is computed.
    """
    terms, values = tuple(terms), [tuple(v) for v in values]
    held = tuple(held or [(False,) * len(v) for v in values])
    free = free_groups(terms, held)
    values = _agreed(values, free)
    columns = _columns(equation, terms, values)
    if columns is None:
        return None
    w, rss = _solved(columns, equation.target)
    moving = {k for group in free for k, _ in group}
    for _ in range(rounds if free else 0):
        step = _newton_step(equation, terms, values, columns, w, free)
        better = None
        for share in limits.NEWTON_SHARES:
            moved = _moved(terms, values, free, share * step)
            if (
                share == limits.NEWTON_SHARES[0]
            ):  # the full step is taken most often, and its slopes are needed next
                for k in moving:
                    equation.slopes(terms[k], moved[k])
            new = _columns(equation, terms, moved, columns, moving)
            if new is None:
                continue
            w_new, rss_new = _solved(new, equation.target)
            if rss_new < rss:
                better = (moved, new, w_new, rss_new)
                break
        if better is None:
            break
        decrease = rss - better[3]
        values, columns, w, rss = better
        if decrease <= limits.NEWTON_TOLERANCE * rss:
            break
    size = len(w) + len(free)
    covariance = np.full((size, size), np.nan)
    if errors:
        covariance = _covariance(equation, terms, values, columns, w, free)
    return Projection(terms, tuple(values), held, w, rss, covariance)


def subset_fits(
    equation: DictionaryProblem, fit: Projection, removals: Sequence[Set[int]]
) -> list[Projection]:
    """Return the fits without each of these sets of terms, with the same parameters and no errors.

    All fits share one QR decomposition.
    """
    columns = _columns(equation, fit.terms, fit.values)
    assert columns is not None, "a fit has finite columns"
    table = np.column_stack([columns, equation.target])
    triangle = np.asarray(np.linalg.qr(table, mode="r"))
    fits = []
    for removed in removals:
        remaining = [k for k in range(len(fit.terms)) if k not in removed]
        terms = tuple(fit.terms[k] for k in remaining)
        values, held = (
            tuple(fit.values[k] for k in remaining),
            tuple(fit.held[k] for k in remaining),
        )
        w, rss = _solved(triangle[:, remaining], triangle[:, -1])
        size = len(remaining) + len(free_groups(terms, held))
        fits.append(Projection(terms, values, held, w, rss, np.full((size, size), np.nan)))
    return fits


def _agreed(values: Sequence[tuple[float, ...]], free: Sequence[Group]) -> list[tuple[float, ...]]:
    """Return the values with shared parameters taken from the first term of each group."""
    result = [list(v) for v in values]
    for group in free:
        first = result[group[0][0]][group[0][1]]
        for k, i in group:
            result[k][i] = first
    return [tuple(v) for v in result]


def _columns(
    equation: DictionaryProblem,
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    old: np.ndarray | None = None,
    changed: set[int] | None = None,
) -> Float[np.ndarray, "R k"] | None:
    """Return the columns of the terms, or None if they are not finite.

    Columns of `old` are reused if they have not `changed`.
    """
    phi = np.empty((len(equation.target), len(terms)), order="F")
    for k, (term, v) in enumerate(zip(terms, values, strict=True)):
        if old is not None and changed is not None and k not in changed:
            phi[:, k] = old[:, k]
        else:
            phi[:, k] = equation.whitened(term, v)
    return phi if np.isfinite(phi).all() else None


def _solved(
    phi: Float[np.ndarray, "R k"], y: Float[np.ndarray, " R"]
) -> tuple[Float[np.ndarray, " k"], float]:
    """Return the least-squares solution, computed with scaled columns, and the squared misfit."""
    if not phi.shape[1]:
        return np.zeros(0), float(y @ y)
    size = np.sqrt(np.vecdot(phi.T, phi.T))
    size = np.where(size > 0, size, 1.0)
    w = least_squares(phi / size, y) / size
    residual = y - phi @ w
    return w, float(residual @ residual)


def least_squares(
    phi: Float[np.ndarray, "R k"], y: Float[np.ndarray, " R"]
) -> Float[np.ndarray, " k"]:
    """Return the least-squares solution.

    It is computed by the Gram matrix and one correction. For well-conditioned columns, this is as
    accurate as a singular value decomposition and several times faster. Ill-conditioned columns are
    solved by singular values.
    """
    gram = phi.T @ phi
    values, vectors = np.linalg.eigh(gram)
    if not values[0] > limits.MIN_EIGENVALUE * values[-1]:
        return np.linalg.lstsq(phi, y, rcond=limits.SINGULAR_CUTOFF)[0]
    inverse = (vectors / values) @ vectors.T
    w = inverse @ (phi.T @ y)
    return w + inverse @ (phi.T @ (y - phi @ w))


def _newton_step(
    equation: DictionaryProblem,
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    phi: Float[np.ndarray, "R k"],
    w: Float[np.ndarray, " k"],
    free: Sequence[Group],
) -> Float[np.ndarray, " q"]:
    """Return the Gauss-Newton step of the free parameters, with the coefficients eliminated."""
    joint = np.hstack([phi, _sensitivities(equation, terms, values, w, free)])
    solution, _ = _solved(np.nan_to_num(joint), equation.target - phi @ w)
    return solution[phi.shape[1] :]


def _sensitivities(
    equation: DictionaryProblem,
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    w: Float[np.ndarray, " k"],
    free: Sequence[Group],
) -> Float[np.ndarray, "R q"]:
    """Return the derivatives of the fit with respect to the free parameters."""
    slopes = {k: equation.slopes(terms[k], values[k]) for group in free for k, _ in group}
    result = np.empty((len(equation.target), len(free)), order="F")
    for q, group in enumerate(free):
        result[:, q] = sum(w[k] * slopes[k][i] for k, i in group)
    return result


def _moved(
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    free: Sequence[Group],
    step: Float[np.ndarray, " q"],
) -> list[tuple[float, ...]]:
    """Return the values after a step, within their bounds."""
    moved = [list(v) for v in values]
    for group, change in zip(free, step, strict=True):
        for k, i in group:
            moved[k][i] = float(np.clip(moved[k][i] + change, terms[k].low[i], terms[k].high[i]))
    return [tuple(v) for v in moved]


def _covariance(
    equation: DictionaryProblem,
    terms: Sequence[ParametricTerm],
    values: Sequence[tuple[float, ...]],
    phi: Float[np.ndarray, "R k"],
    w: Float[np.ndarray, " k"],
    free: Sequence[Group],
) -> Float[np.ndarray, "m m"]:
    """Return the covariance of coefficients and free parameters for noise of unit variance."""
    joint = np.hstack([phi, _sensitivities(equation, terms, values, w, free)])
    joint = np.nan_to_num(joint)
    size = np.sqrt(np.vecdot(joint.T, joint.T))
    size = np.where(size > 0, size, 1.0)
    inner = np.linalg.pinv((joint / size).T @ (joint / size), hermitian=True)
    with np.errstate(over="ignore"):  # a column that is nearly zero contains no information
        return inner / size / size[:, None]
