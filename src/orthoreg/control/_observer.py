"""`Observer`: an extended Kalman filter for measured, unmeasured and hidden states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError, quoted
from ..data import Dataset, Schema
from ..field.hybrid import HybridField
from ..simulation import Inputs, run_inputs
from . import _limits as limits
from ._jacobian import jacobian
from ._refusals import vector


@final
class Belief(NamedTuple):
    """The mean and covariance of a state."""

    mean: np.ndarray
    covariance: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class FilteredRuns:
    """Estimated states of runs at all rows, with their standard deviations `std`.

    `innovations` are the differences between measured and predicted values, in standard deviations
    of the prediction, or NaN without a measurement. `log_likelihood` is the log-likelihood of all
    measurements.
    """

    states: Float[np.ndarray, "N n"]
    std: Float[np.ndarray, "N n"]
    innovations: Float[np.ndarray, "N p"]
    log_likelihood: float
    state_names: tuple[str, ...]


@final
@dataclass(frozen=True, eq=False)
class Filter:
    """An extended Kalman filter as pure functions.

    The model is x' = f(x, u) + disturbance, with covariance `disturbance` per time (per step for a
    map), and y = x[measured] + noise, with standard deviations `noise`. Between measurements, the
    mean follows x' = f and the covariance P' = J P + P J' + Q with J = df/dx, by the classical
    Runge-Kutta method. [Jazwinski 1970, section 8.3]
    """

    field: HybridField
    measured: tuple[int, ...]
    noise: Float[np.ndarray, " p"]
    disturbance: Float[np.ndarray, " n"]
    prior: Belief
    discrete: bool = False

    def advance(self, belief: Belief, nodes: Float[np.ndarray, "3 m"], step: float) -> Belief:
        """Return the belief after a step.

        `nodes` are the inputs at the start, middle and end of the step.
        """
        x, P = belief
        if step <= 0:
            return belief
        if self.discrete:
            f, J = self._field(x, nodes[0])
            return Belief(f, _symmetric(J @ P @ J.T + np.diag(self.disturbance)))
        _, J = self._field(x, nodes[0])
        rate = float(np.linalg.norm(J, 2))
        needed = rate * step / limits.RATE_PER_STEP
        count = int(np.clip(np.ceil(needed), 1, limits.MAX_SUBSTEPS)) if rate < np.inf else 1
        h = step / count
        for k in range(count):
            u = [_between(nodes, (k + part) / count) for part in (0.0, 0.5, 1.0)]
            k1 = self._rates(x, P, u[0])
            k2 = self._rates(x + h / 2 * k1[0], P + h / 2 * k1[1], u[1])
            k3 = self._rates(x + h / 2 * k2[0], P + h / 2 * k2[1], u[1])
            k4 = self._rates(x + h * k3[0], P + h * k3[1], u[2])
            x = x + h / 6 * (k1[0] + 2 * k2[0] + 2 * k3[0] + k4[0])
            P = _symmetric(P + h / 6 * (k1[1] + 2 * k2[1] + 2 * k3[1] + k4[1]))
        return Belief(x, P)

    def correct(
        self, belief: Belief, y: Float[np.ndarray, " p"]
    ) -> tuple[Belief, Float[np.ndarray, " p"], float]:
        """Return the belief after a measurement, the normalized innovations, and the
        log-likelihood.

        NaN in `y` denotes a value that was not measured.
        """
        known = np.flatnonzero(np.isfinite(y))
        innovations = np.full(len(y), np.nan)
        if not len(known):
            return belief, innovations, 0.0
        x, P = belief
        H = np.eye(len(x))[[self.measured[i] for i in known]]
        R = np.diag(self.noise[known] ** 2)
        e = y[known] - H @ x
        S = H @ P @ H.T + R
        gain = np.linalg.solve(S, H @ P).T
        left = np.eye(len(x)) - gain @ H
        corrected = Belief(x + gain @ e, _symmetric(left @ P @ left.T + gain @ R @ gain.T))
        innovations[known] = e / np.sqrt(np.diag(S))
        log_determinant = np.linalg.slogdet(2 * np.pi * S)[1]
        return corrected, innovations, float(-(e @ np.linalg.solve(S, e) + log_determinant) / 2)

    def run(
        self, times: Float[np.ndarray, " T"], y: Float[np.ndarray, "T p"], inputs: Inputs | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the means, standard deviations, innovations and log-likelihood of one run."""
        nodes = _input_nodes(times, inputs)
        belief, total = self.prior, 0.0
        means, stds, innovations = [], [], []
        for k in range(len(times)):
            if k:
                belief = self.advance(belief, nodes[k - 1], float(times[k] - times[k - 1]))
            belief, innovation, likelihood = self.correct(belief, y[k])
            total += likelihood
            means.append(belief.mean)
            stds.append(np.sqrt(np.maximum(np.diag(belief.covariance), 0.0)))
            innovations.append(innovation)
        return np.array(means), np.array(stds), np.array(innovations), total

    def _field(
        self, x: Float[np.ndarray, " n"], u: Float[np.ndarray, " m"]
    ) -> tuple[np.ndarray, np.ndarray]:
        z = np.concatenate([x, u])[None]
        return self.field.values(z)[0], jacobian(self.field, z)[0, :, : len(x)]

    def _rates(
        self, x: Float[np.ndarray, " n"], P: Float[np.ndarray, "n n"], u: Float[np.ndarray, " m"]
    ) -> tuple[np.ndarray, np.ndarray]:
        f, J = self._field(x, u)
        product = J @ P
        return f, product + product.T + np.diag(self.disturbance)


def _symmetric(P: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    return (P + P.T) / 2


def _between(nodes: Float[np.ndarray, "3 m"], place: float) -> Float[np.ndarray, " m"]:
    """Return the inputs at a fraction (0 to 1) of a step, on the parabola through its nodes."""
    first, middle, last = nodes
    return (
        first * (2 * place - 1) * (place - 1)
        + middle * 4 * place * (1 - place)
        + last * place * (2 * place - 1)
    )


def _input_nodes(times: Float[np.ndarray, " T"], inputs: Inputs | None) -> np.ndarray:
    """Return the inputs at the start, middle and end of each step.

    If an input jumps at the end of a step, the value before the jump is used.
    """
    if inputs is None:
        return np.zeros((len(times) - 1, 3, 0))
    begin, end = times[:-1], np.nextafter(times[1:], times[:-1])
    nodes = np.stack([begin, (begin + end) / 2, end], axis=1)
    return inputs.at(nodes.reshape(1, -1)).reshape(*nodes.shape, -1)


@final
class Observer:
    """An estimator of the state of a running system, from measurements and a fitted model.

    `x` is the current state. `P` is its covariance, assuming that the constants of the equations
    are exact. `update` processes one measurement. `filter` processes whole runs and does not change
    the current state.
    """

    def __init__(self, kalman: Filter, schema: Schema, interpolation: dict[str, str]):
        self.kalman, self._schema, self._interpolation = kalman, schema, interpolation
        self.state_names = schema.state_names
        self.measured_names = schema.measured_states
        self.x, self.P = kalman.prior
        self._last_input: np.ndarray | None = None
        names = schema.measured_inputs
        self._holds = np.array([interpolation.get(name) == "hold" for name in names], dtype=bool)

    @property
    def std(self) -> Float[np.ndarray, " n"]:
        """The standard deviation of each state."""
        return np.sqrt(np.maximum(np.diag(self.P), 0.0))

    def update(self, y: Any, u: Any = None, dt: float = 0.0) -> Float[np.ndarray, " n"]:
        """Advance by `dt`, process the measurement `y` and the input `u` at the new time, and
        return the state.

        Between updates, the input is assumed to change linearly to `u`, or to keep its last value
        if the model holds it. NaN in `y` denotes a value that was not measured. For a map, `dt` is
        the step of the map.
        """
        inputs = vector(u, self._schema.measured_inputs, "u")
        values = _measurement(y, self.measured_names)
        if not np.isfinite(dt) or dt < 0:
            raise InputError(f"dt must be the time since the last update, at least 0; got {dt!r}.")
        if self._schema.step is not None and dt and abs(dt / self._schema.step - 1) > 1e-6:
            raise InputError(
                f"dt must be 0 or the step of the map, {self._schema.step:g}; got {dt!r}."
            )
        belief = Belief(self.x, self.P)
        first = inputs if self._last_input is None else self._last_input
        last = np.where(self._holds, first, inputs)
        nodes = np.stack([first, (first + last) / 2, last])
        belief = self.kalman.advance(belief, nodes, float(dt))
        self._last_input = inputs
        (self.x, self.P), _, _ = self.kalman.correct(belief, values)
        return self.x

    def filter(self, data: Dataset) -> FilteredRuns:
        """Return the estimates at all rows of these runs. All runs start from the same prior."""
        return filtered(self.kalman, data, self._schema, self._interpolation)


def _measurement(y: Any, names: Sequence[str]) -> Float[np.ndarray, " p"]:
    """Return one value per measured state. Values may be NaN."""
    values = np.atleast_1d(np.asarray(y, dtype=float))
    if values.shape != (len(names),) or np.isinf(values).any():
        raise InputError(
            f"y must be one number for each measured state, {quoted(names)}, with NaN for values "
            f"that were not measured; got {y!r}."
        )
    return values


def filtered(
    kalman: Filter, data: Dataset, schema: Schema, interpolation: dict[str, str]
) -> FilteredRuns:
    """Return the estimates at all rows of runs that have the measured states and inputs of a
    schema.
    """
    known = data.state_names + data.input_names
    missing = [n for n in schema.measured_states + schema.measured_inputs if n not in known]
    if missing:
        raise InputError(
            f"The data need the columns {quoted(missing)} of the model; they have {quoted(known)}."
        )
    columns = [data.state_names.index(name) for name in schema.measured_states]
    y = data.states[:, columns]
    inputs = None
    if schema.measured_inputs:
        order = [data.input_names.index(name) for name in schema.measured_inputs]
        kinds = {name: interpolation.get(name, "linear") for name in data.input_names}
        whole = run_inputs(data, kinds)
        inputs = None if whole is None else whole.columns(order)
    parts = []
    for run, (first, last) in enumerate(zip(data.offsets[:-1], data.offsets[1:], strict=True)):
        rows = slice(int(first), int(last))
        own = None if inputs is None else inputs.only([run])
        parts.append(kalman.run(data.times[rows], y[rows], own))
    means, stds, innovations, totals = zip(*parts, strict=True)
    return FilteredRuns(
        np.concatenate(means), np.concatenate(stds), np.concatenate(innovations),
        float(sum(totals)), schema.state_names,
    )  # fmt: skip


def likely_disturbance(
    kalman: Filter,
    data: Dataset,
    schema: Schema,
    interpolation: dict[str, str],
    size: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Return the disturbance for which the measurements have the highest likelihood.

    Candidates move each state by a share of its `size` over a run. The disturbance of exact
    equations is zero.
    """
    data = data.subsample_rows(limits.TUNING_ROWS)
    spans = data.times[data.offsets[1:] - 1] - data.times[data.offsets[:-1]]
    duration = float(np.median(spans)) if not schema.discrete else float(data.run_lengths.mean())
    exact = [
        schema.state_names.index(name) for name in (*schema.velocity_of, *schema.per_run_names)
    ]
    rate = size**2 / max(duration, 1e-300)
    rate[exact] = 0.0

    def likelihood(shares: Float[np.ndarray, " n"]) -> float:
        changed = replace(kalman, disturbance=shares**2 * rate)
        with np.errstate(all="ignore"):
            total = filtered(changed, data, schema, interpolation).log_likelihood
        return total if np.isfinite(total) else -np.inf

    grid = [np.full(len(size), share) for share in limits.DISTURBANCE_SHARES]
    values = [likelihood(shares) for shares in grid]
    best, highest = grid[int(np.argmax(values))], max(values)
    if not best.any():
        return np.zeros(len(size))
    for i in np.flatnonzero(rate).tolist():  # improve the share of each state separately
        for factor in limits.DISTURBANCE_FACTORS:
            shares = best.copy()
            shares[i] *= factor
            value = likelihood(shares)
            if value > highest:
                best, highest = shares, value
    return best**2 * rate


def prior_of(schema: Schema, known: Float[np.ndarray, "2 n"]) -> Belief:
    """Return the belief before the first measurement.

    The mean of each state is the middle of the training data, and its standard deviation is half
    their range. A constant per run has its distribution over runs.
    """
    mean, std = known.mean(axis=0), np.maximum((known[1] - known[0]) / 2, 1e-300)
    for constant in schema.per_run:
        i = schema.state_names.index(constant.name)
        mean[i] = constant.center
        if np.isfinite(constant.std):
            std[i] = constant.std * (abs(constant.center) if constant.is_log else 1.0)
    return Belief(mean, np.diag(std**2))


def stds_by_name(
    given: Any, names: Sequence[str], what: str, default: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " k"]:
    """Return standard deviations given in order or as a dict by name.

    Names that are not in the dict have the default.
    """
    if isinstance(given, Mapping):
        given = dict(zip(names, default.tolist(), strict=True)) | dict(given)
    values = vector(given, names, what)
    if (values < 0).any():
        raise InputError(f"{what} must contain standard deviations, at least 0; got {given!r}.")
    return values
