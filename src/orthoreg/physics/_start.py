"""Rules for the first states of runs: values, formulas of other columns, or ranges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, quoted, shortened, suggestion
from ..data import PerRun, Schema
from ..terms import Expression, Number, check_length, compiled, derivative, parse, run, substitute
from . import _limits as limits

Start = str | float | tuple[float, float]


@final
@dataclass(frozen=True)
class StartRule:
    """The first value of a state in each run.

    It is a formula of states and inputs, a range, or a distribution, which may depend on
    covariates.
    """

    state: int
    formula: Expression | None = None
    range: tuple[float, float] | None = None
    prior: PerRun | None = None


def _coordinate(
    prior: PerRun, x: Float[np.ndarray, " R"], mean: Float[np.ndarray, " R"]
) -> tuple[Float[np.ndarray, " R"], Float[np.ndarray, " R"]]:
    """Return the coordinate in which values are normally distributed, and its derivative.

    Below a small share of the median, the logarithm continues as a straight line, so that steps may
    go there.
    """
    if not prior.is_log:
        return x, np.ones_like(x)
    low = limits.LOG_CONTINUATION * np.exp(mean)
    inside = np.maximum(x, low)
    return np.log(inside) + (x - inside) / low, 1 / inside


def with_priors(starts: "Starts | None", schema: Schema) -> "Starts | None":
    """Return the rules, extended by the distributions of constants per run."""
    priors = tuple(
        StartRule(schema.state_names.index(constant.name), prior=constant)
        for constant in schema.per_run
        if isfinite(constant.std)
    )
    if not priors:
        return starts
    rules = () if starts is None else starts.rules
    return Starts((*rules, *priors), len(schema.state_names), schema.covariate_names)


@final
@dataclass(frozen=True, eq=False)
class Starts:
    """Rules for the first row of each run.

    There are `n_states` states, and the names of covariates are `covariates`.
    """

    rules: tuple[StartRule, ...]
    n_states: int
    covariates: tuple[str, ...] = ()

    def of(self, state: int) -> StartRule | None:
        """Return the rule of a state, or None."""
        return next((rule for rule in self.rules if rule.state == state), None)

    def conditions(
        self, z: Float[np.ndarray, "V R"], covariates: Float[np.ndarray, "R q"] | None = None
    ) -> tuple[Float[np.ndarray, "m R"], Float[np.ndarray, "m n R"]]:
        """Return the violation of each rule, and its derivatives with respect to the states.

        The rules apply to the first states and inputs z of runs with these covariates. For a prior,
        the violation is in units of its standard deviation.
        """
        count = z.shape[1]
        values = np.zeros((len(self.rules), count))
        slopes = np.zeros((len(self.rules), self.n_states, count))
        items = run(self._program, z, np, {})
        for i, rule in enumerate(self.rules):
            x = z[rule.state]
            if rule.prior is not None:
                mean, std = rule.prior.distribution(covariates, self.covariates, count)
                at, slope = _coordinate(rule.prior, x, mean)
                values[i] = (at - mean) / std
                slopes[i, rule.state] = slope / std
                continue
            if rule.range is not None:
                values[i] = x - np.clip(x, *rule.range)
                slopes[i, rule.state] = values[i] != 0
                continue
            values[i] = x - items[self._places[i, -1]]
            slopes[i, rule.state] = 1.0
            for j in range(self.n_states):
                slopes[i, j] -= items[self._places[i, j]]
        return values, slopes

    def values(
        self, z: Float[np.ndarray, "V R"], covariates: Float[np.ndarray, "R q"] | None = None
    ) -> Float[np.ndarray, "V R"]:
        """Return states and inputs in which formulas determine their states.

        The rules are applied in their order, and repeatedly because formulas may refer to each
        other.
        """
        z = np.array(z)
        for _ in self.rules:
            for i, rule in enumerate(self.rules):
                if rule.prior is not None:
                    mean, _ = rule.prior.distribution(covariates, self.covariates, z.shape[1])
                    z[rule.state] = np.exp(mean) if rule.prior.is_log else mean
                elif rule.range is not None:
                    z[rule.state] = np.clip(z[rule.state], *rule.range)
                else:
                    z[rule.state] = run(self._program, z, np, {})[self._places[i, -1]]
        return z

    @cached_property
    def _items(self) -> tuple[list[Expression], dict[tuple[int, int], int]]:
        items: list[Expression] = []
        places: dict[tuple[int, int], int] = {}
        for i, rule in enumerate(self.rules):
            if rule.formula is None:
                continue
            places[i, -1] = len(items)
            items.append(rule.formula)
            for j in range(self.n_states):
                places[i, j] = len(items)
                items.append(derivative(rule.formula, j))
        return items, places

    @property
    def _places(self) -> dict[tuple[int, int], int]:
        return self._items[1]

    @cached_property
    def _program(self) -> Any:
        return compiled(self._items[0])


def read_starts(
    given: Sequence[tuple[str, Start]],
    variables: Sequence[str],
    outputs: Sequence[str],
    values: Mapping[str, float],
) -> Starts | None:
    """Return the rules of `Physics(start=...)` for these columns, or None if there are none."""
    rules = []
    for name, start in given:
        if name not in outputs:
            raise InputError(
                f"Physics(start=...) names '{name}', which is not a state."
                f"{suggestion(name, outputs)} The states are {quoted(outputs)}."
            )
        state = list(outputs).index(name)
        if isinstance(start, tuple):
            rules.append(StartRule(state, range=start))
            continue
        if isinstance(start, str):
            known = {key: Number(value) for key, value in values.items()}
            formula = substitute(parse(start, variables, set(known)), known)
        else:
            formula = Number(float(start))
        rules.append(StartRule(state, formula))
    return Starts(tuple(rules), len(outputs)) if rules else None


def checked_start(what: str, value: Any) -> Start:
    """Return a start as a number, a text or a range. Raise an error for anything else."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    numbers = [value] if isinstance(value, int | float) else value
    if isinstance(numbers, list | tuple) and len(numbers) in (1, 2):
        finite = [number for item in numbers if (number := finite_number(item)) is not None]
        if len(finite) == len(numbers) == 1:
            return finite[0]
        if len(finite) == 2 and finite[0] < finite[1]:
            return finite[0], finite[1]
    raise InputError(
        f"{what} must be a number, a range such as (0, 10), or a formula such as 'N - I'; "
        f"got {shortened(repr(value))}."
    )


def parse_start(text: str) -> tuple[str, Start]:
    """Return the state and its start from "h = 0..10", "h = 3" or "S = N - I - R"."""
    check_length(text, "A start")
    name, sign, value = (part.strip() for part in text.partition("="))
    name = name.strip("`")
    if not sign or not name or not value:
        raise InputError(
            "A start must have the form 'h = 3', 'h = 0..10' or 'S = N - I'; got "
            f"'{shortened(text)}'."
        )
    low, dots, high = value.partition("..")
    try:
        numbers = (float(low), float(high)) if dots else float(value)
    except ValueError:
        if dots:
            raise InputError(
                f"A range of starts must have the form 'h = 0..10'; got '{shortened(text)}'."
            ) from None
        return name, value
    return name, checked_start(f"The start of '{name}'", numbers)


def finite_number(value: Any) -> float | None:
    """Return a finite number as a float, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the range of floats
        return None
    return number if isfinite(number) else None
