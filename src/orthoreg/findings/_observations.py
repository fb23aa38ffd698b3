"""The rows that verdict and advice are decided on: few enough to be quick, with their noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Rows
from ..export import equation_names
from ..terms import AbstractLibrary, FeatureMap, bind
from . import _limits as limits
from ._motion import Motion
from ._neighbours import Determination, determination


@final
@dataclass(frozen=True, eq=False)
class Observations:
    """Variables and derivatives of some rows, whose errors are variances.

    `noise` is what noise leaves in any prediction of a derivative from the variables. The last
    three are there for runs in time: the motion they are from, its second derivatives with their
    noise, and which rows are away from the ends of a run. `labels` name what each equation is the
    derivative of, theta' where it is one of second order. `constants` are those inside the terms
    of the library, as the model has them.
    """

    samples: Rows
    noise: Float[np.ndarray, " c"]
    motion: Motion | None = None
    curvature: Float[np.ndarray, "N c"] | None = None
    curvature_noise: Float[np.ndarray, " c"] | None = None
    inner: Bool[np.ndarray, " N"] | None = None
    labels: tuple[str, ...] = ()
    constants: Mapping[str, float] = field(default_factory=dict)

    def bind(
        self,
        library: AbstractLibrary,
        names: Sequence[str],
        outputs: Sequence[str],
        given: Mapping[int, int] | None = None,
    ) -> FeatureMap:
        """The terms of a library for these columns, with the model's constants inside them."""
        found = bind(library, names, outputs, given)
        return found.with_values(self.constants[name] for name in found.parameters)

    @property
    def size(self) -> Float[np.ndarray, " c"]:
        """The mean square of each derivative."""
        return np.mean(self.samples.targets**2, axis=0)

    def first_order(self) -> Determination | None:
        """How far the variables determine the derivatives; None without runs in time."""
        if self.motion is None or self.inner is None:
            return None
        samples = self.samples
        noise = _point_noise(samples, self.motion)
        return self._determination(samples.variables, samples.targets, noise, self.noise)

    def second_order(self) -> Determination | None:
        """How far variables and derivatives determine the second derivatives."""
        if self.motion is None or self.inner is None or self.curvature is None:
            return None
        assert self.curvature_noise is not None
        samples = self.samples
        points = np.hstack([samples.variables, samples.targets])
        noise = np.concatenate(
            [_point_noise(samples, self.motion), np.sqrt(self.motion.slope_noise)]
        )
        blur = _blur(points, self.curvature, noise)
        return self._determination(points, self.curvature, noise, self.curvature_noise + blur)

    def _determination(
        self,
        points: Float[np.ndarray, "N V"],
        targets: Float[np.ndarray, "N c"],
        point_noise: Float[np.ndarray, " V"],
        noise: Float[np.ndarray, " c"],
    ) -> Determination:
        rows = self.inner
        found = determination(
            points[rows],
            targets[rows],
            np.unique(self.samples.run_of_row[rows], return_inverse=True)[1],
            apart=self._apart(),
            point_noise=point_noise,
            noise=noise,
        )
        covered = np.zeros(len(points), dtype=bool)
        covered[rows] = found.covered
        return replace(found, covered=covered)

    def _apart(self) -> int:
        """A quarter of the shortest period, in rows; of a run where nothing comes back."""
        assert self.motion is not None
        longest = float(self.motion.data.run_lengths.max())
        period = min(float(np.min(self.motion.period)), longest)
        thinned = len(self.samples.targets) / len(self.motion.slopes)
        return int(np.ceil(period / 4 * thinned))


def of_motion(motion: Motion) -> Observations:
    """The observations of runs in time."""
    data = motion.data
    rows = _evenly(data.n_samples)
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
        samples, noise, motion, motion.curvature[rows], motion.curvature_noise, motion.inner[rows],
        equation_names(data.state_names, data.velocity_of),
    )  # fmt: skip


def of_samples(samples: Rows) -> Observations:
    """The observations of states and derivatives without times, whose noise is not known."""
    rows = _evenly(len(samples.targets))
    if len(rows) < len(samples.targets):
        samples = replace(samples.at(rows), times=None)
    return Observations(samples, np.array(samples.target_mse), labels=samples.outputs)


def _evenly(count: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, limits.MAX_ROWS_OBSERVED).astype(int))


def _point_noise(samples: Rows, motion: Motion) -> Float[np.ndarray, " V"]:
    """The standard deviation of the noise of each variable; inputs count as exact."""
    inputs = samples.variables.shape[1] - len(motion.noise)
    return np.concatenate([np.where(motion.is_white, motion.noise, 0.0), np.zeros(inputs)])


def _blur(
    points: Float[np.ndarray, "N V"],
    targets: Float[np.ndarray, "N c"],
    noise: Float[np.ndarray, " V"],
) -> Float[np.ndarray, " c"]:
    """The variance that noise in the variables leaves in a linear prediction of the targets."""
    spread = points.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (points - points.mean(axis=0)) / spread
    centered = targets - targets.mean(axis=0)
    slopes = np.linalg.lstsq(scaled, centered, rcond=limits.COLLINEAR_EXTENT)[0]
    return (noise / spread) ** 2 @ slopes**2
