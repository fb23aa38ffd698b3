"""Provable statements about a fit, evaluated on its data."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float

from ..solving import (
    Dependence,
    EquationFit,
    FitResult,
    QuadraticProblem,
    independent_terms,
    quadratic_form,
    residual_overlaps,
    residual_square,
    squared_error,
)

_MAX_SHOWN_TERMS = 6


@final
@dataclass(frozen=True)
class PenaltyBound:
    """The bound sum_j <f_aug, phi_j>^2 <= (symbolic-only objective) / lam.
    [thm:penalty_bound_main]

    The bound assumes that the objective does not exceed that of the best symbolic model.
    `assumption_holds` states whether this is true.
    """

    assumption_holds: bool
    observed: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the observed overlap satisfies the bound, up to rounding."""
        return self.observed <= self.bound + 1e-20


@final
@dataclass(frozen=True)
class ErrorSplit:
    """The split |y - f|^2 = |P y - f_phy|^2 + |y - P y - f_aug|^2, in fractions of |y|^2.
    [thm:error_decomp]

    P projects on the span of the terms in use. `cross` is the difference between both sides, which
    is nonzero if f_aug is not exactly orthogonal to the span.
    """

    total: float
    symbolic: float
    neural: float
    cross: float


@final
@dataclass(frozen=True)
class EquationCertificate:
    """The certificate of one equation. Errors are relative to the root mean square of its
    target.

    `library_r2` is the fraction of the squared residual that all allowed terms explain. Objective,
    duality gap and bound refer to the error of derivatives; they are NaN for other losses.
    `active_bounds` are the terms whose coefficient is at a bound.
    """

    equation: str
    n_terms: int
    fit_error: float
    residual_share: float
    library_r2: float
    overlap: float
    objective: float
    duality_gap: float
    ridge: float
    penalty_bound: PenaltyBound
    error_split: ErrorSplit
    active_bounds: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Certificate:
    """Overlap, bounds and errors of a fit, with its regularization.

    `overlap[c, k]` is the correlation of the residual of equation c with term k, relative to the
    sizes of term and target. It is zero for terms to which the residual is orthogonal.
    `dependences` are the terms that are linear combinations of other terms on the data, which the
    exact solver omits.
    """

    sparsity: float
    orthogonality: float
    magnitude: float
    normalized: bool
    n_samples: int
    condition_number: float
    dependences: tuple[str, ...]
    equations: tuple[EquationCertificate, ...]
    overlap: tuple[tuple[float, ...], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Return the certificate that `as_dict` converted."""
        equations = tuple(
            EquationCertificate(
                **{
                    **entry,
                    "penalty_bound": PenaltyBound(**entry["penalty_bound"]),
                    "error_split": ErrorSplit(**entry["error_split"]),
                    "active_bounds": tuple(entry.get("active_bounds", ())),
                }
            )
            for entry in values["equations"]
        )
        return cls(
            **{
                **values,
                "dependences": tuple(values["dependences"]),
                "equations": equations,
                "overlap": tuple(tuple(row) for row in values["overlap"]),
            }
        )


def certify(
    result: FitResult, equations: tuple[str, ...], terms: tuple[str, ...], *, normalized: bool
) -> Certificate:
    """Evaluate all bounds from the moments of the fit."""
    moments = result.moments
    target_size = np.sqrt(moments.yy)
    feature_size = np.sqrt(np.diag(moments.A))
    overlap = np.stack([residual_overlaps(moments, fit) for fit in result.equations])
    size = np.outer(np.where(target_size > 0, target_size, 1.0),
                    np.where(feature_size > 0, feature_size, 1.0))  # fmt: skip
    relative = np.abs(overlap) / size
    notes = dict.fromkeys(
        dependence_text(dependence, terms, result.feature_scale)
        for fit in result.equations
        for dependence in fit.dependences
    )
    return Certificate(
        sparsity=float(result.regularization.sparsity),
        orthogonality=float(result.regularization.orthogonality),
        magnitude=float(result.regularization.magnitude),
        normalized=normalized,
        n_samples=moments.count,
        condition_number=condition_number(moments.A),
        dependences=tuple(notes),
        equations=tuple(
            _certify_equation(result, c, name, relative[c], terms)
            for c, name in enumerate(equations)
        ),
        overlap=tuple(tuple(float(value) for value in row) for row in relative),
    )


def _certify_equation(
    result: FitResult,
    c: int,
    name: str,
    overlap: Float[np.ndarray, " K"],
    terms: tuple[str, ...],
) -> EquationCertificate:
    moments, fit = result.moments, result.equations[c]
    size = max(float(moments.yy[c]), 1e-300)
    split = _split(result, c)
    reached = math.nan if result.objectives is None else result.objectives[c]
    bound = _penalty_bound(result, c, fit, reached)
    return EquationCertificate(
        equation=name,
        n_terms=int(np.count_nonzero(fit.w)),
        fit_error=float(np.sqrt(split.total / size)),
        residual_share=float(np.sqrt(residual_square(moments, fit) / size)),
        library_r2=_library_r2(result, c),
        overlap=float(overlap[fit.terms].max(initial=0.0)),
        objective=reached,
        duality_gap=fit.duality_gap,
        ridge=fit.ridge,
        penalty_bound=bound,
        error_split=ErrorSplit(
            split.total / size, split.symbolic / size, split.neural / size, split.cross / size
        ),
        active_bounds=tuple(terms[k] for k in fit.active),
    )


def _library_r2(result: FitResult, c: int) -> float:
    """Return |P f_aug|^2 / |f_aug|^2, where P is the projection on all allowed terms."""
    moments, fit = result.moments, result.equations[c]
    size = residual_square(moments, fit)
    if size <= 0:
        return 0.0
    allowed = np.flatnonzero(result.mask[c])
    independent, _ = independent_terms(moments.A[np.ix_(allowed, allowed)])
    terms = allowed[independent]
    overlap = residual_overlaps(moments, fit)[terms]
    inside = overlap @ QuadraticProblem(moments.A[np.ix_(terms, terms)], overlap).solve()
    return float(np.clip(inside / size, 0.0, 1.0))


def _penalty_bound(result: FitResult, c: int, fit: EquationFit, reached: float) -> PenaltyBound:
    """Return the bound, given the value `reached` of the objective."""
    moments = result.moments
    overlap = residual_overlaps(moments, fit)[fit.terms]
    observed = float(overlap @ overlap)
    if math.isnan(reached):
        return PenaltyBound(False, observed, math.nan)
    _, problem = _symbolic_problem(result, c)
    w = problem.solve()
    symbolic = max(float(moments.yy[c]) + problem.value(w), 0.0)
    gap = problem.duality_gap(w, float(moments.yy[c]))
    lam = float(result.regularization.orthogonality)
    return PenaltyBound(
        assumption_holds=reached <= symbolic + gap + 1e-12 * max(float(moments.yy[c]), 1e-300),
        observed=observed,
        bound=symbolic / lam if lam > 0 else np.inf,
    )


def _symbolic_problem(result: FitResult, c: int) -> tuple[np.ndarray, QuadraticProblem]:
    """Return the independent terms of an equation, and its problem without a residual."""
    moments, fit = result.moments, result.equations[c]
    independent, _ = independent_terms(moments.A[np.ix_(fit.terms, fit.terms)])
    terms = fit.terms[independent]
    A = moments.A[np.ix_(terms, terms)]
    return terms, QuadraticProblem(A, moments.a[terms, c], fit.sparsity)


def _split(result: FitResult, c: int) -> ErrorSplit:
    """Return the two parts of the squared error and the difference from their sum."""
    moments, fit = result.moments, result.equations[c]
    terms, problem = _symbolic_problem(result, c)
    difference = np.zeros(moments.n_features)
    difference[terms] = replace(problem, l1=0.0).solve()
    projection = difference.copy()
    difference = difference - fit.w
    symbolic = max(quadratic_form(moments.A, difference), 0.0)
    neural = squared_error(moments, c, projection - fit.p, fit.v)
    total = squared_error(moments, c, fit.w - fit.p, fit.v)
    return ErrorSplit(total, symbolic, neural, total - symbolic - neural)


def condition_number(A: Float[np.ndarray, "K K"]) -> float:
    """Return the condition number of the library matrix, with columns scaled to unit norm."""
    size = np.sqrt(np.diag(A))
    size = np.where(size > 0, size, 1.0)
    values = np.linalg.eigvalsh(A / np.outer(size, size)) if len(A) else np.ones(1)
    return float(np.sqrt(values[-1] / values[0])) if values[0] > 0 else np.inf


def dependence_text(
    dependence: Dependence, terms: tuple[str, ...], feature_scale: Float[np.ndarray, " K"]
) -> str:
    """Return a relation that holds on the data as text, such as 'y**2 = 1 - x**2'."""
    if len(dependence.others) > _MAX_SHOWN_TERMS:
        return f"{terms[dependence.term]} = a sum of {len(dependence.others)} other terms"
    text = ""
    for other, weight in zip(dependence.others, dependence.weights, strict=True):
        value = weight * feature_scale[dependence.term] / feature_scale[other]
        body = terms[other]
        if not np.isclose(abs(value), 1):
            body = f"{abs(value):.4g}" + (f" {body}" if body != "1" else "")
        if text:
            text += f" {'-' if value < 0 else '+'} {body}"
        else:
            text = f"-{body}" if value < 0 else body
    return f"{terms[dependence.term]} = {text or '0'}"
