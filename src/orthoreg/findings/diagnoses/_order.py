"""Detect unmeasured states by testing equations of higher order on held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from ...data import Dataset, folds
from ...fitting import OrderGain, OrderTrials, Recipe
from ...terms import AbstractLibrary
from .. import _limits as limits
from .._findings import Advice
from .._held_out import held_out_errors
from .._observations import Determination, Observations
from .._words import listed, percent, rates


@final
@dataclass(frozen=True, eq=False)
class HigherOrder:
    """Equations whose derivatives the columns do not determine.

    `labels` belong to all equations, and `trials` are the trials of higher orders of the measured
    states.
    """

    equations: tuple[int, ...]
    labels: tuple[str, ...]
    data: Dataset
    trials: OrderTrials

    def advice(self, above: int) -> tuple[float, Advice] | None:
        """Return the share of the forecast error that remains if the order is raised by `above`,
        and advice.

        Return None if this order does not help.
        """
        gain = self.trials.gain(self.data.schema.order + above)
        if gain is None:
            return None
        labels = [self.labels[c] for c in self.equations]
        unit = self.data.units.get(self.data.time_name, "time units")
        return gain.after / gain.before, _advice(labels, gain, unit)

    @property
    def failure(self) -> str:
        """A sentence on the orders that were tried without success, or ''."""
        if not self.trials.failed:
            return ""
        orders = listed([str(order) for order in self.trials.failed])
        return f"Equations of order {orders} in the measured states do not help."


def higher_order(
    seen: Observations, recipe: Recipe, failing: Sequence[int], first: Determination | None
) -> HigherOrder | None:
    """Return trials of higher orders for those of the `failing` equations that the columns do not
    determine.

    Return None if there are none.

    Neighbouring rows show whether a derivative is a function of the columns (`first`). Rows often
    have no neighbours if there are many columns. A derivative then counts as undetermined if the
    library leaves most of it unexplained.
    """
    motion = seen.motion
    if motion is None or motion.data.derivatives is not None or motion.data.hidden or not failing:
        return None
    if first is not None and first.enough:
        share = first.share
        is_free = first.certain_share > undetermined_limit(seen)
    else:
        share = _rate_share(seen, recipe.library)
        is_free = np.zeros(len(share), dtype=bool)
    is_free = is_free | (share > limits.FREE_RATE_SHARE)
    free = tuple(c for c in failing if is_free[c])
    if not free:
        return None
    data = motion.data
    ordered = sorted(free, key=lambda c: -share[c])
    measured = [data.schema.derivative_of.get(c, (c, 0))[0] for c in ordered]
    names = tuple(dict.fromkeys(data.state_names[c] for c in measured))
    return HigherOrder(free, seen.labels, data, OrderTrials(recipe, data, names))


def _advice(labels: Sequence[str], gain: OrderGain, time_unit: str) -> Advice:
    """Return advice to raise the order of some states, with the resulting reduction of the
    error.
    """
    many, order = len(gain.states) > 1, gain.order
    role = "positions, whose velocities" if many else "a position, whose velocity"
    option = f" --order {order}" if order > 2 else ""
    call = f"positions={list(gain.states)}" + (f", order={order}" if order > 2 else "")
    return Advice(
        "second-order" if order == 2 else "missing-variable",
        f"{rates(labels)} {'is' if len(labels) == 1 else 'are'} not a function of the given "
        f"columns. With equations of order {order} in {listed(gain.states)}, forecasts of held-out "
        f"rows over {gain.time:.3g} {time_unit} are off by {percent(gain.after)} instead of "
        f"{percent(gain.before)}. Give {listed(gain.states)} as {role} need not be measured: "
        f"--positions {','.join(gain.states)}{option} on the command line, Dataset.from_positions "
        f"or read_table({call}) in Python.",
    )


def undetermined_limit(seen: Observations) -> float:
    """Return the share of a derivative that noise may make appear undetermined by the columns."""
    level = float(seen.noise_level.max(initial=0.0))
    return max(limits.UNDETERMINED_SHARE, limits.MISSING_VARIABLE_NOISE_FACTOR * level)


def _rate_share(seen: Observations, library: AbstractLibrary) -> Float[np.ndarray, " c"]:
    """Return the share of each derivative that the library does not explain on held-out rows.

    Noise is subtracted. The share is NaN if there are too few rows for the library, or if terms are
    not finite.
    """
    samples = seen.samples
    targets = samples.targets
    unknown = np.full(targets.shape[1], np.nan)
    if len(targets) < limits.MIN_ROWS_PER_TERM * len(library.terms(samples.names)):
        return unknown
    terms = seen.bind(library, samples.names, samples.outputs, samples.given)(samples.variables)
    if not np.isfinite(terms).all():
        return unknown
    size = np.mean(targets**2, axis=0)
    error = held_out_errors(terms, targets, folds(samples, limits.FOLDS)) ** 2 * size
    variance = np.maximum(targets.var(axis=0), 1e-300)
    return np.maximum(error - limits.NOISE_MARGIN**2 * seen.noise, 0.0) / variance
