"""Equations in pieces, with what is known of each term; constants that were estimated."""

from typing import Any

import numpy as np

from ...export import (
    MathEquation,
    equation_names,
    math,
    math_equations,
    mathml_name,
    unicode_formula,
)
from ...findings import Summary
from ...findings._words import interval, percent
from ._data import Coefficients, Constant, Equation, Term

_NOTABLE = 0.05  # stability of a term that was left out, from which on it is shown


def equations_of(model: Any, summary: Summary) -> tuple[Equation, ...]:
    """The equations of a model, each term with its interval and probability."""
    labels = equation_names(model.output_names_, model.velocity_of_)
    known = {(row.equation, row.term): row for row in summary.terms}
    shares = {one.equation: one.residual_share for one in model.certificate_.equations}
    written = {one.index: one for one in model._relations(4)}
    result = []
    for one, latex in zip(typeset(model), model.to_latex(), strict=True):
        if one.index in written:
            relation = written[one.index]
            pieces = tuple(Term(term.signed, "learned", "", "", "") for term in relation.terms)
            result.append(Equation(relation.left, pieces, labels[one.index]))
            continue
        terms = []
        for term in one.terms:
            kind = "learned"
            note = probability = ""
            if one.is_given or term.is_given:
                kind = "given"
            elif term.index is None:
                kind = "network"
                share = shares.get(model.output_names_[one.index], 0.0)
                note = f"{percent(share)} of the size"
            name = "" if term.index is None else model.feature_names_[term.index]
            row = known.get((labels[one.index], name))
            if kind == "learned" and row is not None:
                if row.low is not None and row.high is not None:
                    note = interval(row.low, row.high).replace("-", "−")
                probability = row.share
            terms.append(Term(term.signed, kind, name, note, probability))
        unit = _unit(model, model.output_names_[one.index])
        result.append(
            Equation(one.left, tuple(terms), labels[one.index], unit, one.is_given, latex)
        )
    return tuple(result)


def typeset(model: Any) -> list[MathEquation]:
    """The equations of a model in pieces of MathML."""
    return math_equations(
        model.field_, model.output_names_, 4, model.velocity_of_, model.knowledge().fixed
    )


def constants_of(model: Any) -> tuple[Constant, ...]:
    """Constants that were estimated, with their intervals."""
    ends = model.parameter_intervals_
    return tuple(
        Constant(
            math(mathml_name(name)),
            f"{value:.5g}",
            interval(*ends[name]) if name in ends else "",
        )
        for name, value in model.parameters_.items()
    )


def coefficients_of(summary: Summary) -> tuple[Coefficients, ...]:
    """The terms of each equation as numbers, those in use and those that resamples chose."""
    result = []
    for label in dict.fromkeys(row.equation for row in summary.terms):
        rows = [
            row
            for row in summary.terms
            if row.equation == label and (row.coefficient or (row.stability or 0) >= _NOTABLE)
        ]
        if rows:
            result.append(
                Coefficients(
                    f"{label}'",
                    [row.term for row in rows],
                    [unicode_formula(row.term) for row in rows],
                    [row.coefficient for row in rows],
                    [_end(row.low) if row.coefficient else None for row in rows],
                    [_end(row.high) if row.coefficient else None for row in rows],
                    [row.share for row in rows],
                    [bool(row.coefficient) for row in rows],
                )
            )
    return tuple(result)


def _end(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None


def _unit(model: Any, output: str) -> str:
    """rad/s, the unit of an equation's left side, where it is known."""
    unit, time = model.units_.get(output), model.units_.get(model.columns_["time"])
    if unit and time:
        return f"{unit}/{time}"
    position = next((q for q, v in model.velocity_of_.items() if v == output), None)
    unit = model.units_.get(position) if position else None
    return f"{unit}/{time}²" if unit and time else ""
