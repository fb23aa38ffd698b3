"""`Physics`: prior knowledge of a system, as Python objects, text or a TOML file."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Any, final

from .._common.errors import InputError, quoted, suggestion
from .._common.registry import part
from ._start import checked_start, parse_start
from ._statement import parse_equation
from ._symmetry import AbstractSymmetry, Even, Odd, Periodic, Reflection

Key = str | tuple[str, str]


@part
@final
@dataclass(frozen=True, kw_only=True)
class Physics:
    """Prior knowledge of a system.

    Parameters
    ----------
    equations
        right-hand sides by state, `{"theta": "omega", "omega": "-g/L*sin(theta) + ..."}`. A
        right-hand side is complete, without further terms or residual, unless it ends with "...",
        in which case the library and the residual add to it. Words that are not columns are
        constants: constants in `values` are known, all others are estimated
        (`model.parameters_`). `x(t - tau)` is an earlier value of x, and tau its delay.
        Alternatively, a list of equations, `["theta' = omega"]`, which may contain several
        derivatives each: `"J*a'' + c*cos(a - b)*b'' = -k*sin(a)"`. Such equations must be as many
        as their derivatives, and they are complete. A common factor of an equation cannot be
        estimated: unless its value is given, the first constant is set to one.
    values
        known constants, `{"g": 9.81}`.
    required, forbidden
        terms that an equation must, or must not, have, by state. In forbidden terms, "..." matches
        any text: "sin(...)" matches all sines, and "..." matches all terms of the library.
    bounds
        lower and upper bound (or None) of a coefficient, `{("omega", "omega"): (None, 0)}` by
        equation and term, or of a constant, `{"L": (0.1, 2)}`.
    relations
        linear relations between coefficients, `["coef(x, x*y) = -coef(y, x*y)"]`.
    conserved
        conserved quantities, `["S + I + R"]`. The coefficients conserve them exactly. The residual
        also conserves them if the quantity is a sum of states; otherwise its equations have no
        residual.
    start
        the first value of a state in each run, by state: a number, a range `(0, 10)`, or a formula
        of the columns at the first row and of `values`, `{"S": "N - I - R", "R": 0}`.
    per_run
        constants with another value in each run, `["m"]`, or terms whose coefficients have, by
        equation, `{"omega": ["sin(theta)"]}`. Their distribution over runs is estimated.
    symmetry
        `Odd()`, `Even("x")`, `Reflection("x")`, `Periodic("theta")`, or a list of them.

    All of these hold exactly. Other coefficients are selected and estimated as usual.

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

    def __post_init__(self):
        for name, check in (
            ("equations", _text),
            ("values", _number),
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
        given = self.symmetry or ()
        symmetries = (given,) if isinstance(given, AbstractSymmetry) else tuple(given)
        for symmetry in symmetries:
            if not isinstance(symmetry, AbstractSymmetry):
                raise InputError(
                    f"Physics(symmetry=...) must be Odd(), Even('x'), Reflection('x'), "
                    f"Periodic('theta') or a list of these; got {symmetry!r}."
                )
        object.__setattr__(self, "symmetry", symmetries)

    def _name_terms(self, terms: Mapping[str, Any]) -> None:
        """Replace terms in `per_run` by named constants in the equations, which stay open if they
        were not given."""
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
        named = ("equations", "values", "required", "forbidden", "bounds", "start")
        shown = [
            f"{name}={dict(getattr(self, name))!r}" for name in named if getattr(self, name)
        ] + [
            f"{name}={list(getattr(self, name))!r}"
            for name in ("relations", "conserved", "per_run", "symmetry")
            if getattr(self, name)
        ]
        return f"Physics({', '.join(shown)})"


def _pairs(name: str, given: Any, check: Any) -> tuple[tuple[Any, Any], ...]:
    """Return a mapping, or the pairs from a file, in a hashable form."""
    what = f"Physics({name}=...)"
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise InputError(f"{what} must be a dict such as {_EXAMPLES[name]}; got {given!r}.")
    items = given.items() if isinstance(given, Mapping) else given
    if name == "equations":
        items = [parse_equation(item) if isinstance(item, str) else item for item in items]
    pairs: dict[Any, Any] = {}
    for key, value in items:
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
    return value.strip()


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise InputError(f"{what} must be a finite number; got {value!r}.")
    return float(value)


def _texts(what: str, value: Any) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, Sequence) or not all(isinstance(text, str) for text in values):
        raise InputError(f"{what} must be a list of texts; got {value!r}.")
    return tuple(_text(what, text) for text in values)


def _bounds_pair(what: str, value: Any) -> tuple[float, float]:
    """Return (low, high), infinite for None."""
    try:
        low, high = value
        low = -inf if low is None else float(low)
        high = inf if high is None else float(high)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} must be a pair of numbers or None, such as (None, 0); got {value!r}."
        ) from None
    if isnan(low) or isnan(high) or not low <= high:
        raise InputError(f"{what} exclude every number: {low:g} to {high:g}.")
    return low, high


_EXAMPLES = {
    "equations": "{'x': 'v', 'v': '-k*x + ...'}",
    "values": "{'g': 9.81}",
    "required": "{'v': ['v']}",
    "forbidden": "{'v': ['x*v']}",
    "bounds": "{('v', 'v'): (None, 0), 'k': (0, 10)}",
    "start": "{'h': (0, 10), 'S': 'N - I'}",
}


_FLOAT = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = re.compile(
    rf"(?:({_FLOAT})\s*(<=|>=)\s*)?([^<>=]+?)(?:\s*(<=|>=)\s*({_FLOAT}))?",
    re.DOTALL,
)
_SYMMETRY = re.compile(r"\s*([A-Za-z]+)\s*(?:\(([^()]*)\))?\s*")
_KINDS = {"odd": Odd, "even": Even, "reflection": Reflection, "periodic": Periodic}
_FIELDS = (
    "equations", "values", "required", "forbidden", "bounds", "relations", "conserved", "start",
    "per_run", "symmetry",
)  # fmt: skip


def parse_bound(text: str) -> tuple[Key, tuple[float | None, float | None]]:
    """Return the bounded quantity and its bounds: "omega': omega <= 0", "0.1 <= L <= 2"; for a map
    "x[k+1]: x <= 0"."""
    equation, colon, inequality = text.rpartition(":")
    match = _BOUND.fullmatch(inequality.strip())
    key: Key = match[3].strip() if match else ""
    if colon:
        state = equation.strip().replace("[k+1]", "'")
        key = (state[:-1].strip("`") if state.endswith("'") else "", str(key))
    if match is None or not (match[2] or match[4]) or not all(key):
        raise InputError(
            f'A bound must be such as "v\': v <= 0" for a coefficient, or "0.1 <= L <= 2" for a '
            f"constant; got '{text}'."
        )
    low = high = None
    if match[2]:
        low, high = (float(match[1]), high) if match[2] == "<=" else (low, float(match[1]))
    if match[4]:
        low, high = (low, float(match[5])) if match[4] == "<=" else (float(match[5]), high)
    return key, (low, high)


def parse_symmetry(text: str) -> AbstractSymmetry:
    """Return the symmetry "odd", "even(x)", "reflection(x, v)" or "periodic(theta)"."""
    match = _SYMMETRY.fullmatch(text)
    names = [name.strip() for name in (match[2] or "").split(",")] if match and match[2] else []
    kind = match[1].lower() if match else ""
    if kind not in _KINDS or (kind == "odd") != (not names) or not all(names):
        raise InputError(
            f"A symmetry must be such as 'odd', 'even(x)', 'reflection(x, v)' or "
            f"'periodic(theta)'; got '{text}'."
        )
    return _KINDS[kind](*names)


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of `Physics` in a TOML file.

    Equations, bounds and symmetries may be lists of texts: ["theta' = omega"], ["omega': omega <=
    0"], ["odd"].
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            given: dict[str, Any] = tomllib.load(stream)
    except OSError as error:
        raise InputError(f"physics='{path}' cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"physics='{path}' is not a TOML file: {error}.") from None
    for name in given:
        if name not in _FIELDS:
            raise InputError(
                f"'{file.name}' has an unknown entry '{name}'."
                f"{suggestion(name, _FIELDS)} Known are {quoted(_FIELDS)}."
            )
    return given


def physics_of(given: Mapping[str, Any]) -> Physics:
    """Return the physics from fields whose equations, bounds and symmetries may be texts."""
    fields = dict(given)
    bounds = fields.get("bounds", ())
    if isinstance(bounds, Mapping):
        raise InputError(
            'Physics(bounds=...) must be a list of texts such as "v\': v <= 0" in a file.'
        )
    fields["bounds"] = _merged(
        [parse_bound(item) if isinstance(item, str) else item for item in bounds]
    )
    starts = fields.get("start", ())
    if not isinstance(starts, Mapping):
        texts = [starts] if isinstance(starts, str) else starts
        fields["start"] = [parse_start(one) if isinstance(one, str) else one for one in texts]
    symmetry = fields.get("symmetry", ())
    texts = [symmetry] if isinstance(symmetry, str) else symmetry
    fields["symmetry"] = [parse_symmetry(item) if isinstance(item, str) else item for item in texts]
    return Physics(**fields)


def _merged(
    pairs: Sequence[tuple[Key, tuple[float | None, float | None]]],
) -> list[tuple[Key, tuple[float | None, float | None]]]:
    """Merge the bounds of equal keys."""
    merged: dict[Key, tuple[float | None, float | None]] = {}
    for key, (low, high) in pairs:
        known = merged.get(key, (None, None))
        merged[key] = (known[0] if low is None else low, known[1] if high is None else high)
    return list(merged.items())
