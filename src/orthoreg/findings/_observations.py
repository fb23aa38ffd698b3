"""Rows on which verdict and advice are based, and the share of a derivative that their columns
determine.

`determination` measures how much of a derivative any smooth function of the columns explains. A row
is predicted by the plane through its nearest rows in other runs, or at other times if there are few
runs. Only rows with such neighbours count: a run that never returns to an earlier state does not
show whether its columns determine its motion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset, Rows, spaced
from ..export import equation_names
from ..terms import AbstractLibrary, FeatureMap, bind
from . import _limits as limits
from ._motion import Motion


@final
@dataclass(frozen=True, eq=False)
class Determination:
    """The share of each target's variance that no function of the columns explains.

    `share` is measured on the rows `covered` by neighbours, after subtracting noise. `enough` is
    true if these rows suffice for a statement. The plane through neighbours misses the curvature of
    a function, but less so the closer the neighbours are, while a missing variable matters at any
    distance. `certain_share` is therefore the smaller of the shares on all these rows and on the
    rows with the closest neighbours.
    """

    share: Float[np.ndarray, " c"]
    certain_share: Float[np.ndarray, " c"]
    covered: Bool[np.ndarray, " N"]

    @property
    def enough(self) -> bool:
        return bool(
            self.covered.sum() >= limits.MIN_COVERED_ROWS
            and self.covered.mean() >= limits.MIN_COVERED_SHARE
        )


@final
@dataclass(frozen=True, eq=False)
class Observations:
    """Variables and derivatives at some rows, with variances of their noise.

    `noise` is the mean squared error that noise in the variables causes in any prediction of a
    derivative. `motion` and `inner`, a mask of the rows away from the ends of a run, are None
    without runs in time. `labels` are the left sides of the equations, such as theta' for a
    second-order equation. `constants` are the model's constants inside terms. `map_data` are the
    runs of a map.
    """

    samples: Rows
    noise: Float[np.ndarray, " c"]
    motion: Motion | None = None
    inner: Bool[np.ndarray, " N"] | None = None
    labels: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)
    map_data: Dataset | None = None

    def bind(
        self,
        library: AbstractLibrary,
        names: Sequence[str],
        outputs: Sequence[str],
        given: Mapping[int, int] | None = None,
    ) -> FeatureMap:
        """Return the terms of a library for these columns, with the model's constants inserted."""
        features = bind(library, names, outputs, given)
        return features.with_values(self.constants[name] for name in features.parameters)

    @property
    def size(self) -> Float[np.ndarray, " c"]:
        """The mean square of each derivative."""
        return np.mean(self.samples.targets**2, axis=0)

    @property
    def data(self) -> Dataset | None:
        """The runs in time, or None for states and derivatives without times."""
        return self.map_data if self.motion is None else self.motion.data

    @property
    def noise_level(self) -> Float[np.ndarray, " n"]:
        """The noise of each state in standard deviations of the state; zero if it is unknown."""
        if self.motion is not None:
            return self.motion.noise_level
        if self.map_data is None:
            return np.zeros(1)
        return self.map_data.plan.noise / np.maximum(self.map_data.states.std(axis=0), 1e-300)

    def first_order(self) -> Determination | None:
        """Return how far the variables determine the derivatives, or None without runs in time."""
        samples = self.samples
        if self.map_data is not None:
            return determination(
                samples.variables, samples.targets, samples.run_of_row, apart=1,
                point_noise=_map_noise(self.map_data), noise=self.noise,
            )  # fmt: skip
        if self.motion is None or self.inner is None:
            return None
        rows = self.inner
        result = determination(
            samples.variables[rows],
            samples.targets[rows],
            np.unique(samples.run_of_row[rows], return_inverse=True)[1],
            apart=self._apart(),
            point_noise=_point_noise(samples, self.motion),
            noise=self.noise,
        )
        covered = np.zeros(len(samples.variables), dtype=bool)
        covered[rows] = result.covered
        return replace(result, covered=covered)

    def _apart(self) -> int:
        """Return a quarter of the shortest period in rows, at most a quarter of the longest run."""
        assert self.motion is not None
        longest = float(self.motion.data.run_lengths.max())
        period = min(float(np.min(self.motion.period)), longest)
        thinned = len(self.samples.targets) / len(self.motion.slopes)
        return int(np.ceil(period / 4 * thinned))


def of_motion(motion: Motion) -> Observations:
    """Return the observations of runs in time, without rows that were filled in."""
    data = motion.data
    filled = np.zeros_like(data.states, dtype=bool) if data.filled is None else data.filled
    kept = np.flatnonzero(~filled.any(axis=1))
    rows = kept[spaced(len(kept), limits.MAX_ROWS_OBSERVED)]
    samples = Rows(
        data.variables[rows],
        motion.slopes[rows],
        np.unique(motion.run[rows], return_inverse=True)[1],
        motion.slope_noise,
        data.variable_names,
        data.state_names,
        data.times[rows],
    ).with_given(data.given_rates)
    noise = motion.slope_noise + _blur(
        samples.variables, samples.targets, _point_noise(samples, motion)
    )
    return Observations(
        samples, noise, motion, motion.inner[rows],
        equation_names(data.state_names, data.velocity_of),
    )  # fmt: skip


def of_map(data: Dataset) -> Observations:
    """Return the observations of a map: next states, with the noise of both rows."""
    every = data.rows_with_next()
    rows = every[spaced(len(every), limits.MAX_ROWS_OBSERVED)]
    samples = Rows(
        data.variables[rows],
        data.states[rows + 1],
        np.unique(data.run_of_row[rows], return_inverse=True)[1],
        np.zeros(data.n_states),
        data.variable_names,
        data.state_names,
        data.times[rows],
    )
    labels = equation_names(data.state_names, {}, discrete=True)
    noise = data.plan.map_noise.prediction**2
    return Observations(samples, noise, labels=labels, map_data=data)


def _map_noise(data: Dataset) -> Float[np.ndarray, " V"]:
    """Return the noise standard deviation of each variable of a map. Inputs count as exact."""
    return np.concatenate([data.plan.noise, np.zeros(len(data.input_names))])


def of_samples(samples: Rows) -> Observations:
    """Return the observations of states and derivatives without times."""
    rows = spaced(len(samples.targets), limits.MAX_ROWS_OBSERVED)
    if len(rows) < len(samples.targets):
        samples = replace(samples.at(rows), times=None)
    return Observations(samples, np.array(samples.target_mse), labels=samples.outputs)


def _point_noise(samples: Rows, motion: Motion) -> Float[np.ndarray, " V"]:
    """Return the noise standard deviation of each variable. Inputs count as exact."""
    inputs = samples.variables.shape[1] - len(motion.noise)
    return np.concatenate([np.where(motion.is_white, motion.noise, 0.0), np.zeros(inputs)])


def _blur(
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    noise: Float[np.ndarray, " V"],
) -> Float[np.ndarray, " c"]:
    """Return the variance that noise in the variables causes in a linear prediction of the
    targets.
    """
    spread = points.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (points - points.mean(axis=0)) / spread
    centered = targets - targets.mean(axis=0)
    slopes = np.linalg.lstsq(scaled, centered, rcond=limits.COLLINEAR_EXTENT)[0]
    return (noise / spread) ** 2 @ slopes**2


def determination(
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    run: Int[np.ndarray, " N"],
    *,
    apart: int,
    point_noise: Float[np.ndarray, " V"],
    noise: Float[np.ndarray, " c"],
) -> Determination:
    """Return the share of the targets that predictions from neighbouring rows do not explain.

    Rows of the same run that are at most `apart` rows away are not neighbours. `point_noise` is the
    noise standard deviation of each column, and `noise` the variance of any prediction due to
    noise.
    """
    from scipy.spatial import KDTree

    varies = np.ptp(points, axis=0) > 0
    spread = points[:, varies].std(axis=0)
    scaled = (points[:, varies] - points[:, varies].mean(axis=0)) / spread
    count = max(4 * (scaled.shape[1] + 1), limits.MIN_NEIGHBOURS)
    predicted = np.zeros_like(targets)
    covered = np.zeros(len(points), dtype=bool)
    reach = np.full(len(points), np.inf)
    for part in _parts(run):
        others = np.flatnonzero(~_widened(part, apart))
        rows = np.flatnonzero(part)
        if len(others) < count or not len(rows):
            continue
        distance, near = KDTree(scaled[others]).query(scaled[rows], count)
        near = others[near]
        offsets = scaled[near] - scaled[rows][:, None]
        both = np.concatenate([targets[near], offsets], axis=2)
        values = _planes(
            offsets, distance, both, (limits.NEIGHBOUR_BLUR * point_noise[varies] / spread) ** 2
        )
        predicted[rows] = values[:, : targets.shape[1]]
        # the plane also predicts the row's own position; neighbours on one side only make this
        # inaccurate
        missed = np.linalg.norm(values[:, targets.shape[1] :], axis=1)
        reach[rows] = distance[:, -1]
        covered[rows] = (distance[:, count // 2] < limits.MAX_NEIGHBOUR_DISTANCE) & (
            missed < limits.MAX_NEIGHBOUR_OFFSET
        )
    if not covered.any():
        unknown = np.full(targets.shape[1], np.nan)
        return Determination(unknown, unknown, covered)
    nearest = covered & (reach <= np.quantile(reach[covered], limits.NEAREST_SHARE))
    squares = (targets - predicted) ** 2
    variance = np.where(np.ptp(targets, axis=0) > 0, targets.var(axis=0), 1.0)
    share, share_nearest = (
        np.maximum(squares[rows].mean(axis=0) - limits.NOISE_MARGIN**2 * noise, 0.0) / variance
        for rows in (covered, nearest)
    )
    return Determination(share, np.minimum(share, share_nearest), covered)


def _parts(run: Int[np.ndarray, " N"]) -> list[Bool[np.ndarray, " N"]]:
    """Return masks of the rows that are predicted from all others: whole runs, or stretches of
    rows.
    """
    n_runs = int(run.max()) + 1
    if n_runs >= limits.NEIGHBOUR_PARTS:
        number = run % limits.NEIGHBOUR_PARTS
    else:
        number = np.arange(len(run)) * limits.NEIGHBOUR_PARTS // len(run)
    return [number == part for part in np.unique(number)]


def _widened(part: Bool[np.ndarray, " N"], by: int) -> Bool[np.ndarray, " N"]:
    """Return a mask of the rows in `part` and of `by` rows before and after them."""
    reach = np.cumsum(np.concatenate([[0], part.astype(int)]))
    index = np.arange(len(part))
    low, high = np.maximum(index - by, 0), np.minimum(index + by + 1, len(part))
    return reach[high] > reach[low]


def _planes(
    offsets: Float[np.ndarray, "B k V"],
    distance: Float[np.ndarray, "B k"],
    targets: Float[np.ndarray, "B k c"],
    blur: Float[np.ndarray, " V"],
) -> Float[np.ndarray, "B c"]:
    """Return the values at the origin of weighted least-squares planes through neighbours.

    A plane has no slope in directions in which its neighbours vary by less than the variance
    `blur`.
    """
    reach = 1.01 * distance[:, -1:] + 1e-12
    weights = 1 - (distance / reach) ** 2
    width = offsets.shape[2]
    design = np.concatenate([np.ones((*distance.shape, 1)), offsets], axis=2)
    weighted = np.swapaxes(design, 1, 2) * weights[:, None, :]
    gram = weighted @ design
    diagonal = np.arange(1, width + 1)
    size = np.einsum("bii->b", gram[:, 1:, 1:]) / max(width, 1)
    gram[:, diagonal, diagonal] += (limits.NEIGHBOUR_RIDGE * size + 1e-12)[:, None]
    gram[:, diagonal, diagonal] += weights.sum(axis=1)[:, None] * blur
    gram[:, 0, 0] += 1e-12
    return np.linalg.solve(gram, weighted @ targets)[:, 0]
