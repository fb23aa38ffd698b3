"""Physics and a library bound to columns: terms, which equation may use them, constraints."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import final

import numpy as np
from jaxtyping import Float

from .._common.errors import FormulaError, InputError, quoted, suggestion
from ..terms import (
    AbstractLibrary,
    Expression,
    FeatureMap,
    Number,
    Product,
    Sum,
    bind,
    derivative,
    evaluate,
    multiply,
    parameter_bounds,
    parameters_of,
    parse,
    to_text,
)
from ._equations import Known, Reader
from ._knowledge import Constant, Knowledge, contradiction
from ._physics import Physics
from ._statement import Part, Powers, check_single, inner_names, is_monotonic, split
from ._symmetry import Symmetries

_COEFFICIENT = re.compile(r"coef\s*\(")
_FEW = 20  # relations that are checked one after the other
Find = Callable[[str, str, str], tuple[int, int]]


def read_relation(
    text: str, find: Find, shape: tuple[int, ...]
) -> tuple[Float[np.ndarray, "c K"], float]:
    """Weights of coefficients and the value of their sum; `find` gives the place of a term."""
    left, sign, right = text.partition("=")
    if not sign or "=" in right:
        raise InputError(
            f"Physics(relations=...) must be such as 'coef(x, x*y) = -coef(y, x*y)'; got '{text}'."
        )
    places: list[tuple[int, int]] = []
    sides = [_side(side, places, text, find) for side in (left, right)]
    names = [f"coef{i}" for i in range(len(places))]
    row, value = np.zeros(shape), 0.0
    for side, factor in zip(sides, (1.0, -1.0), strict=True):
        formula = parse(side, names)
        value -= factor * float(evaluate(formula, [0.0] * len(names), np))
        for i, place in enumerate(places):
            slope = derivative(formula, i)
            if not isinstance(slope, Number):
                raise InputError(
                    f"Physics(relations=...) must be linear in the coefficients; got '{text}'."
                )
            row[place] += factor * slope.value
    return row, value


def _side(side: str, places: list[tuple[int, int]], text: str, find: Find) -> str:
    """The text with each coef(equation, term) replaced by a name."""
    while found := _COEFFICIENT.search(side):
        depth, end = 1, found.end()
        while depth and end < len(side):
            depth += (side[end] == "(") - (side[end] == ")")
            end += 1
        equation, comma, term = side[found.end() : end - 1].partition(",")
        if depth or not comma:
            raise InputError(
                f"Physics(relations=...) must name coefficients as coef(equation, term); "
                f"got '{text}'."
            )
        places.append(find(equation.strip().strip("`"), term.strip(), "relations"))
        side = f"{side[: found.start()]} coef{len(places) - 1} {side[end:]}"
    return side


def conserving(
    known: Knowledge, quantities: Sequence[str], features: FeatureMap, outputs: Sequence[str]
) -> Knowledge:
    """dE/dt = sum_c dE/dx_c f_c = 0 for every product of terms that occurs in it."""
    rows, words, linear = [], [], []
    complete = set(known.complete)
    for text in quantities:
        quantity = parse(text, features.variables)
        places = [features.variables.index(name) for name in outputs]
        slopes = {c: derivative(quantity, place) for c, place in enumerate(places)}
        slopes = {c: slope for c, slope in slopes.items() if slope != Number(0.0)}
        if not slopes:
            raise InputError(f"Physics(conserved=...): '{text}' holds no state.")
        sums: dict[Expression, np.ndarray] = {}
        for c, slope in slopes.items():
            for k in np.flatnonzero(features.mask[c]):
                for item in _expanded(multiply(slope, features.terms[k])):
                    part = split(item, features.parameters)
                    sums.setdefault(part.term, np.zeros(known.low.shape))[c, k] += part.number
        rows += list(sums.values())
        words += [f"that '{text}' is conserved"] * len(sums)
        weights = [slopes.get(c, Number(0.0)) for c in range(len(outputs))]
        if all(isinstance(weight, Number) for weight in weights):
            linear.append([weight.value for weight in weights if isinstance(weight, Number)])
        else:
            complete |= set(slopes)
    more = np.array(rows).reshape(len(rows), *known.low.shape)
    return replace(
        known,
        relations=np.concatenate([known.relations, more]),
        values=np.concatenate([known.values, np.zeros(len(rows))]),
        words=(*known.words, *words),
        conserved=np.array(linear).reshape(len(linear), len(outputs)),
        complete=tuple(sorted(complete)),
    )


def _expanded(item: Expression) -> list[Expression]:
    """The summands of a product of sums."""
    if isinstance(item, Sum):
        return [part for term in item.terms for part in _expanded(term)]
    factors = item.factors if isinstance(item, Product) else ()
    for i, factor in enumerate(factors):
        if isinstance(factor, Sum):
            others = factors[:i] + factors[i + 1 :]
            return [part for term in factor.terms for part in _expanded(multiply(term, *others))]
    return [item]


def product_bounds(
    powers: Powers, number: float, bounds: Mapping[str, tuple[float, float]]
) -> tuple[float, float]:
    """Between which ends number * prod p**exponent lies for constants within these bounds."""
    low = high = number
    for name, exponent in powers:
        ends = _power_bounds(*bounds.get(name, (-inf, inf)), exponent)
        corners = [0.0 if not a or not b else a * b for a in (low, high) for b in ends]
        low, high = min(corners), max(corners)
    return low, high


def _power_bounds(low: float, high: float, exponent: float) -> tuple[float, float]:
    """Between which ends p**exponent lies for low <= p <= high."""
    if not is_monotonic(low, high, exponent):
        return -inf, inf
    if exponent == 1:
        return low, high
    if low >= 0:
        ends = sorted(_power(end, exponent) for end in (low, high))
    else:
        ends = sorted(-_power(-end, exponent) for end in (low, high))
    return ends[0], ends[1]


def _power(base: float, exponent: float) -> float:
    if base == 0 and exponent < 0:
        return inf
    return float(base**exponent)


def check_feasible(known: Knowledge, features: FeatureMap) -> None:
    """Refuses relations that bounds and what is given exclude."""
    from scipy.optimize import linprog

    count = len(known.values)
    may = (known.with_support(features.mask) & features.mask) | known.given
    low, high = (np.where(may, ends, 0.0).ravel() for ends in (known.low, known.high))
    matrix = known.relations.reshape(count, len(low))
    for some in range(1, count + 1) if count <= _FEW else [count]:
        result = linprog(
            np.zeros(len(low)), A_eq=matrix[:some], b_eq=known.values[:some],
            bounds=np.column_stack([low, high]),
        )  # fmt: skip
        if result.x is None:
            raise contradiction(known.words[some - 1])


_ANY = "..."


@final
@dataclass(frozen=True, eq=False)
class Bound:
    """The terms of a library and of what is known, and what is known of their coefficients."""

    features: FeatureMap
    knowledge: Knowledge


def bind_physics(
    physics: Physics | None,
    library: AbstractLibrary,
    variables: Sequence[str],
    outputs: Sequence[str],
    given: Mapping[int, int] | None = None,
    clock: int | None = None,
) -> Bound:
    """Terms and constraints for these columns and equations. `given` maps an equation to the
    variable that it is, as that of a position is its velocity. `clock` is the last variable where
    that is time: the library has only those terms of it that it writes as formulas."""
    features = bind(library, variables, outputs, given, clock)
    rates = dict(given or {})
    if physics is None:
        return Bound(features, with_rates(Knowledge.none(features.mask.shape), features, rates))
    return _Binding(physics, features, tuple(outputs), rates, clock).bound(library)


def with_rates(knowledge: Knowledge, features: FeatureMap, rates: Mapping[int, int]) -> Knowledge:
    """The knowledge with these equations given: one term with coefficient one."""
    low, high = knowledge.low.copy(), knowledge.high.copy()
    for c in rates:
        low[c] = high[c] = features.mask[c].astype(float)
    complete = tuple(sorted({*knowledge.complete, *rates}))
    return replace(knowledge, low=low, high=high, complete=complete)


@final
class _Binding:
    """Reads each field of a `Physics` in turn."""

    def __init__(
        self,
        physics: Physics,
        features: FeatureMap,
        outputs: tuple[str, ...],
        rates: dict[int, int],
        clock: int | None,
    ):
        self.physics, self.base, self.outputs, self.rates = physics, features, outputs, rates
        self.clock = clock
        names = features.variables
        # theta' is the equation of the velocity of theta
        self.aliases = {f"{outputs[c]}'": names[v] for c, v in rates.items()}
        self.names = {key for key, _ in physics.bounds if isinstance(key, str)}
        self.statements, self.systems = self._known_equations()
        named = {key: ends for key, ends in physics.bounds if isinstance(key, str)}
        self.inner = inner_names(list(self.statements.values()), named)

    def bound(self, library: AbstractLibrary) -> Bound:
        known = {c: [split(part, self.inner) for part in one.parts]
                 for c, one in self.statements.items()}  # fmt: skip
        required = {
            self._equation(key, "required"): [self._term(text, "required") for text in texts]
            for key, texts in self.physics.required
        }
        features = self._features(known, required)
        self.features = features
        knowledge = Knowledge.none(features.mask.shape)
        low, high = knowledge.low.copy(), knowledge.high.copy()
        needed = knowledge.required.copy()
        constants = self._known(known, low, high, needed)
        for c, terms in required.items():
            for term in terms:
                needed[c, self._place(term)] = True
        self._bounds(low, high, constants)
        needed |= (low > 0) | (high < 0)
        found = replace(
            knowledge,
            required=needed & (low != high),
            low=low,
            high=high,
            complete=tuple(c for c, one in self.statements.items() if one.is_complete),
            constants=tuple(constants),
            parametric=np.array([bool(parameters_of(term)) for term in features.terms], dtype=bool),
            parameter_bounds=parameter_bounds(library) | self._parameter_bounds(),
            systems=self.systems,
            symmetries=Symmetries.of(
                self.physics.symmetry, features.variables, self.outputs, self.clock
            ),
        )
        found = self._related(found, constants)
        features = self._narrowed(features, found)
        found = with_rates(found, features, self.rates)
        found = conserving(found, self.physics.conserved, features, self.outputs)
        check_feasible(found, features)
        return Bound(features, found)

    # -- reading ---------------------------------------------------------------------------

    def _known_equations(self) -> Known:
        reader = Reader(
            self.base.variables,
            self.outputs,
            {self.outputs[c]: self.base.variables[v] for c, v in self.rates.items()},
            dict(self.physics.values),
            self.names,
        )
        found = reader.read(self.physics.equations)
        self._check_values_are_used()
        used = frozenset().union(
            *(parameters_of(part) for one in found.statements.values() for part in one.parts)
        )
        for name in self.names - used - set(self.base.parameters):
            raise InputError(
                f"Physics(bounds=...) names '{name}', which is not a constant of the equations."
                f"{suggestion(name, used)} A coefficient is named by equation and term, as in "
                f"('x', 'x*y')."
            )
        return found

    def _check_values_are_used(self) -> None:
        """Refuses a constant that nothing names: its equation would have it estimated."""
        physics = self.physics
        texts = [*(text for pair in physics.equations for text in pair)]
        texts += [*physics.relations, *physics.conserved]
        texts += [text for _, some in (*physics.required, *physics.forbidden) for text in some]
        words = set(re.findall(r"[^\W\d]\w*", " ".join(texts))) | set(self.base.parameters)
        for name, _ in physics.values:
            if name not in words:
                raise InputError(
                    f"Physics(values=...) gives '{name}', which no equation or relation names."
                    f"{suggestion(name, words)}"
                )

    def _equation(self, key: str, field: str) -> int:
        name = self.aliases.get(key, key)
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

    def _place(self, term: Expression) -> int:
        return self.features.terms.index(term)

    def _features(
        self, known: Mapping[int, list[Part]], required: Mapping[int, list[Expression]]
    ) -> FeatureMap:
        """The library's terms and those that are known or required, by equation."""
        own = {c: {part.term for part in parts} for c, parts in known.items()}
        for c, terms in required.items():
            own[c] = own.get(c, set()) | set(terms)
        asked = [part.term for parts in known.values() for part in parts]
        asked += [term for terms in required.values() for term in terms]
        terms = tuple(dict.fromkeys([*self.base.terms, *asked]))
        allowed = []
        for c, row in enumerate(self.base.allowed):
            closed = c in self.statements and self.statements[c].is_complete
            wide = {*own.get(c, ())} | (
                set() if closed else {t for t, may in zip(self.base.terms, row, strict=True) if may}
            )
            allowed.append(tuple(term in wide for term in terms))
        parameters = sorted(frozenset().union(*(parameters_of(term) for term in terms)))
        return FeatureMap(self.base.variables, terms, tuple(allowed), tuple(parameters))

    # -- numbers ---------------------------------------------------------------------------

    def _known(
        self, known: Mapping[int, list[Part]], low: np.ndarray, high: np.ndarray, needed: np.ndarray
    ) -> list[Constant]:
        """Sets what is given; the coefficients with constants before them."""
        constants = []
        for c, parts in known.items():
            check_single(self.outputs[c], parts)
            if self.statements[c].is_complete:
                low[c] = high[c] = 0.0
            for part in parts:
                k = self._place(part.term)
                if not part.powers:
                    low[c, k] = high[c, k] = part.number
                    continue
                low[c, k], high[c, k], needed[c, k] = -inf, inf, True
                constants.append(Constant(c, k, part.number, part.powers))
        return constants

    def _bounds(self, low: np.ndarray, high: np.ndarray, constants: list[Constant]) -> None:
        named = {key: ends for key, ends in self.physics.bounds if isinstance(key, str)}
        for one in constants:
            if named.keys() & dict(one.powers).keys():
                ends = product_bounds(one.powers, one.number, named)
                self._narrow(low, high, one.equation, one.term, ends, one.text)
        for key, (least, most) in self.physics.bounds:
            if isinstance(key, str):
                continue
            c, k = self._coefficient(key[0], key[1], "bounds")
            self._narrow(low, high, c, k, (least, most), f"{key[1]}' of '{key[0]}")

    def _narrow(
        self,
        low: np.ndarray,
        high: np.ndarray,
        c: int,
        k: int,
        ends: tuple[float, float],
        what: str,
    ) -> None:
        least, most = max(low[c, k], ends[0]), min(high[c, k], ends[1])
        if not least <= most:
            raise InputError(
                f"physics=... contradicts itself: the bounds of '{what}' are {ends[0]:g} to "
                f"{ends[1]:g}, and {low[c, k]:g} to {high[c, k]:g} is given already."
            )
        low[c, k], high[c, k] = least, most

    def _parameter_bounds(self) -> dict[str, tuple[float, float]]:
        inside = set(self.features.parameters)
        either_sign = [name for one in self.systems for name in one.constants if name in inside]
        return dict.fromkeys(either_sign, (-inf, inf)) | {
            key: ends for key, ends in self.physics.bounds if isinstance(key, str) and key in inside
        }

    # -- relations -------------------------------------------------------------------------

    def _related(self, found: Knowledge, constants: Sequence[Constant]) -> Knowledge:
        """Ties of coefficients with the same constants before them, and the user's relations."""
        rows, values, words = [], [], []
        first: dict[object, Constant] = {}
        for one in constants:
            other = first.setdefault(one.powers, one)
            if other is not one:
                row = np.zeros(found.low.shape)
                row[one.equation, one.term] = other.number
                row[other.equation, other.term] = -one.number
                rows.append(row)
                values.append(0.0)
                words.append(f"the same constant '{one.text}' in several places")
        for text in self.physics.relations:
            row, value = read_relation(text, self._coefficient, found.low.shape)
            rows.append(row)
            values.append(value)
            words.append(f"'{text}'")
        matrix = np.array(rows).reshape(len(rows), *found.low.shape)
        return replace(found, relations=matrix, values=np.array(values), words=tuple(words))

    def _coefficient(self, equation: str, term: str, field: str) -> tuple[int, int]:
        """Equation and place of a term that it may have."""
        c, wanted = self._equation(equation, field), self._term(term, field)
        if wanted not in self.features.terms or not self.features.mask[c, self._place(wanted)]:
            raise InputError(
                f"Physics({field}=...) names the term '{term}' of '{equation}', which the equation "
                f"cannot have. Add it to the library."
            )
        return c, self._place(wanted)

    # -- terms that are out ----------------------------------------------------------------

    def _narrowed(self, features: FeatureMap, found: Knowledge) -> FeatureMap:
        """Without forbidden terms and those of the wrong symmetry; refuses what was asked for."""
        mask = features.mask.copy()
        asked = found.required | ((found.low == found.high) & (found.low != 0))
        for key, texts in self.physics.forbidden:
            rows = range(len(mask)) if key == _ANY else [self._equation(key, "forbidden")]
            for text in texts:
                out = self._matches(text, features)
                for c in rows:
                    mask[c, out & ~asked[c] if _ANY in text else out] = False
        assert found.symmetries is not None
        if found.symmetries.any:
            mask &= found.symmetries.allowed(features)
        for c, k in np.argwhere(asked & ~mask):
            raise InputError(
                f"physics=... contradicts itself: the equation of '{self.outputs[c]}' must have "
                f"the term '{features.names[k]}', which is forbidden or has not its symmetry."
            )
        return replace(features, allowed=tuple(tuple(row) for row in mask.tolist()))

    def _matches(self, text: str, features: FeatureMap) -> np.ndarray:
        """The terms that a name, or a pattern with '...', stands for."""
        if _ANY not in text:
            try:
                wanted = self._term(text, "forbidden")
            except FormulaError as error:
                raise InputError(
                    f"Physics(forbidden=...): {error} A pattern is written with '...', as in "
                    f"'sin(...)'."
                ) from None
            return np.array([term == wanted for term in features.terms], dtype=bool)
        pattern = re.compile(".*".join(re.escape(part) for part in text.split(_ANY)), re.DOTALL)
        return np.array([pattern.fullmatch(to_text(term)) is not None for term in features.terms])
