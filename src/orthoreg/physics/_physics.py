"""`Physics`: prior knowledge of a system."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, final

from .._common.errors import InputError, shortened
from .._common.registry import part
from ..terms import check_length
from ._start import checked_start, finite_number
from ._statement import parse_equation
from ._symmetry import AbstractSymmetry

Key = str | tuple[str, str]
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s+(\S.*)")  # 9.81 m/s^2


@part
@final
@dataclass(frozen=True, kw_only=True)
class Physics:
    """Prior knowledge of a system.

    Parameters
    ----------
    equations
        right-hand sides by state, `{"theta": "omega", "omega": "-g/L*sin(theta) + ..."}`. If a
        right-hand side ends with "...", the library and the residual add terms to it. Otherwise it
        is complete. Words that are not columns are constants: those in `values` are known, all
        others are estimated (`model.parameters_`). `x(t - tau)` is an earlier value of x, and tau
        its delay. Alternatively, a list of equations, `["theta' = omega"]`, each of which may
        contain several derivatives: `"J*a'' + c*cos(a - b)*b'' = -k*sin(a)"`. There must be as many
        such equations as derivatives in them, and they are complete. A common factor of an equation
        cannot be estimated. Unless its value is given, the first constant is set to one.
    values
        known constants, `{"g": 9.81}`.
    required, forbidden
        terms that an equation must, or must not, contain, by state. In forbidden terms, "..."
        matches any text: "sin(...)" matches all sines, and "..." matches all terms of the library.
    bounds
        lower and upper bound, either of which may be None, of a coefficient, `{("omega", "omega"):
        (None, 0)}` by equation and term, or of a constant, `{"L": (0.1, 2)}`.
    relations
        linear relations between coefficients, `["coef(x, x*y) = -coef(y, x*y)"]`.
    conserved
        conserved quantities, `["S + I + R"]`. The equations conserve them exactly. The residual
        also conserves a quantity that is a sum of states; for other quantities, the equations
        involved have no residual.
    start
        initial value of a state in each run, by state: a number, a range `(0, 10)`, or a formula of
        the columns at the first row and of `values`, `{"S": "N - I - R", "R": 0}`.
    per_run
        constants that differ between runs, `["m"]`, or terms with such coefficients, by equation,
        `{"omega": ["sin(theta)"]}`. Their distribution over runs is estimated.
    symmetry
        `Odd()`, `Even("x")`, `Reflection("x")`, `Periodic("theta")`, or a list of them.
    units
        units of constants, `{"L": "m"}`. They are checked against the units of the columns. The
        value of a known constant may include its unit, `values={"g": "9.81 m/s^2"}`.

    All of this knowledge holds exactly. Other coefficients are selected and estimated as usual.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 200)
    >>> x = np.column_stack([np.cos(2 * t), -2 * np.sin(2 * t)])
    >>> data = og.Dataset.from_arrays(x, t, names=["x", "v"])
    >>> physics = og.Physics(equations={"x": "v", "v": "-k/m*x + ..."}, values={"m": 0.5})
    >>> model = og.OrthoReg(og.Polynomial(2), physics=physics).fit(data)
    >>> model.equations()
    ["x' = v (given)", "v' = -4.000 x"]
    >>> round(model.parameters_["k"], 3)
    2.0
    """

    equations: Any = ()
    values: Any = ()
    required: Any = ()
    forbidden: Any = ()
    bounds: Any = ()
    relations: Any = ()
    conserved: Any = ()
    start: Any = ()
    per_run: Any = ()
    symmetry: Any = ()
    units: Any = ()

    def __post_init__(self):
        self._separate_units()
        for name, check in (
            ("equations", _text),
            ("values", _number),
            ("units", _text),
            ("required", _texts),
            ("forbidden", _texts),
            ("bounds", _bounds_pair),
            ("start", checked_start),
        ):
            object.__setattr__(self, name, _pairs(name, getattr(self, name), check))
        if isinstance(self.per_run, Mapping):
            self._name_terms(self.per_run)
        for name in ("relations", "conserved", "per_run"):
            object.__setattr__(self, name, _texts(f"Physics({name}=...)", getattr(self, name)))
        given = () if self.symmetry is None else self.symmetry
        symmetries = tuple(given) if isinstance(given, list | tuple) else (given,)
        for symmetry in symmetries:
            if not isinstance(symmetry, AbstractSymmetry):
                raise InputError(
                    f"Physics(symmetry=...) must be Odd(), Even('x'), Reflection('x'), "
                    f"Periodic('theta') or a list of these; got {symmetry!r}."
                )
        object.__setattr__(self, "symmetry", symmetries)

    def _separate_units(self) -> None:
        """Replace values with a unit, "9.81 m/s^2", by numbers and entries of `units`."""
        numbers: list[tuple[Any, Any]] = []
        units = list(_pairs("units", self.units, _text))
        for name, value in _pairs("values", self.values, lambda what, value: value):
            match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
            numbers.append((name, value if match is None else float(match[1])))
            units += [] if match is None else [(name, match[2])]
        object.__setattr__(self, "values", numbers)
        object.__setattr__(self, "units", units)

    def _name_terms(self, terms: Mapping[str, Any]) -> None:
        """Replace terms in `per_run` by named constants in the equations.

        Equations that were not given remain open.
        """
        names: list[str] = []
        equations = dict(self.equations)
        for state, texts in terms.items():
            chosen = _texts(f"Physics(per_run=...) of {state!r}", texts)
            for number, text in enumerate(chosen, 1):
                names.append(f"k_{state}" if len(chosen) == 1 else f"k_{state}_{number}")
                known = equations.get(state, "...")
                equations[state] = f"{names[-1]}*({text}) + {known}"
        object.__setattr__(self, "equations", tuple(equations.items()))
        object.__setattr__(self, "per_run", tuple(names))

    def __repr__(self) -> str:
        named = ("equations", "values", "units", "required", "forbidden", "bounds", "start")
        shown = [
            f"{name}={dict(getattr(self, name))!r}" for name in named if getattr(self, name)
        ] + [
            f"{name}={list(getattr(self, name))!r}"
            for name in ("relations", "conserved", "per_run", "symmetry")
            if getattr(self, name)
        ]
        return f"Physics({', '.join(shown)})"


def mentions(physics: Physics, name: str) -> bool:
    """Return whether any statement in `physics` contains the name."""
    texts = [text for pair in physics.equations for text in pair]
    for key, terms in (*physics.required, *physics.forbidden):
        texts += [key, *terms]
    for key, _ in physics.bounds:
        texts += [key] if isinstance(key, str) else key
    texts += [str(part) for pair in physics.start for part in pair]
    texts += [*physics.relations, *physics.conserved]
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", "; ".join(texts)) is not None


def _pairs(name: str, given: Any, check: Any) -> tuple[tuple[Any, Any], ...]:
    """Return the items of a mapping, or the pairs from a file, in a hashable form."""
    what = f"Physics({name}=...)"
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise InputError(f"{what} must be a dict such as {_EXAMPLES[name]}; got {given!r}.")
    items = given.items() if isinstance(given, Mapping) else given
    if name == "equations":
        items = [parse_equation(item) if isinstance(item, str) else item for item in items]
    pairs: dict[Any, Any] = {}
    for item in items:
        if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
            raise InputError(
                f"{what} must be a dict such as {_EXAMPLES[name]}; got {item!r} in it."
            )
        key, value = item
        key = _key(what, key) if name == "bounds" else _text(what, key)
        if key in pairs:
            raise InputError(f"{what} names {key!r} twice.")
        pairs[key] = check(f"{what} of {key!r}", value)
    return tuple(pairs.items())


def _key(what: str, key: Any) -> Key:
    if isinstance(key, str):
        return key
    if isinstance(key, Sequence) and len(key) == 2 and all(isinstance(part, str) for part in key):
        return (key[0], key[1])
    raise InputError(
        f"{what} must name a constant, such as 'L', or an equation and a term, such as "
        f"('omega', 'sin(theta)'); got {key!r}."
    )


def _text(what: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{what} must be text; got {value!r}.")
    check_length(value, what)
    return value.strip()


def _number(what: str, value: Any) -> float:
    number = finite_number(value)
    if number is None:
        raise InputError(f"{what} must be a finite number; got {shortened(repr(value))}.")
    return number


def _texts(what: str, value: Any) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, Sequence) or not all(isinstance(text, str) for text in values):
        raise InputError(f"{what} must be a list of texts; got {value!r}.")
    return tuple(_text(what, text) for text in values)


def _bounds_pair(what: str, value: Any) -> tuple[float, float]:
    """Return (low, high), with infinite values for None."""
    try:
        low, high = value
        low = -inf if low is None else float(low)
        high = inf if high is None else float(high)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{what} must be a pair of numbers or None, such as (None, 0); got {value!r}."
        ) from None
    if isnan(low) or isnan(high) or not low <= high:
        raise InputError(f"{what} exclude every number: {low:g} to {high:g}.")
    return low, high


_EXAMPLES = {
    "equations": "{'x': 'v', 'v': '-k*x + ...'}",
    "values": "{'g': 9.81}",
    "units": "{'g': 'm/s^2'}",
    "required": "{'v': ['v']}",
    "forbidden": "{'v': ['x*v']}",
    "bounds": "{('v', 'v'): (None, 0), 'k': (0, 10)}",
    "start": "{'h': (0, 10), 'S': 'N - I'}",
}
