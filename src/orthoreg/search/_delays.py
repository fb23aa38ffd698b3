"""Estimate delays from trajectories, by the likelihood of the same equations with other delays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..data import Dataset, Delay
from ..field.hybrid import HybridField
from ..matching import Uncertainty
from ..matching import _limits as limits
from ..physics import Knowledge
from ..simulation import with_delays
from ._trials import Trial, TrialMatcher


@final
class DelayTrial(NamedTuple):
    """Equations matched with given delays, and their negative log likelihood in nats."""

    values: Float[np.ndarray, " d"]
    field: HybridField
    cost: float
    trial: Trial


@final
@dataclass(frozen=True, eq=False)
class DelayEstimate:
    """Delays by name with their covariance, and the derivatives of the other constants by
    delays.

    `coefficient_slopes` and `parameter_slopes` are the derivatives of the matched coefficients and
    inner parameters with respect to the delays.
    """

    names: tuple[str, ...]
    values: Float[np.ndarray, " d"]
    covariance: Float[np.ndarray, "d d"]
    bounds: Float[np.ndarray, "d 2"]
    coefficient_slopes: Float[np.ndarray, "c K d"]
    parameter_slopes: Mapping[str, Float[np.ndarray, " d"]]

    def joined(self, others: Uncertainty) -> Uncertainty:
        """Return the joint uncertainty of the constants and the delays.

        The errors of the constants are those with known delays, plus those that result from the
        errors of the delays.
        """
        slopes = [self.coefficient_slopes[place] for place in others.places]
        nothing = np.zeros(len(self.names))
        slopes += [self.parameter_slopes.get(name, nothing) for name in others.parameters]
        D = np.array(slopes).reshape(len(others.values), len(self.names))
        cross = D @ self.covariance
        undetermined = others.undetermined
        if undetermined is not None:  # the delays do not change along these directions
            undetermined = np.vstack(
                [undetermined, np.zeros((len(nothing), undetermined.shape[1]))]
            )
        return replace(
            others,
            undetermined=undetermined,
            parameters=(*others.parameters, *self.names),
            values=np.append(others.values, self.values),
            covariance=np.block([
                [others.covariance + cross @ D.T, cross],
                [cross.T, self.covariance],
            ]),
            bounds=np.concatenate([others.bounds, self.bounds]),
            stretch=np.concatenate([others.stretch, np.ones((len(self.names), 2))]),
        )  # fmt: skip


@final
@dataclass(frozen=True, eq=False)
class DelayProfile:
    """The likelihood of equations as a function of the delays in `names`, within `bounds`.

    `data` has no delayed columns; `delays` lists those to add. All delays are compared on the same
    rows: those with a history of `longest`, or of the longest delay within the bounds.
    """

    data: Dataset
    delays: tuple[Delay, ...]
    names: tuple[str, ...]
    bounds: Float[np.ndarray, "d 2"]
    longest: float
    interpolation: Mapping[str, str]
    parameter_bounds: Mapping[str, tuple[float, float]]
    known: Knowledge

    def with_values(self, values: Sequence[float] | Float[np.ndarray, " d"]) -> tuple[Delay, ...]:
        """Return the delays with these values."""
        return delays_with(self.delays, dict(zip(self.names, map(float, values), strict=True)))

    def values_of(self, delays: Sequence[Delay]) -> Float[np.ndarray, " d"]:
        """Return the values of the delays in `names`."""
        values = {delay.delay: delay.value for delay in delays}
        return np.array([values[name] for name in self.names], dtype=float)

    def trial(
        self,
        field: HybridField,
        values: Float[np.ndarray, " d"],
        like: Trial | None = None,
        max_stages: int = 99,
    ) -> DelayTrial | None:
        """Return the equations matched to segments, or None if trajectories do not follow the data.

        The segments are the longest that the equations follow in `max_stages` stages or, if `like`
        is given, as long as in that trial.
        """
        longest = float(self.bounds[:, 1].max(initial=self.longest))
        data = with_delays(self.data, self.with_values(values), longest)
        data = data.subsample_rows(limits.SEARCH_ROWS)
        matcher = TrialMatcher(field, data, self.interpolation, self.parameter_bounds, self.known)
        trial = matcher.longest_match(like, max_stages)
        if trial is None:
            return None
        return DelayTrial(np.array(values), trial.field, matcher.cost(trial), trial)

    def best(self, start: DelayTrial, widths: Float[np.ndarray, " d"]) -> DelayTrial:
        """Return the most likely delays within `widths` of a trial.

        Delays are varied one after the other.
        """
        from scipy.optimize import minimize_scalar

        best = start
        for _ in range(1 if len(self.names) == 1 else limits.DELAY_SWEEPS):
            for i in range(len(self.names)):
                low = max(self.bounds[i, 0], best.values[i] - widths[i])
                high = min(self.bounds[i, 1], best.values[i] + widths[i])
                if not low < high:
                    continue
                trials = [best]

                def cost(value: float, i: int = i, trials: list[DelayTrial] = trials) -> float:
                    nearest = min(trials, key=lambda trial: abs(trial.values[i] - value))
                    values = nearest.values.copy()
                    values[i] = value
                    trial = self.trial(nearest.field, values, start.trial)
                    if trial is None:
                        return np.inf
                    trials.append(trial)
                    return trial.cost

                minimize_scalar(
                    cost, bounds=(low, high), method="bounded",
                    options={
                        "xatol": limits.DELAY_TOLERANCE * widths[i],
                        "maxiter": limits.DELAY_EVALUATIONS,
                    },
                )  # fmt: skip
                best = min(trials, key=lambda trial: trial.cost)
            widths = widths / 2
        return best

    def estimate(
        self, best: DelayTrial, steps: Float[np.ndarray, " d"]
    ) -> tuple[DelayTrial, DelayEstimate | None]:
        """Return the most likely delays near a trial, with their covariance.

        The covariance is that of the quadratic through trials about one standard error away.
        """
        d = len(self.names)
        steps = np.minimum(steps, np.diff(self.bounds, axis=1)[:, 0] / 4)
        for _ in range(limits.DELAY_STEP_ROUNDS):
            pairs = [self._pair(best, i, steps) for i in range(d)]
            if any(trial is None for pair in pairs for trial in pair):
                steps = steps / 4
                continue
            sides = [[trial for trial in pair if trial is not None] for pair in pairs]
            better = min((t for pair in sides for t in pair), key=lambda t: t.cost)
            if better.cost < best.cost - limits.DELAY_COST_ACCURACY:
                best = better
                continue
            rises = np.array([
                max((pair[0].cost + pair[1].cost) / 2 - best.cost, limits.DELAY_COST_ACCURACY)
                for pair in sides
            ])  # fmt: skip
            if ((rises > limits.MIN_DELAY_RISE) & (rises < limits.MAX_DELAY_RISE)).all():
                return best, self._quadratic(best, sides, steps)
            steps = steps * np.clip(np.sqrt(limits.DELAY_RISE / rises), 0.05, 8.0)
            steps = np.minimum(steps, np.diff(self.bounds, axis=1)[:, 0] / 4)
        return best, None

    def _pair(
        self, best: DelayTrial, i: int, steps: Float[np.ndarray, " d"]
    ) -> list[DelayTrial | None]:
        """Return the trials on both sides of a delay, moved inside the bounds."""
        low, high = self.bounds[i]
        center = np.clip(best.values[i], low + steps[i], max(high - steps[i], low + steps[i]))
        result = []
        for sign in (-1.0, 1.0):
            values = best.values.copy()
            values[i] = center + sign * steps[i]
            result.append(self.trial(best.field, values, best.trial))
        return result

    def _quadratic(
        self, best: DelayTrial, sides: list[list[DelayTrial]], steps: Float[np.ndarray, " d"]
    ) -> DelayEstimate | None:
        d = len(self.names)
        gradient, hessian = np.zeros(d), np.zeros((d, d))
        for i, (below, above) in enumerate(sides):
            a, b = below.values[i] - best.values[i], above.values[i] - best.values[i]
            rise_a, rise_b = below.cost - best.cost, above.cost - best.cost
            if a == 0 or b == 0:  # at a bound, a one-sided parabola has its minimum there
                step, rise = (b, rise_b) if a == 0 else (a, rise_a)
                hessian[i, i] = 2 * max(rise, limits.DELAY_COST_ACCURACY) / step**2
                continue
            hessian[i, i] = 2 * (rise_a / a - rise_b / b) / (a - b)
            gradient[i] = (rise_b * a / b - rise_a * b / a) / (a - b)
        for i in range(d):
            for j in range(i):
                values = best.values.copy()
                values[[i, j]] += steps[[i, j]]
                corner = self.trial(best.field, values, best.trial)
                if corner is None:
                    return None
                rise = (
                    corner.cost
                    - best.cost
                    - sum(
                        gradient[k] * steps[k] + hessian[k, k] * steps[k] ** 2 / 2 for k in (i, j)
                    )
                )
                hessian[i, j] = hessian[j, i] = rise / (steps[i] * steps[j])
        if (np.linalg.eigvalsh(hessian) <= 0).any():
            return None
        covariance = np.linalg.inv(hessian)
        move = -covariance @ gradient
        reach = np.sqrt(np.diag(covariance))
        values = best.values + np.clip(move, -2 * reach, 2 * reach)
        coefficients = np.stack([
            (np.asarray(above.field.coefficients) - np.asarray(below.field.coefficients))
            / (above.values[i] - below.values[i])
            for i, (below, above) in enumerate(sides)
        ], axis=-1)  # fmt: skip
        parameters = {
            name: np.array([
                (_parameter(above.field, k) - _parameter(below.field, k))
                / (above.values[i] - below.values[i])
                for i, (below, above) in enumerate(sides)
            ])
            for k, name in enumerate(best.field.features.parameters)
        }  # fmt: skip
        values = np.clip(values, self.bounds[:, 0], self.bounds[:, 1])
        return DelayEstimate(self.names, values, covariance, self.bounds, coefficients, parameters)


def _parameter(field: HybridField, index: int) -> float:
    values = field.features.values if field.parameters is None else field.parameters
    return float(np.asarray(values)[index])


def delays_with(delays: Sequence[Delay], values: Mapping[str, float]) -> tuple[Delay, ...]:
    """Return the delays with the new values in `values`."""
    return tuple(
        replace(delay, value=float(values.get(delay.delay, delay.value))) for delay in delays
    )
