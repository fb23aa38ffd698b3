"""Replace states that were not measured by derivatives of measured states.

The system x' = h, h' = f(x, h) is equivalent to x'' = f(x, x'). If nothing is known about a hidden
state h, it can be defined as the derivative of a measured state, without loss of generality
wherever h acts on this state. Forecasts of held-out rows decide which state is differentiated, and
how often.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from .._common.errors import DataError, InputError, quoted
from .._common.progress import step
from ..data import MAX_ORDER, Dataset, Rows, held_out_rows, rows_per_period
from ..field import Zero
from ..matching import matched_forecast_errors
from ..physics import mentions, requested_delays
from ..simulation import input_interpolation, with_delays
from . import _limits as limits
from ._delays import first_delays
from ._fit import Recipe, TrainingRuns
from ._trajectories import fit_runs


@final
class OrderGain(NamedTuple):
    """States that become positions in equations of this order, and the gain.

    `before` and `after` are the forecast errors over the time `time` without and with these
    equations, in standard deviations.
    """

    states: tuple[str, ...]
    order: int
    time: float
    before: float
    after: float


@final
class OrderTrials:
    """Fits of higher order in the measured `states`.

    They are judged by the largest forecast error among these states.
    """

    def __init__(self, recipe: Recipe, data: Dataset, states: Sequence[str]):
        self._data = data.subsample_rows(limits.MAX_ROWS_ORDERS)
        self._states = tuple(states)
        self._held_out = _HeldOut(recipe, self._data)
        self.failed: list[int] = []  # orders that did not help

    @cached_property
    def _before(self) -> float | None:
        return self._held_out.error(self._data, self._states)

    def gain(self, order: int) -> OrderGain | None:
        """Return the gain from raising all states, or a single state, to this order.

        Return None if no forecast is good and clearly better than before. If the data have
        positions, all of them are raised.
        """
        together = sorted(self._states, key=self._data.state_names.index)
        groups = [together, *([state] for state in self._states if len(together) > 1)]
        positions = [dict.fromkeys(group) for group in groups[: limits.GROUPS_TRIED]]
        if self._data.velocity_of:
            positions = [self._data.schema.positions]
        if order > MAX_ORDER:
            return None
        with step("Trying equations of higher order"):
            for named in positions:
                data = self._data.with_velocities(named, order)
                if self._is_large(data):
                    continue
                after = self._held_out.error(data, self._states)
                if after is None:
                    continue
                if order not in self.failed:
                    self.failed.append(order)
                if after > limits.GOOD_ORDER_ERROR or self._before is None:
                    continue
                if after <= limits.MAX_ORDER_RATIO * self._before:
                    return OrderGain(tuple(named), order, self._held_out.time, self._before, after)
        return None

    def _is_large(self, data: Dataset) -> bool:
        n_terms = len(self._held_out.recipe.library.terms(data.variable_names))
        n_learned = data.n_states - len(data.velocity_of)
        return n_terms * n_learned > limits.MAX_COEFFICIENTS_ORDERS


def with_embedded_states(recipe: Recipe, data: Dataset) -> Dataset:
    """Return the runs with hidden states defined as successive derivatives of a measured state.

    Runs are unchanged if anything is known about the hidden states. If several states are measured,
    the one that gives the best forecasts of held-out rows is differentiated.
    """
    hidden = [name for name in data.hidden if name not in data.schema.per_run_names]
    if not hidden or not data.has_unknown_states or _is_mentioned(recipe, hidden):
        return data
    measured = data.without_estimates()
    given = set() if recipe.physics is None else {left for left, _ in recipe.physics.equations}
    chains = [
        dict(zip([*chain, *hidden], [*chain[1:], *hidden], strict=False))
        for chain in _chains(data)
        if not given.intersection(chain)
    ]
    if data.discrete:
        return data
    if len(hidden) + max(map(len, chains), default=0) > MAX_ORDER:
        raise InputError(
            f"Nothing is known about the hidden states {quoted(hidden)}, so they would be "
            f"derivatives of a measured state, but equations of an order above {MAX_ORDER} are not "
            f"supported. Give fewer hidden states, or equations for them with "
            f"physics=Physics(equations=...)."
        )
    candidates = [measured.with_rates(dict(data.velocity_of) | chain) for chain in chains]
    if len(candidates) < 2:
        return candidates[0] if candidates else data
    held_out = _HeldOut(recipe, data)
    names = [name for name in data.state_names if name in data.schema.measured_states]
    with step("Choosing the state to differentiate"):
        errors = [held_out.error(candidate, names) for candidate in candidates]
    return candidates[int(np.argmin([np.inf if error is None else error for error in errors]))]


def _chains(data: Dataset) -> list[list[str]]:
    """Return each measured state that is not a derivative, followed by its derivatives."""
    chains = []
    for state in data.schema.measured_states:
        if state in data.velocity_of.values():
            continue
        chain = [state]
        while chain[-1] in data.velocity_of:
            chain.append(data.velocity_of[chain[-1]])
        chains.append(chain)
    return chains


def _is_mentioned(recipe: Recipe, hidden: Sequence[str]) -> bool:
    """Return whether known physics mentions a hidden state."""
    physics = recipe.physics
    return physics is not None and any(mentions(physics, name) for name in hidden)


@final
class _HeldOut:
    """Fits to a part of the rows, without a residual, and forecasts of the remaining rows."""

    def __init__(self, recipe: Recipe, data: Dataset):
        self.recipe = replace(recipe, augmentation=Zero())
        rows = Rows(
            data.variables, np.zeros((data.n_samples, data.n_states)), data.run_of_row,
            np.zeros(data.n_states), times=data.times,
        )  # fmt: skip
        self._held_out = held_out_rows(rows, limits.ORDER_HELD_OUT_SHARE)
        test = data.only(self._held_out)
        periods = rows_per_period(data)[data.is_measured]
        longest = int(test.run_lengths.max()) - 1
        period = float(np.max(periods[np.isfinite(periods)], initial=0.0)) or np.inf
        period *= limits.ORDER_FORECAST_PERIODS
        self._steps = int(min(period, longest * limits.ORDER_FORECAST_SHARE))
        self.time = self._steps * float(np.median(test.step_of_run()))

    def error(self, data: Dataset, states: Sequence[str]) -> float | None:
        """Return the largest forecast error of these states in standard deviations.

        Return None if they cannot be forecast.
        """
        if self._steps < limits.MIN_ORDER_STEPS:
            return None
        train, test = data.only(~self._held_out), data.only(self._held_out)
        physics, library = self.recipe.physics, self.recipe.library
        try:
            delays = () if train.delays else requested_delays(library, physics, train)
            if delays:
                train = first_delays(self.recipe, train, delays)
                test = with_delays(test, train.delays)
            loss = self.recipe.loss.rule(train)
            kinds = input_interpolation(train.input_names, train)
            runs = TrainingRuns(train, loss, kinds)
            fit = fit_runs(self.recipe, loss.observe(train), runs)
        except (DataError, InputError):
            return None
        errors = matched_forecast_errors(fit.field, test, fit.interpolation or kinds, self._steps)
        return max(errors[data.state_names.index(name)] for name in states)
