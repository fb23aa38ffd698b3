"""`next_experiment`: simulate candidate runs of a fitted model and choose the best for a goal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int

from .. import design
from .._common.errors import InputError, quoted, suggestion
from ..control import MIN_NOISE, refuse_delays, refuse_time, stds_by_name
from ..data import EQUAL_MAP_STEPS, Dataset, as_numbers
from ..matching import MATCH_GROWTH, RunSensitivities, run_sensitivities
from .model import AbstractModel

GOALS = ("constants", "rivals", "coverage")
INPUT_LIMITS = ("range", "bandwidth", "rate")


@final
@dataclass(frozen=True, eq=False)
class Request:
    """The limits and the goal of an experiment, as the user gave them."""

    starts: Mapping[str, Any]
    inputs: Mapping[str, Any]
    runs: int
    horizon: float
    step: float
    goal: str
    rivals: Sequence[Any] = ()
    ranges: Mapping[str, Any] | None = None
    noise: Any = None
    seed: int = 0
    candidates: int = design.CANDIDATES
    rounds: int | None = None  # of variants of the best runs, by default `design.ROUNDS`
    rtol: float = 1e-8  # of simulations


@final
@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidate runs that the model completes within all limits; `kinds` of their signals."""

    times: Float[np.ndarray, " T"]
    starts: Float[np.ndarray, "B n"]
    inputs: Float[np.ndarray, "B T m"] | None
    states: Float[np.ndarray, "B T n"]
    kinds: Int[np.ndarray, " B"]

    def only(self, chosen: Any) -> "_Candidates":
        inputs = None if self.inputs is None else self.inputs[chosen]
        return replace(
            self, starts=self.starts[chosen], inputs=inputs, states=self.states[chosen],
            kinds=self.kinds[chosen],
        )  # fmt: skip


def next_experiment(model: AbstractModel, request: Request) -> design.Experiment:
    """Return the runs that serve the goal best."""
    _check(model, request)
    allowed, texts = _allowed(model, request), ()
    if request.goal == "rivals" and not request.rivals:
        request, texts = _with_open_rivals(model, request, allowed)
    first = allowed.spread_runs(request.seed, request.candidates)
    candidates = _candidates(model, request, allowed.times, first)
    shrinkage: dict[str, float] = {}
    separated = covered = None
    if request.goal == "constants":
        picked, shrinkage = _for_constants(model, request, allowed, candidates)
    elif request.goal == "rivals":
        chosen, candidates, separated = _for_rivals(model, candidates, request)
        picked = candidates.only(chosen)
    else:
        value = design.spread_of(*_scaled_rows(model, candidates))
        chosen = design.choose(request.runs, len(candidates.starts), value)
        picked, covered = candidates.only(chosen), value(chosen) / request.runs
    return design.Experiment(
        goal=request.goal,
        times=picked.times,
        starts=picked.starts,
        inputs=picked.inputs,
        predicted=picked.states,
        outside=_outside(model, picked),
        state_names=model.state_names_,
        input_names=model.schema_.measured_inputs,
        expected_shrinkage=shrinkage,
        separation=separated,
        rivals=texts,
        coverage=covered,
        time_name=model.schema_.time_name,
        signals=tuple(design.KINDS[k] for k in picked.kinds) if picked.inputs is not None else (),
        units=model.units_,
    )


def _with_open_rivals(
    model: AbstractModel, request: Request, allowed: design.RunLimits
) -> tuple[Request, tuple[str, ...]]:
    """Return the request with the rivals that the fit left open, and their descriptions."""
    from .rivals import open_rivals

    ends = [[band.low for band in allowed.bands], [band.high for band in allowed.bands]]
    rivals = open_rivals(model, np.array(ends).reshape(2, -1))
    if not rivals:
        raise InputError(
            "The fit left no alternative terms open. To separate the model from other models of "
            "the same data, give them with rivals=...."
        )
    models = [rival.model for rival in rivals]
    return replace(request, rivals=models), tuple(rival.text for rival in rivals)


def _check(model: AbstractModel, request: Request) -> None:
    who, schema = "next_experiment()", model.schema_
    refuse_delays(schema, who)
    refuse_time(schema, who)
    if schema.per_run:
        raise InputError(
            f"{who} needs constants that all runs share, but the model has constants per run."
        )
    if request.goal not in GOALS:
        raise InputError(
            f"goal must be one of {quoted(GOALS)}; got {request.goal!r}."
            f"{suggestion(str(request.goal), GOALS)}"
        )
    if not isinstance(request.runs, int) or request.runs < 1:
        raise InputError(f"runs must be a whole number of at least 1; got {request.runs!r}.")
    if not 0 < request.step < request.horizon < np.inf:
        raise InputError(
            f"step must be positive and smaller than horizon; got step={request.step!r} and "
            f"horizon={request.horizon!r}."
        )
    if schema.step is not None and abs(request.step / schema.step - 1) > EQUAL_MAP_STEPS:
        raise InputError(
            f"step must be {schema.step:g}, the step of the map; got {request.step!r}."
        )
    if request.horizon / request.step > design.MAX_ROWS:
        raise InputError(
            f"A run may have at most {design.MAX_ROWS} rows; horizon={request.horizon:g} and "
            f"step={request.step:g} give {request.horizon / request.step:.0f}. Increase step."
        )
    for name in request.inputs:
        _check_name(name, schema.measured_inputs, "inputs")
    missing = [name for name in schema.measured_inputs if name not in request.inputs]
    if missing:
        raise InputError(f"inputs needs a range for each of {quoted(missing)}, such as (-1, 1).")


def _ranges(
    given: Mapping[str, Any], names: Sequence[str], what: str
) -> dict[str, tuple[float, float]]:
    """Return checked ranges by name."""
    result = {}
    for name, ends in given.items():
        _check_name(name, names, what)
        problem = InputError(
            f"{what}['{name}'] must be a lowest and a highest value, such as (-1, 1); got {ends!r}."
        )
        result[name] = _ends(ends, problem)
    return result


def _check_name(name: str, names: Sequence[str], what: str) -> None:
    if name not in names:
        raise InputError(
            f"{what} has '{name}', which is not one of {quoted(names)}.{suggestion(name, names)}"
            if names
            else f"{what} has '{name}', but the model has no {what}."
        )


def _band(name: str, given: Any, horizon: float, step: float) -> design.Band:
    """Return the limits of an input. Frequencies have at least four rows per period."""
    problem = InputError(
        f"inputs['{name}'] must be a lowest and a highest value, such as (-1, 1), optionally with "
        f"a bandwidth and a rate: {{'range': (-1, 1), 'bandwidth': 0.5, 'rate': 2}}; got {given!r}."
    )
    if not isinstance(given, Mapping):
        ends = np.atleast_1d(as_numbers(given, f"inputs['{name}']"))
        given = {"range": ends[:2], **({"bandwidth": ends[2]} if ends.shape == (3,) else {})}
        if ends.shape not in ((1,), (2,), (3,)):
            raise problem
    unknown = [key for key in given if key not in INPUT_LIMITS]
    if unknown:
        raise InputError(
            f"inputs['{name}'] has '{unknown[0]}', which is not one of {quoted(INPUT_LIMITS)}."
            f"{suggestion(str(unknown[0]), INPUT_LIMITS)}"
        )
    if "range" not in given:
        raise problem
    limits = {"bandwidth": design.CYCLES / horizon, "rate": np.inf}
    limits |= {key: value for key, value in given.items() if key != "range"}
    low, high = _ends(given["range"], problem)
    for key in ("bandwidth", "rate"):
        value = as_numbers(limits[key], f"{key} of inputs['{name}']")
        if value.shape != () or not value > 0:
            raise InputError(f"The {key} of inputs['{name}'] must be a positive number.")
        limits[key] = float(value)
    return design.Band(low, high, min(limits["bandwidth"], 0.25 / step), limits["rate"])


def _ends(given: Any, problem: InputError) -> tuple[float, float]:
    """Return a lowest and a highest value; both are equal if there is only one."""
    try:
        ends = np.atleast_1d(as_numbers(given, "a range"))
    except InputError:
        raise problem from None
    if ends.shape == (1,):
        ends = np.repeat(ends, 2)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise problem
    return float(ends[0]), float(ends[1])


def _allowed(model: AbstractModel, request: Request) -> design.RunLimits:
    """Return the limits of runs.

    Without a range, a state starts at the middle of its training data, and a velocity at zero.
    """
    names, schema = model.state_names_, model.schema_
    low, high = model.state_range_.mean(axis=0), model.state_range_.mean(axis=0)
    for velocity in schema.velocity_of.values():
        low[names.index(velocity)] = high[names.index(velocity)] = 0.0
    for name, pair in _ranges(request.starts, names, "starts").items():
        low[names.index(name)], high[names.index(name)] = pair
    times = np.arange(int(round(request.horizon / request.step)) + 1) * request.step
    bands = [
        _band(name, request.inputs[name], request.horizon, request.step)
        for name in schema.measured_inputs
    ]
    return design.RunLimits(times, low, high, bands)


def _candidates(
    model: AbstractModel,
    request: Request,
    times: Float[np.ndarray, " T"],
    planned: design.PlannedRuns,
) -> _Candidates:
    """Return the planned runs that complete and stay within the allowed ranges of states.

    If the model has a residual and the goal is not coverage, they also stay within the training
    data.
    """
    names, starts, inputs = model.state_names_, planned.starts, planned.inputs
    with np.errstate(all="ignore"):
        rollout = model.simulate(starts, times, inputs, rtol=request.rtol)
    states = np.asarray(rollout.x)
    fine = np.asarray(np.isfinite(states).all(axis=(1, 2)))
    for name, pair in _ranges(request.ranges or {}, names, "ranges").items():
        column = states[:, :, names.index(name)]
        fine &= ((column >= pair[0]) & (column <= pair[1])).all(axis=1)
    result = _Candidates(times, starts, inputs, states, planned.kinds)
    if model.field_.has_residual and request.goal != "coverage" and fine.any():
        inside = ~_outside(model, result.only(fine)).any(axis=1)
        if inside.any():
            fine[np.flatnonzero(fine)[~inside]] = False
    if not fine.any():
        raise InputError(
            "No candidate run stays within the allowed ranges of states. Widen ranges=..., choose "
            "other starts=... or inputs=..., or shorten horizon=...."
        )
    return result.only(fine)


def _outside(model: AbstractModel, candidates: _Candidates) -> np.ndarray:
    """Return a mask of the rows outside the training data."""
    z = candidates.states
    if candidates.inputs is not None:
        z = np.concatenate([z, candidates.inputs], axis=2)
    if model.field_.region is not None:
        distance = model.field_.region.distance(np.ascontiguousarray(z.reshape(-1, z.shape[2])))
        return (distance > 1).reshape(z.shape[:2])
    low, high = model.state_range_
    return ((candidates.states < low) | (candidates.states > high)).any(axis=2)


def _dataset(model: AbstractModel, candidates: _Candidates) -> Dataset:
    """Return the candidates as runs with the columns of the model, as if all states were known."""
    schema, inputs = model.schema_, candidates.inputs
    data = Dataset.from_arrays(
        list(candidates.states), candidates.times, None if inputs is None else list(inputs),
        list(schema.state_names), input_names=list(schema.measured_inputs) or None,
        discrete=schema.discrete,
    )  # fmt: skip
    return replace(data, schema=replace(data.schema, velocity_of=schema.velocity_of))


def _noise(model: AbstractModel, noise: Any) -> Float[np.ndarray, " n"]:
    """Return the noise standard deviation of each state, infinite for unmeasured states."""
    names = model.schema_.measured_states
    default = model._noise_of(None)
    if noise is None and default is None:
        raise InputError(
            f"next_experiment() needs the noise of {quoted(names)}, which this fit did not "
            f"estimate. Give its standard deviations with noise=...."
        )
    default = np.zeros(len(names)) if default is None else default
    stds = stds_by_name(default if noise is None else noise, names, "noise", default)
    measured = [model.state_names_.index(name) for name in names]
    floor = MIN_NOISE * np.ptp(model.state_range_, axis=0)[measured]
    sigma = np.full(len(model.state_names_), np.inf)
    sigma[measured] = np.maximum(stds, np.maximum(floor, 1e-300))
    return sigma


def _sensitivities(model: AbstractModel, candidates: _Candidates, noise: Any) -> RunSensitivities:
    data, kinds = _dataset(model, candidates), model.input_interpolation_
    return run_sensitivities(model.field_, data, kinds, _noise(model, noise), model.knowledge())


def _covariance(model: AbstractModel, runs: RunSensitivities) -> Float[np.ndarray, "P P"]:
    """Return the covariance of the free constants."""
    estimates = model.fit_.estimates
    if estimates is None:
        raise InputError(
            "next_experiment() needs intervals of the constants, but this fit has none. Fit noisy "
            "runs with a selection of terms, or call refine()."
        )
    index = {place: i for i, place in enumerate(estimates.places)}
    index |= {name: len(estimates.places) + i for i, name in enumerate(estimates.parameters)}
    every = [*runs.places, *runs.parameters]
    free = [*runs.constants.lead.tolist(), *range(len(runs.places), len(every))]
    chosen = [index.get(every[i]) for i in free]
    covariance = np.zeros((len(free), len(free)))
    for i, a in enumerate(chosen):
        for j, b in enumerate(chosen):
            if a is not None and b is not None:
                covariance[i, j] = estimates.covariance[a, b]
    values = [0.0 if a is None else estimates.values[a] for a in chosen]
    return covariance + np.diag(design.MIN_VARIANCE * np.square(values))


def _for_constants(
    model: AbstractModel, request: Request, allowed: design.RunLimits, candidates: _Candidates
) -> tuple[_Candidates, dict[str, float]]:
    """Return the runs with the narrowest expected intervals, and the widths relative to now.

    The criterion is the geometric mean of the widths. Variants of the best runs are tried in
    rounds.
    """
    picked, widths = _narrowest(model, request, candidates)
    for i in range(design.ROUNDS if request.rounds is None else request.rounds):
        planned = design.PlannedRuns(picked.starts, picked.inputs, picked.kinds)
        planned = allowed.with_variants(planned, (request.seed, i))
        pool = _candidates(model, request, allowed.times, planned)
        other, narrower = _narrowest(model, request, pool)
        if sum(np.log([*narrower.values()])) < sum(np.log([*widths.values()])):
            picked, widths = other, narrower
    return picked, widths


def _narrowest(
    model: AbstractModel, request: Request, candidates: _Candidates
) -> tuple[_Candidates, dict[str, float]]:
    """Return the best of these runs, and the expected widths of intervals.

    Runs in which errors of the start grow more than a match allows are not considered, unless there
    are no others.
    """
    runs = _sensitivities(model, candidates, request.noise)
    usable = np.flatnonzero(runs.growth <= max(MATCH_GROWTH, runs.growth.min()))
    before, M = _covariance(model, runs), design.information(runs)[usable]
    names, directions = _reported(model, runs, before)
    widths = design.interval_widths(before, M, directions)
    chosen = design.choose(
        request.runs, len(usable), lambda some: -float(np.log(widths(some)).sum())
    )
    return candidates.only(usable[chosen]), dict(zip(names, widths(chosen).tolist(), strict=True))


def _reported(
    model: AbstractModel, runs: RunSensitivities, covariance: Float[np.ndarray, "P P"]
) -> tuple[list[str], Float[np.ndarray, "K P"]]:
    """Return the names of estimates with an interval, and their derivatives by free constants."""
    estimates = model.fit_.estimates
    assert estimates is not None
    J = runs.free_by_estimate
    order = {place: i for i, place in enumerate([*runs.places, *runs.parameters])}
    at = [order.get(key) for key in [*estimates.places, *estimates.parameters]]
    names, directions = [], np.zeros((0, len(covariance)))
    for name, gradient in model._gradients(estimates):
        direction = np.zeros(len(J))
        for value, i in zip(gradient, at, strict=True):
            if i is not None:
                direction[i] = value
        direction = direction @ J
        if direction @ covariance @ direction > 0:
            names.append(name)
            directions = np.vstack([directions, direction])
    return names, directions


def _for_rivals(
    model: AbstractModel, candidates: _Candidates, request: Request
) -> tuple[list[int], _Candidates, float]:
    """Return the runs that best separate the model from its nearest rival."""
    fine = np.ones(len(candidates.starts), dtype=bool)
    predictions = []
    for rival in request.rivals:
        if not isinstance(rival, AbstractModel) or rival.state_names_ != model.state_names_:
            raise InputError(
                f"rivals must be fitted models with the states {quoted(model.state_names_)}."
            )
        with np.errstate(all="ignore"):
            rollout = rival.simulate(
                candidates.starts, candidates.times, candidates.inputs, rtol=request.rtol
            )
        x = np.asarray(rollout.x)
        predictions.append(x)
        fine &= np.isfinite(x).all(axis=(1, 2))
    if not fine.any():
        raise InputError("No candidate run is completed by all rivals. Shorten horizon=....")
    candidates = candidates.only(fine)
    own = _sensitivities(model, candidates, request.noise)
    noise = request.noise if request.noise is not None else model._noise_of(None)
    pairs = []
    for rival, x in zip(request.rivals, predictions, strict=True):
        other = _sensitivities(rival, replace(candidates, states=x[fine]), noise)
        covariances = _covariance(model, own), _covariance(rival, other)
        pairs.append(design.rivalry(own, other, covariances))

    def value(chosen: list[int]) -> float:
        return min(design.separation(pair, chosen) for pair in pairs)

    chosen = design.choose(request.runs, len(candidates.starts), value)
    return chosen, candidates, value(chosen)


def _scaled_rows(model: AbstractModel, candidates: _Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and the points of the known data.

    Both are in units of the gate's distance, or of half the range of the data.
    """
    z = candidates.states
    if candidates.inputs is not None:
        z = np.concatenate([z, candidates.inputs], axis=2)
    region = model.field_.region
    if region is not None:
        return z * np.asarray(region.rate), np.asarray(region.landmarks)
    low, high = model.state_range_
    half = np.where(high > low, (high - low) / 2, 1.0)
    states = (candidates.states - (low + high) / 2) / half
    return states, np.zeros((1, states.shape[2]))
