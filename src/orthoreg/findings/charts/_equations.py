"""Typeset equations with the interval and probability of each term, and estimated constants."""

from dataclasses import dataclass
from typing import final

import numpy as np

from ..._common.notation import rate_unit
from ...data import PURE_NUMBER
from ...export import (
    MathEquation,
    math,
    math_equations,
    math_relation,
    mathml_name,
)
from .._findings import Findings
from .._words import interval, percent
from ._choice import AbstractFittedModel, equation_labels

_DIGITS = 4  # of coefficients


@final
@dataclass(frozen=True)
class Term:
    """A term of a typeset equation: MathML with its sign, and the uncertainty of its coefficient.

    `kind` is learned, given or network.
    """

    math: str
    kind: str
    name: str = ""
    interval: str = ""
    probability: str = ""


@final
@dataclass(frozen=True)
class Equation:
    """A typeset equation: its terms, the unit of its left side, and its LaTeX source if
    available.
    """

    left: str
    terms: tuple[Term, ...]
    label: str
    unit: str = ""
    latex: str = ""


@final
@dataclass(frozen=True)
class Constant:
    """A named constant that was estimated."""

    math: str
    value: str
    interval: str


def equations_of(model: AbstractFittedModel, findings: Findings) -> tuple[Equation, ...]:
    """Return the equations of a model, each term with its interval and probability."""
    labels = equation_labels(model)
    rows = {(row.equation, row.term): row for row in findings.terms}
    shares = {row.equation: row.residual_share for row in findings.certificate}
    relations = {one.index: one for one in _relations(model)}
    result = []
    for typeset, latex in zip(_typeset(model), model.to_latex(), strict=True):
        index, label = typeset.index, labels[typeset.index]
        if index in relations:
            pieces = tuple(Term(term.signed, "learned") for term in relations[index].terms)
            result.append(Equation(relations[index].left, pieces, label))
            continue
        terms = []
        for term in typeset.terms:
            kind, note, probability = "learned", "", ""
            if typeset.is_given or term.is_given:
                kind = "given"
            elif term.index is None:
                kind = "network"
                note = f"{percent(shares.get(label, 0.0))} of the size"
            name = "" if term.index is None else model.feature_names_[term.index]
            row = rows.get((label, name))
            if kind == "learned" and row is not None:
                if row.low is not None and row.high is not None:
                    note = interval(row.low, row.high).replace("-", "−")
                probability = row.share
            terms.append(Term(term.signed, kind, name, note, probability))
        unit = _unit(model, model.output_names_[index])
        result.append(Equation(typeset.left, tuple(terms), label, unit, latex))
    return tuple(result)


def _typeset(model: AbstractFittedModel) -> list[MathEquation]:
    fixed, outputs = model.knowledge().fixed, model.output_names_
    units, field = model.coefficient_units_, model.field_
    equations = math_equations(
        field if units is None else units.shown(field), outputs, _DIGITS, model.velocity_of_,
        fixed, discrete=model.schema_.discrete, units=units,
    )  # fmt: skip
    constants = model.schema_.per_run_names
    return [equation for equation in equations if outputs[equation.index] not in constants]


def _relations(model: AbstractFittedModel) -> list[MathEquation]:
    """Return the equations with several derivatives, typeset as they were given."""
    variables, outputs = model.field_.features.variables, model.output_names_
    return [
        math_relation(rate, sides, variables, outputs)
        for system in model.knowledge().systems
        for rate, sides in system.sides(model.printed_constants(), _DIGITS).items()
    ]


def _unit(model: AbstractFittedModel, output: str) -> str:
    """Return the unit of an equation's left side, such as rad/s, or '' if it is unknown."""
    if (units := model.coefficient_units_) is not None and (known := units.rate(output)):
        return known
    unit, time = model.units_.get(output), model.units_.get(model.columns_["time"])
    return rate_unit(unit, time) if unit and time else ""


def constants_of(model: AbstractFittedModel) -> tuple[Constant, ...]:
    """Return the constants that were estimated, with their intervals."""
    ends, units = model.parameter_intervals_, model.coefficient_units_
    constants = []
    for name, value in model.parameters_.items():
        is_known = not np.isnan(value)
        unit, factor = "", 1.0
        if units is not None:
            unit, factor = units.of_constant(name), units.factor_of_constant(name)
        unit = f" {unit}" if unit not in ("", PURE_NUMBER) else ""
        shown = f"{value * factor:.5g}{unit}" if is_known else interval(-np.inf, np.inf)
        known_ends = ""
        if name in ends and is_known:
            known_ends = interval(*(end * factor for end in ends[name]))
        constants.append(Constant(math(mathml_name(name)), shown, known_ends))
    return tuple(constants)
