"""Bind physics and a library to columns.

The result has terms, their use in each equation, and constraints.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import FormulaError, InputError, quoted, suggestion
from ..data import split_delayed
from ..terms import (
    AbstractLibrary,
    Expression,
    FeatureMap,
    Number,
    Sum,
    Variable,
    bind,
    check_delays,
    derivative,
    evaluate,
    factors_of,
    multiply,
    parameter_bounds,
    parameters_of,
    parse,
    to_text,
    variables_of,
)
from . import _limits as limits
from ._constants import ConstantProduct, ConstantSystem, Powers
from ._equations import Known, Reader, denoted_state
from ._knowledge import Knowledge, contradiction, null_space
from ._physics import Physics
from ._start import read_starts
from ._statement import Part, inner_names, is_monotonic, split, summands
from ._symmetry import Symmetries

_COEFFICIENT = re.compile(r"coef\s*\(")
Find = Callable[[str, str, str], tuple[int, int]]


def read_relation(
    text: str, find: Find, shape: tuple[int, ...]
) -> tuple[Float[np.ndarray, "c K"], float]:
    """Return the weights of coefficients in a relation, and the value of their weighted sum.

    `find` returns the indices of a coefficient in an array of the given `shape`.
    """
    sides, written = coefficients_in(text)
    coefficients = [find(equation, term, "relations") for equation, term in written]
    names = [f"coef{i}" for i in range(len(coefficients))]
    row, value = np.zeros(shape), 0.0
    for side, factor in zip(sides, (1.0, -1.0), strict=True):
        formula = parse(side, names)
        value -= factor * float(evaluate(formula, [0.0] * len(names), np))
        for i, coefficient in enumerate(coefficients):
            slope = derivative(formula, i)
            if not isinstance(slope, Number):
                raise InputError(
                    f"Physics(relations=...) must be linear in the coefficients; got '{text}'."
                )
            row[coefficient] += factor * slope.value
    return row, value


def coefficients_in(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Return both sides of a relation, with coef0, coef1, ... instead of coefficients.

    Also return the equation and the term of each coefficient.
    """
    left, sign, right = text.partition("=")
    if not sign or "=" in right:
        raise InputError(
            "Physics(relations=...) must have the form 'coef(x, x*y) = -coef(y, x*y)'; got "
            f"'{text}'."
        )
    coefficients: list[tuple[str, str]] = []
    return [_side(side, coefficients, text) for side in (left, right)], coefficients


def _side(side: str, coefficients: list[tuple[str, str]], text: str) -> str:
    """Return the text with each coef(equation, term) replaced by a name.

    `coefficients` is extended.
    """
    while match := _COEFFICIENT.search(side):
        depth, end = 1, match.end()
        while depth and end < len(side):
            depth += (side[end] == "(") - (side[end] == ")")
            end += 1
        equation, comma, term = side[match.end() : end - 1].partition(",")
        if depth or not comma:
            raise InputError(
                f"Physics(relations=...) must name coefficients as coef(equation, term); "
                f"got '{text}'."
            )
        coefficients.append((equation.strip().strip("`"), term.strip()))
        side = f"{side[: match.start()]} coef{len(coefficients) - 1} {side[end:]}"
    return side


def conserving(
    known: Knowledge, quantities: Sequence[str], features: FeatureMap, outputs: Sequence[str]
) -> Knowledge:
    """Return the knowledge extended by conserved quantities E.

    dE/dt = sum_c dE/dx_c f_c = 0 holds separately for each product of terms in this sum.
    """
    rows, words, linear = [], [], []
    complete = set(known.complete)
    for text in quantities:
        quantity = parse(text, features.variables)
        indices = [features.variables.index(name) for name in outputs]
        slopes = {c: derivative(quantity, index) for c, index in enumerate(indices)}
        slopes = {c: slope for c, slope in slopes.items() if slope != Number(0.0)}
        if not slopes:
            raise InputError(f"Physics(conserved=...): '{text}' contains no state.")
        sums: dict[Expression, np.ndarray] = {}
        for c, slope in slopes.items():
            for k in np.flatnonzero(features.mask[c]):
                for item in summands(multiply(slope, features.terms[k]), expand_all=True):
                    part = split(item, features.parameters)
                    sums.setdefault(part.term, np.zeros(known.low.shape))[c, k] += part.number
        rows += list(sums.values())
        words += [f"that '{text}' is conserved"] * len(sums)
        weights = [slopes.get(c, Number(0.0)) for c in range(len(outputs))]
        if all(isinstance(weight, Number) for weight in weights):
            linear.append([weight.value for weight in weights if isinstance(weight, Number)])
        else:
            complete |= set(slopes)
    conservation = np.array(rows).reshape(len(rows), *known.low.shape)
    return replace(
        known,
        relations=np.concatenate([known.relations, conservation]),
        values=np.concatenate([known.values, np.zeros(len(rows))]),
        words=(*known.words, *words),
        conserved=np.array(linear).reshape(len(linear), len(outputs)),
        complete=tuple(sorted(complete)),
    )


def product_bounds(
    powers: Powers, number: float, bounds: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Return bounds on number * prod p**exponent for constants within these bounds."""
    low = high = number
    for name, exponent in powers:
        limits = _power_bounds(*bounds.get(name, (-inf, inf)), exponent)
        corners = [0.0 if not a or not b else a * b for a in (low, high) for b in limits]
        low, high = min(corners), max(corners)
    return low, high


def _power_bounds(low: float, high: float, exponent: float) -> tuple[float, float]:
    """Return bounds on p**exponent for low <= p <= high."""
    if not is_monotonic(low, high, exponent):
        return -inf, inf
    if exponent == 1:
        return low, high
    if low >= 0:
        limits = sorted(_power(limit, exponent) for limit in (low, high))
    else:
        limits = sorted(-_power(-limit, exponent) for limit in (low, high))
    return limits[0], limits[1]


def _power(base: float, exponent: float) -> float:
    return inf if base == 0 and exponent < 0 else float(base**exponent)


def check_feasible(known: Knowledge, features: FeatureMap) -> None:
    """Raise InputError if bounds and given coefficients contradict the relations."""
    from scipy.optimize import linprog

    n_relations = len(known.values)
    may_vary = (known.with_support(features.mask) & features.mask) | known.given
    low, high = (np.where(may_vary, limits, 0.0).ravel() for limits in (known.low, known.high))
    matrix = known.relations.reshape(n_relations, len(low))
    for n_checked in (
        range(1, n_relations + 1) if n_relations <= limits.MAX_SEPARATE_CHECKS else [n_relations]
    ):
        result = linprog(
            np.zeros(len(low)), A_eq=matrix[:n_checked], b_eq=known.values[:n_checked],
            bounds=np.column_stack([low, high]),
        )  # fmt: skip
        if result.x is None:
            raise contradiction(known.words[n_checked - 1])


_ANY = "..."


@final
@dataclass(frozen=True, eq=False)
class Bound:
    """The terms of a library and of known equations, with the knowledge about their
    coefficients.
    """

    features: FeatureMap
    knowledge: Knowledge


def bind_physics(
    physics: Physics | None,
    library: AbstractLibrary,
    variables: Sequence[str],
    outputs: Sequence[str],
    given: Mapping[int, int] | None = None,
    time_input: int | None = None,
) -> Bound:
    """Return terms and constraints for these columns and equations.

    `given` maps an equation to the variable that it equals, such as the equation of a position to
    its velocity. `time_input` is the index of time among the variables. Library terms that contain
    time are used only if they were written as formulas.
    """
    features = bind(library, variables, outputs, given, time_input)
    rates = dict(given or {})
    if physics is None:
        return Bound(features, with_rates(Knowledge.none(features.mask.shape), features, rates))
    return _Binding(physics, features, tuple(outputs), rates, time_input).bound(library)


def with_rates(knowledge: Knowledge, features: FeatureMap, rates: Mapping[int, int]) -> Knowledge:
    """Return the knowledge with the equations `rates` given.

    Each has one term, with coefficient one.
    """
    low, high = knowledge.low.copy(), knowledge.high.copy()
    for c in rates:
        low[c] = high[c] = features.mask[c].astype(float)
    complete = tuple(sorted({*knowledge.complete, *rates}))
    return replace(knowledge, low=low, high=high, complete=complete)


def _without(term: Expression, variables: Collection[int]) -> Expression | None:
    """Return a term without the factors `variables`, or None if it has none of them."""
    factors = factors_of(term)
    kept = [
        factor
        for factor in factors
        if not (isinstance(factor, Variable) and factor.index in variables)
    ]
    return multiply(*kept) if len(kept) < len(factors) else None


@final
class _Binding:
    """Reads the fields of a `Physics` for given columns."""

    def __init__(
        self,
        physics: Physics,
        features: FeatureMap,
        outputs: tuple[str, ...],
        rates: dict[int, int],
        time_input: int | None,
    ):
        self.physics, self.base, self.outputs, self.rates = physics, features, outputs, rates
        self.time_input = time_input
        names = features.variables
        self.rate_names = {outputs[c]: names[v] for c, v in rates.items()}
        self.constant_bounds = {
            key: limits for key, limits in physics.bounds if isinstance(key, str)
        }
        per_run = set(physics.per_run) - set(names)
        self.names = set(self.constant_bounds) | per_run
        self.statements, self.systems = self._known_equations()
        self.inner = inner_names(list(self.statements.values()), self.constant_bounds)

    def bound(self, library: AbstractLibrary) -> Bound:
        known = {c: [split(part, self.inner) for part in statement.parts]
                 for c, statement in self.statements.items()}  # fmt: skip
        required = {
            self._equation(key, "required"): [self._term(text, "required") for text in texts]
            for key, texts in self.physics.required
        }
        features = self._features(known, required)
        self.features = features
        knowledge = Knowledge.none(features.mask.shape)
        self.low, self.high = knowledge.low.copy(), knowledge.high.copy()
        self.required = knowledge.required.copy()
        constants = self._known(known)
        for c, terms in required.items():
            self.required[c, [self._index(term) for term in terms]] = True
        self._bounds(constants)
        result = replace(
            knowledge,
            required=(self.required | (self.low > 0) | (self.high < 0)) & (self.low != self.high),
            low=self.low,
            high=self.high,
            complete=tuple(c for c, statement in self.statements.items() if statement.is_complete),
            constants=tuple(constants),
            parametric=np.array([bool(parameters_of(term)) for term in features.terms], dtype=bool),
            parameter_bounds=parameter_bounds(library) | self._parameter_bounds(),
            systems=self.systems,
            starts=read_starts(
                self.physics.start, features.variables, self.outputs, dict(self.physics.values)
            ),
            symmetries=Symmetries.of(
                self.physics.symmetry, features.variables, self.outputs, self.time_input
            ),
        )
        result = self._related(result, constants)
        features = self._narrowed(features, result)
        result = with_rates(result, features, self.rates)
        result = conserving(result, self.physics.conserved, features, self.outputs)
        check_feasible(result, features)
        return Bound(features, result)

    # -- reading ---------------------------------------------------------------------------

    def _known_equations(self) -> Known:
        reader = Reader(
            self.base.variables,
            self.outputs,
            {self.outputs[c]: self.base.variables[v] for c, v in self.rates.items()},
            dict(self.physics.values),
            self.names,
        )
        constants = [(name, "0") for name in self.physics.per_run if name in self.outputs]
        known = reader.read((*self.physics.equations, *constants))
        self._check_values_are_used()
        used = frozenset().union(
            *(
                parameters_of(part)
                for statement in known.statements.values()
                for part in statement.parts
            )
        )
        check_delays(self.base.variables, used)
        for name in self.physics.per_run:
            if name not in used and name not in self.base.variables:
                raise InputError(
                    f"Physics(per_run=...) names '{name}', which is not a constant of the "
                    f"equations.{suggestion(name, used)}"
                )
        delays = {split[1] for name in self.base.variables if (split := split_delayed(name))}
        for name in self.names - used - set(self.base.parameters) - delays:
            raise InputError(
                f"Physics(bounds=...) names '{name}', which is not a constant of the equations."
                f"{suggestion(name, used)} A coefficient is named by equation and term, as in "
                f"('x', 'x*y')."
            )
        return known

    def _check_values_are_used(self) -> None:
        """Raise InputError for a constant that occurs in no equation or relation."""
        physics = self.physics
        texts = [*(text for pair in physics.equations for text in pair)]
        texts += [start for _, start in physics.start if isinstance(start, str)]
        texts += [*physics.relations, *physics.conserved]
        texts += [text for _, terms in (*physics.required, *physics.forbidden) for text in terms]
        words = set(re.findall(r"[^\W\d]\w*", " ".join(texts))) | set(self.base.parameters)
        fields = [("values", name) for name, _ in physics.values]
        for field, name in (*fields, *(("units", name) for name, _ in physics.units)):
            if name not in words:
                raise InputError(
                    f"Physics({field}=...) gives '{name}', which occurs in no equation or relation."
                    f"{suggestion(name, words)}"
                )

    def _equation(self, key: str, field: str) -> int:
        name = denoted_state(key, self.rate_names)
        if name not in self.outputs:
            raise InputError(
                f"Physics({field}=...) names '{key}', which is not an equation."
                f"{suggestion(key, self.outputs)} The equations are {quoted(self.outputs)}."
            )
        return self.outputs.index(name)

    def _term(self, text: str, field: str) -> Expression:
        names = self.names | set(self.base.parameters)
        term = parse(text, self.base.variables, names)
        if isinstance(term, Sum | Number) and term != Number(1.0):
            raise InputError(
                f"Physics({field}=...) must name single terms, without a factor; got '{text}'."
            )
        return term

    def _index(self, term: Expression) -> int:
        return self.features.terms.index(term)

    def _features(
        self, known: Mapping[int, list[Part]], required: Mapping[int, list[Expression]]
    ) -> FeatureMap:
        """Return the terms of the library, and the known or required terms, of each equation."""
        extra = {c: {part.term for part in parts} for c, parts in known.items()}
        for c, terms in required.items():
            extra[c] = extra.get(c, set()) | set(terms)
        named = [part.term for parts in known.values() for part in parts]
        named += [term for terms in required.values() for term in terms]
        terms = tuple(dict.fromkeys([*self.base.terms, *named]))
        constants = {
            v for v, name in enumerate(self.base.variables) if name in self.physics.per_run
        }
        library = [term for term in self.base.terms if not constants & variables_of(term)]
        allowed = []
        for c, row in enumerate(self.base.allowed):
            is_complete = c in self.statements and self.statements[c].is_complete
            # a library term whose coefficient differs between runs is not also a plain candidate
            twins = {_without(term, constants) for term in extra.get(c, ())}
            candidates = {*extra.get(c, ())} | (
                set()
                if is_complete
                else {
                    term
                    for term, is_allowed in zip(self.base.terms, row, strict=True)
                    if is_allowed and term in library and term not in twins
                }
            )
            allowed.append(tuple(term in candidates for term in terms))
        parameters = sorted(frozenset().union(*(parameters_of(term) for term in terms)))
        return FeatureMap(self.base.variables, terms, tuple(allowed), tuple(parameters))

    # -- numbers ---------------------------------------------------------------------------

    def _known(self, known: Mapping[int, list[Part]]) -> list[ConstantProduct]:
        """Set given coefficients. Return the coefficients that contain constants."""
        constants = []
        for c, parts in known.items():
            if self.statements[c].is_complete:
                self.low[c] = self.high[c] = 0.0
            by_term: dict[Expression, list[Part]] = {}
            for part in parts:
                by_term.setdefault(part.term, []).append(part)
            for term, same in by_term.items():
                k = self._index(term)
                if not any(part.powers for part in same):
                    self.low[c, k] = self.high[c, k] = sum(part.number for part in same)
                    continue
                self.low[c, k], self.high[c, k], self.required[c, k] = -inf, inf, True
                constants += [ConstantProduct(c, k, part.number, part.powers) for part in same]
        return constants

    def _bounds(self, constants: Sequence[ConstantProduct]) -> None:
        system = ConstantSystem(tuple(constants))
        for place in system.places:
            same = [part for part in constants if part.place == place]
            limits = [product_bounds(p.powers, p.number, self.constant_bounds) for p in same]
            low, high = (sum(ends) for ends in zip(*limits, strict=True))
            if any(self.constant_bounds.keys() & dict(part.powers).keys() for part in same):
                self._narrow(place, (low, high), system.text(place))
        for key, limits in self.physics.bounds:
            if not isinstance(key, str):
                coefficient = self._coefficient(key[0], key[1], "bounds")
                self._narrow(coefficient, limits, f"{key[1]}' of '{key[0]}")

    def _narrow(
        self, coefficient: tuple[int, int], limits: tuple[float, float], label: str
    ) -> None:
        low, high = self.low[coefficient], self.high[coefficient]
        lower, upper = max(low, limits[0]), min(high, limits[1])
        if not lower <= upper:
            raise InputError(
                f"physics=... contradicts itself: the bounds of '{label}' are {limits[0]:g} to "
                f"{limits[1]:g}, but {low:g} to {high:g} was given before."
            )
        self.low[coefficient], self.high[coefficient] = lower, upper

    def _parameter_bounds(self) -> dict[str, tuple[float, float]]:
        either_sign = (name for system in self.systems for name in system.constants)
        bounds = dict.fromkeys(either_sign, (-inf, inf)) | self.constant_bounds
        return {name: bounds[name] for name in bounds if name in self.features.parameters}

    # -- relations -------------------------------------------------------------------------

    def _related(self, known: Knowledge, constants: Sequence[ConstantProduct]) -> Knowledge:
        """Return the knowledge with the user's relations, and with relations between coefficients
        that share constants.
        """
        rows, values, words = [], [], []
        system = ConstantSystem(tuple(constants))
        # coefficients that share products of constants satisfy linear relations
        for weights in null_space(system.matrix.T):
            row, places = np.zeros(known.low.shape), np.flatnonzero(weights)
            for i in places:
                row[system.places[i]] = weights[i]
            rows.append(row)
            values.append(float(weights @ system.offset))
            texts = dict.fromkeys(system.text(system.places[i]) for i in places)
            words.append(f"the same constants in several places, {quoted(texts)}")
        for text in self.physics.relations:
            row, value = read_relation(text, self._coefficient, known.low.shape)
            rows.append(row)
            values.append(value)
            words.append(f"'{text}'")
        matrix = np.array(rows).reshape(len(rows), *known.low.shape)
        return replace(known, relations=matrix, values=np.array(values), words=tuple(words))

    def _coefficient(self, equation: str, term: str, field: str) -> tuple[int, int]:
        """Return the indices of a coefficient. Raise an error if the equation cannot have the
        term.
        """
        c, wanted = self._equation(equation, field), self._term(term, field)
        if wanted not in self.features.terms or not self.features.mask[c, self._index(wanted)]:
            raise InputError(
                f"Physics({field}=...) names the term '{term}' of '{equation}', which the equation "
                "cannot contain. Add it to the library."
            )
        return c, self._index(wanted)

    # -- excluded terms --------------------------------------------------------------------

    def _narrowed(self, features: FeatureMap, known: Knowledge) -> FeatureMap:
        """Return the features without forbidden terms and without terms that violate a symmetry."""
        mask = features.mask.copy()
        needed = known.required | ((known.low == known.high) & (known.low != 0))
        for key, texts in self.physics.forbidden:
            rows = range(len(mask)) if key == _ANY else [self._equation(key, "forbidden")]
            for text in texts:
                matches = self._matches(text, features)
                for c in rows:
                    mask[c, matches & ~needed[c] if _ANY in text else matches] = False
        assert known.symmetries is not None
        if known.symmetries.any:
            mask &= known.symmetries.allowed(features)
        for c, k in np.argwhere(needed & ~mask):
            raise InputError(
                f"physics=... contradicts itself: the equation of '{self.outputs[c]}' must have "
                f"the term '{features.names[k]}', which is forbidden or violates a symmetry."
            )
        return replace(features, allowed=tuple(tuple(row) for row in mask.tolist()))

    def _matches(self, text: str, features: FeatureMap) -> np.ndarray:
        """Return a mask of the terms that match a name, or a pattern with '...'."""
        if _ANY not in text:
            try:
                wanted = self._term(text, "forbidden")
            except FormulaError as error:
                raise InputError(
                    f"Physics(forbidden=...): {error} Patterns contain '...', as in 'sin(...)'."
                ) from None
            return np.array([term == wanted for term in features.terms], dtype=bool)
        pattern = re.compile(".*".join(re.escape(part) for part in text.split(_ANY)), re.DOTALL)
        return np.array([pattern.fullmatch(to_text(term)) is not None for term in features.terms])
