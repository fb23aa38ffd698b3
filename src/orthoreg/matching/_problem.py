"""A matching problem: a field, its runs, and their normal equations on segments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int

from ..data import Dataset
from ..field.hybrid import HybridField
from ..physics import Starts, with_priors
from ..simulation import Inputs, run_inputs
from . import _limits as limits
from ._censoring import censored
from ._constants import Constants
from ._linearization import FieldAt, Linearization
from ._segments import Box, RunSegments, Trajectories, box_around, input_nodes, shoot
from ._sensitivities import follow, growth_of_errors, step_ends


@final
@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations of segments, where r are the weighted residuals in standard deviations.

    `costs` is half the sum of squares of each segment (linear beyond `HUBER`). For constants p and
    starts s, `pp` is sum J_p'J_p, and `ss` and `sp` are the corresponding blocks of each segment.
    The scores J'r are given for each stretch of each segment. `states` (T, n, B) are simulated.
    """

    costs: Float[np.ndarray, " B"]
    pp: Float[np.ndarray, "P P"]
    ss: Float[np.ndarray, "B n n"]
    sp: Float[np.ndarray, "B n P"]
    p_scores: Float[np.ndarray, "B g P"]
    s_scores: Float[np.ndarray, "B g n"]
    states: Float[np.ndarray, "T n B"]
    is_valid: Bool[np.ndarray, " B"]

    @property
    def cost(self) -> float:
        return float(self.costs.sum())


def normal_equations(
    trajectories: Trajectories,
    sensitivities: Float[np.ndarray, "B T n Q"],
    measured: Float[np.ndarray, "T n B"],
    weight: Float[np.ndarray, "T B"],
    sigma: Float[np.ndarray, "T n B"],
    stretches: int = 1,
    reference: Float[np.ndarray, "T n B"] | None = None,
    clipped: Int[np.ndarray, "T n B"] | None = None,
) -> Normal:
    """Return the normal equations of these segments.

    States with an infinite sigma do not count. Costs and outlier weights are evaluated at the
    `reference` states, by default the trajectory. `clipped` marks values at the upper (1) and lower
    (-1) limit of a sensor, which are censored.
    """
    counted: Any = np.flatnonzero(np.isfinite(sigma[0, :, 0]))
    if len(counted) == sigma.shape[1]:
        counted = slice(None)  # a view
    sigma = sigma[:, counted]
    length, n, count = trajectories.states.shape
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("btnq,btnq->b", sensitivities, sensitivities)
    is_valid = trajectories.is_valid & np.isfinite(squares)
    r = np.where(is_valid, measured - trajectories.states, 0.0)[:, counted] / sigma
    reference_r = r
    if reference is not None:
        reference_r = np.where(is_valid, measured - reference, 0.0)[:, counted] / sigma
    cost, outlier_weight = huber(reference_r)
    if clipped is not None:
        sign = clipped[:, counted]
        parts = censored(-sign * reference_r)
        is_censored = (sign != 0) & is_valid
        cost, outlier_weight = (
            np.where(is_censored, new, old)
            for new, old in zip(parts, (cost, outlier_weight), strict=False)
        )
        r = np.where(is_censored, r - reference_r + sign * parts[2], r)
    diverged_cost = limits.HUBER * limits.DIVERGED_RESIDUAL * sigma.shape[1] * weight.sum(axis=0)
    root = np.sqrt(outlier_weight * weight[:, None])
    scale = np.moveaxis(root / sigma, 2, 0)[..., None]
    J = sensitivities[:, :, counted] * scale
    J[~is_valid] = 0.0
    r = np.moveaxis(r * root, 2, 0)
    parts = np.array_split(np.arange(length), stretches)
    scores = np.concatenate(
        [
            r[:, rows].reshape(count, 1, -1) @ J[:, rows].reshape(count, -1, J.shape[3])
            for rows in parts
        ],
        axis=1,
    )
    J = J.reshape(count, -1, J.shape[3])
    size = J.shape[2] - n
    p, s = J[:, :, :size], J[:, :, size:]
    flat = J.reshape(-1, J.shape[2])[:, :size]
    return Normal(
        costs=np.where(is_valid, (cost * weight[:, None]).sum(axis=(0, 1)), diverged_cost),
        pp=flat.T @ flat,
        ss=s.transpose(0, 2, 1) @ s,
        sp=s.transpose(0, 2, 1) @ p,
        p_scores=scores[..., :size],
        s_scores=scores[..., size:],
        states=trajectories.states,
        is_valid=is_valid,
    )


def joined(parts: Sequence[Normal]) -> Normal:
    """Return the normal equations of several groups of segments as one."""
    if len(parts) == 1:
        return parts[0]

    def stacked(name: str, axis: int = 0) -> np.ndarray:
        return np.concatenate([getattr(part, name) for part in parts], axis=axis)

    return Normal(
        costs=stacked("costs"),
        pp=np.sum([part.pp for part in parts], axis=0),
        ss=stacked("ss"),
        sp=stacked("sp"),
        p_scores=stacked("p_scores"),
        s_scores=stacked("s_scores"),
        states=stacked("states", 2),
        is_valid=stacked("is_valid"),
    )


def huber(r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return r^2 / 2, linear beyond `HUBER`, and the corresponding weight of r^2 / 2."""
    size = np.abs(r)
    far = size > limits.HUBER
    cost = np.where(far, limits.HUBER * (size - limits.HUBER / 2), r * r / 2)
    return cost, np.where(far, limits.HUBER / np.maximum(size, limits.HUBER), 1.0)


def starts_step(normal: Normal) -> Float[np.ndarray, "n B"]:
    """Return the Gauss-Newton step of the starts for fixed constants."""
    diagonal = np.einsum("bii->bi", normal.ss)
    floor = np.where(diagonal > 0, limits.DIAGONAL_ROUNDING * diagonal, 1.0)
    ss = normal.ss + np.eye(len(normal.states[0])) * floor[:, None]
    return np.linalg.solve(ss, normal.s_scores.sum(axis=1)[..., None])[..., 0].T


def eliminate_starts(
    normal: Normal, precision: Float[np.ndarray, " P"], damping: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the normal equations with the starts eliminated.

    These are the Schur complement H = pp - sum sp' ss^-1 sp, the scores of each segment and stretch
    (B, g, P), and ss^-1 [sp, s_scores].
    """
    n, size = normal.sp.shape[1:]
    diagonal = np.einsum("bii->bi", normal.ss)
    floor = np.where(diagonal > 0, limits.DIAGONAL_ROUNDING * diagonal, 1.0)
    ss = normal.ss + np.eye(n) * (damping * diagonal + floor)[:, None]
    right = np.concatenate([normal.sp, np.swapaxes(normal.s_scores, 1, 2)], axis=2)
    solved = np.linalg.solve(ss, right)
    sp = normal.sp.reshape(len(normal.sp) * n, size)
    H = normal.pp - sp.T @ solved[:, :, :size].reshape(sp.shape) + np.diag(precision)
    scores = normal.p_scores - np.einsum("bnp,bng->bgp", normal.sp, solved[:, :, size:])
    return (H + H.T) / 2, scores, solved


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """A field whose constants are matched to runs.

    `sizes` are the standard deviations of the states, and `measured` marks the states that count.
    With `growing_noise`, the noise may grow with the state, as the plan of the data states.
    `expected_noise` is the standard deviation of the noise, if known. `starts` are rules for the
    first row of each run. `gated` applies the gate of the residual; if None, the gate is applied
    only if some data lie outside its region.
    """

    field: HybridField
    constants: Constants
    data: Dataset
    interpolation: Mapping[str, str]
    sizes: Float[np.ndarray, " n"]
    measured: Bool[np.ndarray, " n"]
    gated: bool | None = None
    growing_noise: bool = False
    expected_noise: Float[np.ndarray, " n"] | None = None
    starts: Starts | None = None

    @classmethod
    def of(
        cls,
        field: HybridField,
        constants: Constants,
        data: Dataset,
        interpolation: Mapping[str, str],
        *,
        gated: bool | None = None,
        growing_noise: bool = False,
        expected_noise: Float[np.ndarray, " n"] | None = None,
        starts: Starts | None = None,
    ) -> "Problem":
        """Return the problem with sizes and measured states from the data."""
        std = data.states.std(axis=0)
        sizes = np.where(std > 0, std, 1.0)
        return cls(
            field, constants, data, interpolation, sizes, data.is_measured, gated, growing_noise,
            expected_noise, with_priors(starts, data.schema),
        )  # fmt: skip

    def subset(self, rows: Bool[np.ndarray, " N"]) -> "Problem":
        """Return the same problem on a subset of the rows."""
        return replace(self, data=self.data.only(rows).with_plan_of(self.data, rows))

    @cached_property
    def initial_constants(self) -> Float[np.ndarray, " P"]:
        """The constants of the field."""
        return self.constants.read(self.field)

    @property
    def initial_states(self) -> Float[np.ndarray, "N n"]:
        """The measured states, with smooth values where sensors are at their limits."""
        plan = self.data.plan
        if not plan.clipped.any():
            return self.data.states
        return np.where(plan.clipped != 0, plan.smoothed, self.data.states)

    @cached_property
    def inputs(self) -> Inputs | None:
        return run_inputs(self.data, self.interpolation)

    def field_at(self, p: Float[np.ndarray, " P"]) -> FieldAt:
        """Return f with these constants."""
        return self._linearization.at(self.constants.values(self.field, p))

    @cached_property
    def _linearization(self) -> Linearization:
        region, gated = self.field.region, self.gated
        if gated is None:
            # within its region, a residual needs no gate, which takes long to evaluate
            gated = region is not None and bool((region.distance(self.data.variables) > 1).any())
        return Linearization(self.field, self.constants, self.sizes, gated=gated)

    @cached_property
    def box(self) -> Box:
        return box_around(self.data.states)

    def relative_std(self, segments: RunSegments) -> Float[np.ndarray, "T n B"] | float:
        """Return the noise of each value relative to the noise level of its state.

        It is infinite for values without a residual.
        """
        if self._relative_std is None:
            return 1.0
        return np.moveaxis(self._relative_std[segments.rows], 2, 1)

    @cached_property
    def _relative_std(self) -> Float[np.ndarray, "N n"] | None:
        relative, clipped = self._value_std, self.data.plan.clipped
        if not clipped.any():
            return relative
        return np.where(clipped != 0, np.inf, 1.0 if relative is None else relative)

    @cached_property
    def _value_std(self) -> Float[np.ndarray, "N n"] | None:
        relative = None
        if self.growing_noise and self.data.plan.growth.any():
            relative = np.sqrt(self.data.plan.relative_variance)
        if self.data.filled is None:
            return relative
        # values that were not measured do not count
        return np.where(self.data.filled, np.inf, 1.0 if relative is None else relative)

    def clipped(self, segments: RunSegments) -> Int[np.ndarray, "T n B"] | None:
        """Return 1 for values at the upper limit of a sensor, -1 at the lower limit, and 0
        otherwise.

        Return None if no value is at a limit.
        """
        clipped = self.data.plan.clipped
        return np.moveaxis(clipped[segments.rows], 2, 1) if clipped.any() else None

    def residuals(
        self, states: Float[np.ndarray, "T n B"], segments: RunSegments
    ) -> Float[np.ndarray, "T n B"]:
        """Return the measured states minus other states.

        If a value is at the limit of a sensor and the other state is beyond this limit, the
        difference is zero.
        """
        r, clipped = self.measured_states(segments) - states, self.clipped(segments)
        return r if clipped is None else np.where(clipped * r < 0, 0.0, r)

    def likelihood_std(
        self, sigma: Float[np.ndarray, " n"], segments: RunSegments
    ) -> Float[np.ndarray, "T n B"]:
        """Return the standard deviation of the noise of each value, which is infinite for ignored
        values.

        Values at the limits of sensors are treated as censored.
        """
        relative = self._value_std
        if relative is None:
            shape = (segments.rows.shape[0], len(sigma), segments.count)
            return np.broadcast_to(sigma[:, None], shape)
        return sigma[:, None] * np.moveaxis(relative[segments.rows], 2, 1)

    def evaluate(
        self,
        p: np.ndarray,
        starts: np.ndarray,
        sigma: np.ndarray,
        segments: RunSegments,
        substeps: int,
        guess: Float[np.ndarray, "T n B"],
    ) -> Normal:
        """Return the normal equations of trajectories from these starts, iterated from the states
        `guess`."""
        n, size, field = len(self.sizes), self.constants.size, self.field_at(p)
        accuracy = np.where(np.isfinite(sigma), sigma, self.sizes) * limits.TRAJECTORY_ACCURACY
        per_group = max(1, limits.EVALUATION_BLOCK // ((segments.length + 1) * n * (size + n)))
        groups = []
        for i in range(0, segments.count, per_group):
            group = slice(i, i + per_group)
            part = segments.subset(group)
            nodes = input_nodes(self.data, self.inputs, part, substeps)
            trajectories, by = follow(
                field, size, guess[:, :, group], starts[:, group], part, nodes, substeps,
                self.box, accuracy,
            )  # fmt: skip
            measured = self.measured_states(part)
            std = self.likelihood_std(sigma, part)
            normal = normal_equations(
                trajectories, by, measured, part.weight, std, clipped=self.clipped(part)
            )
            groups.append(self.with_starts(normal, starts[:, group], part))
        return joined(groups)

    def start_conditions(
        self, first: Float[np.ndarray, "n B"], segments: RunSegments
    ) -> tuple[Float[np.ndarray, "m B"], Float[np.ndarray, "m n B"]]:
        """Return the violation of the rules for first rows of runs, and its derivatives.

        Violations are in standard deviations. Segments that begin within a run have no rules.
        """
        assert self.starts is not None
        rows, data = segments.rows[0], self.data
        z = first if data.inputs is None else np.concatenate([first, data.inputs[rows].T])
        covariates = None if data.covariates is None else data.covariates[rows]
        values, slopes = self.starts.conditions(z, covariates)
        sizes = np.maximum(self.sizes, np.abs(first).max(axis=1))
        rules = self.starts.rules
        std = limits.START_STD * sizes[[rule.state for rule in rules], None]
        std = np.where([[rule.prior is not None] for rule in rules], 1.0, std)
        is_first = np.isin(rows, data.offsets[:-1])
        return is_first * values / std, is_first * slopes / std[:, None]

    def with_starts(
        self, normal: Normal, first: Float[np.ndarray, "n B"], segments: RunSegments
    ) -> Normal:
        """Return the normal equations with the rules for first rows added."""
        if self.starts is None:
            return normal
        r, J = self.start_conditions(first, segments)
        s_scores = normal.s_scores.copy()
        s_scores[:, 0] -= np.einsum("mir,mr->ri", J, r)
        return replace(
            normal,
            costs=normal.costs + (r**2).sum(axis=0) / 2,
            ss=normal.ss + np.einsum("mir,mjr->rij", J, J),
            s_scores=s_scores,
        )

    def measured_states(self, segments: RunSegments) -> Float[np.ndarray, "T n B"]:
        """Return the measured states of these segments."""
        return np.moveaxis(self.data.states[segments.rows], 2, 1)

    def simulate(
        self, p: np.ndarray, starts: np.ndarray, segments: RunSegments, substeps: int
    ) -> Trajectories:
        """Return the trajectories without sensitivities."""
        nodes = input_nodes(self.data, self.inputs, segments, substeps)
        return shoot(self.field_at(p), starts, segments, nodes, substeps, self.box)

    def substeps(
        self,
        p: np.ndarray,
        starts: np.ndarray,
        guess: Float[np.ndarray, "T n B"],
        segments: RunSegments,
        tolerance: Float[np.ndarray, " n"],
        max_substeps: int = limits.MAX_SUBSTEPS,
    ) -> int:
        """Return the smallest number of substeps whose error is within the tolerance.

        The error is estimated by step halving.
        """
        if segments.discrete:
            return 1
        subset = np.unique(
            np.linspace(0, segments.count - 1, limits.CHECKED_SEGMENTS).round().astype(int)
        )
        chosen = segments.subset(subset)
        states = np.array(guess[:, :, subset])
        states[0] = starts[:, subset]
        field = self.field_at(p)

        def ends(substeps: int) -> np.ndarray:
            nodes = input_nodes(self.data, self.inputs, chosen, substeps)
            with np.errstate(all="ignore"):
                return step_ends(field, states, chosen, nodes, substeps)

        substeps, coarse = 1, ends(1)
        while substeps < max_substeps:
            fine = ends(2 * substeps)
            errors = np.abs(fine - coarse).sum(axis=2)  # errors accumulate along a segment
            if np.all(np.sqrt((errors**2).mean(axis=1)) <= tolerance):
                break
            coarse, substeps = fine, 2 * substeps
        return substeps

    def error_growth(
        self, p: np.ndarray, states: Float[np.ndarray, "N n"], segments: RunSegments
    ) -> float:
        """Return the median factor by which small errors of the initial state grow along a segment.

        The growth is linearized at these states.
        """
        nodes = input_nodes(self.data, self.inputs, segments, 1)
        with np.errstate(all="ignore"):
            growth = growth_of_errors(
                self.field_at(p), np.moveaxis(states[segments.rows], 2, 1), segments, nodes
            )
            scaled = growth / self.sizes[:, None] * self.sizes
        scaled = scaled[np.isfinite(scaled).all(axis=(1, 2))]
        if not len(scaled):
            return np.inf
        return float(np.median(np.linalg.norm(scaled, ord=2, axis=(1, 2))))
