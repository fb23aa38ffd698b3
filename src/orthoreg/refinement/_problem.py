"""One refinement problem: a field and runs, evaluated on segments of any length."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float

from ..data import Dataset
from ..field.hybrid import HybridField
from ..simulation import Inputs, run_inputs
from ._constants import Constants
from ._following import follow, growth_of_errors, step_ends
from ._levenberg import Evaluate
from ._normal import HUBER, Normal, joined, normal_equations
from ._segments import Segments, input_nodes
from ._shooting import Box, Shot, box_around, shoot
from ._slope import Slope

_BLOCK = 2_000_000  # sensitivities held at a time
_CHECKED = 40  # segments on which the number of substeps is chosen
_MOST_SUBSTEPS = 32
_ACCURACY = 1e-3  # of a state's noise: how far trajectories are followed
_LEAST_SIGMA = 1e-8  # of a state's spread: what is left of exact data
_LEAST_SIGMA_WEIGHTS = 1e-5  # the same with a residual: hundreds of weights descend slowly


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """What stays the same in all stages. `sizes` are the spreads of the states, `measured` says
    which states count, `growing_noise` whether noise counts that grows with a state, as the plan of
    the data has it; `expected` is how large noise is, if known. `gated` says whether the residual's
    gate is at work; None, only where data lie beyond it."""

    field: HybridField
    constants: Constants
    data: Dataset
    interpolation: Mapping[str, str]
    sizes: Float[np.ndarray, " n"]
    measured: Bool[np.ndarray, " n"]
    gated: bool | None = None
    growing_noise: bool = False
    expected: Float[np.ndarray, " n"] | None = None

    def only(self, rows: Bool[np.ndarray, " N"]) -> "Problem":
        """The same problem on some of the rows."""
        return replace(self, data=self.data.only(rows).with_plan_of(self.data, rows))

    @cached_property
    def old(self) -> Float[np.ndarray, " P"]:
        """The constants that the field came with."""
        return self.constants.read(self.field)

    @cached_property
    def inputs(self) -> Inputs | None:
        return run_inputs(self.data, self.interpolation)

    @cached_property
    def slope(self) -> Slope:
        region, gated = self.field.region, self.gated
        if gated is None:
            # within its region a residual is what it is without a gate, which costs much
            gated = region is not None and bool((region.distance(self.data.variables) > 1).any())
        return Slope(self.field, self.constants, self.sizes, gated=gated)

    @cached_property
    def box(self) -> Box:
        return box_around(self.data.states)

    def relative(self, segments: Segments) -> Float[np.ndarray, "T n B"] | float:
        """The standard deviation of each value's noise, in that of its state."""
        if self._relative is None:
            return 1.0
        return np.moveaxis(self._relative[segments.rows], 2, 1)

    @cached_property
    def _relative(self) -> Float[np.ndarray, "N n"] | None:
        found = None
        if self.growing_noise and self.data.plan.growth.any():
            found = np.sqrt(self.data.plan.relative_variance)
        if self.data.filled is None:
            return found
        # a value that nobody measured does not count
        return np.where(self.data.filled, np.inf, 1.0 if found is None else found)

    def evaluator(
        self, segments: Segments, substeps: int, guess: np.ndarray | None = None, stretches: int = 1
    ) -> Evaluate:
        """The normal equations as a function of constants, starts and the states' sigma. `guess`
        (T, n, B) are states near which the first trajectories are sought; later ones where the
        last sensitivities lead. Another sigma at the same place costs no integration."""
        n, size = len(self.sizes), self.constants.size
        each = max(1, _BLOCK // ((segments.length + 1) * n * (size + n)))
        parts = [
            _Part(self, segments, slice(i, i + each), substeps, guess)
            for i in range(0, segments.count, each)
        ]

        def evaluate(p: np.ndarray, starts: np.ndarray, sigma: np.ndarray) -> Normal:
            slope = self.slope.at(self.constants.values(self.field, p))
            return joined([part.normal(slope, p, starts, sigma, stretches) for part in parts])

        return evaluate

    def states_of(self, segments: Segments) -> Float[np.ndarray, "T n B"]:
        """What was measured in these segments."""
        return np.moveaxis(self.data.states[segments.rows], 2, 1)

    def simulate(
        self, p: np.ndarray, starts: np.ndarray, segments: Segments, substeps: int
    ) -> tuple[Float[np.ndarray, "T n B"], Bool[np.ndarray, " B"]]:
        """The segments' states alone, and which of them stayed finite."""
        nodes = input_nodes(self.data, self.inputs, segments, substeps)
        slope = self.slope.at(self.constants.values(self.field, p))
        found = shoot(slope, starts, segments, nodes, substeps, self.box)
        return found.states, found.sound

    def substeps(
        self,
        p: np.ndarray,
        starts: np.ndarray,
        guess: Float[np.ndarray, "T n B"],
        segments: Segments,
        tolerance: Float[np.ndarray, " n"],
        most: int = _MOST_SUBSTEPS,
    ) -> int:
        """The fewest steps from row to row whose error, by halving them, is within tolerance."""
        few = np.unique(np.linspace(0, segments.count - 1, _CHECKED).round().astype(int))
        chosen = segments.only(few)
        states = np.array(guess[:, :, few])
        states[0] = starts[:, few]
        slope = self.slope.at(self.constants.values(self.field, p))

        def ends(substeps: int) -> np.ndarray:
            nodes = input_nodes(self.data, self.inputs, chosen, substeps)
            with np.errstate(all="ignore"):
                return step_ends(slope, states, chosen, nodes, substeps)

        substeps, coarse = 1, ends(1)
        while substeps < most:
            fine = ends(2 * substeps)
            apart = np.abs(fine - coarse).sum(axis=2)  # errors that add up along a segment
            if np.all(np.sqrt((apart**2).mean(axis=1)) <= tolerance):
                break
            coarse, substeps = fine, 2 * substeps
        return substeps

    def noise(
        self, states: Float[np.ndarray, "T n B"], segments: Segments, sound: np.ndarray, used: float
    ) -> Float[np.ndarray, " n"]:
        """The standard deviation of the residuals of each state, infinite where it was not
        measured. A residual beyond `HUBER` of them counts as `HUBER`. `used` unknowns were
        estimated."""
        relative = self.relative(segments)
        apart = (self.states_of(segments) - states) / relative
        r = np.abs(apart)[:, :, sound]
        weight = segments.weight[:, None, sound]
        if not weight.sum():
            return np.where(self.measured, self.sizes, np.inf)
        counts = np.broadcast_to(np.isfinite(relative), apart.shape)[:, :, sound]
        count = np.maximum((weight * counts).sum(axis=(0, 2)), 1.0)
        free = max(1 - used / max(float(count[self.measured].sum()), 1.0), 0.1)
        sigma = np.sqrt((r**2 * weight).sum(axis=(0, 2)) / count)
        for _ in range(30):
            near = np.minimum(r, HUBER * sigma[:, None])
            before, sigma = sigma, np.sqrt((near**2 * weight).sum(axis=(0, 2)) / count)
            if np.array_equal(before, sigma):
                break
        least = _LEAST_SIGMA_WEIGHTS if self.constants.weighted else _LEAST_SIGMA
        sigma = np.maximum(sigma / np.sqrt(free), least * self.sizes)
        return np.where(self.measured, sigma, np.inf)

    def growth_along(
        self, p: np.ndarray, states: Float[np.ndarray, "N n"], segments: Segments
    ) -> float:
        """How many times small errors of the initial state grow along a segment (the median), to
        first order around these states."""
        slope = self.slope.at(self.constants.values(self.field, p))
        nodes = input_nodes(self.data, self.inputs, segments, 1)
        with np.errstate(all="ignore"):
            growth = growth_of_errors(
                slope, np.moveaxis(states[segments.rows], 2, 1), segments, nodes
            )
            scaled = growth / self.sizes[:, None] * self.sizes
        scaled = scaled[np.isfinite(scaled).all(axis=(1, 2))]
        return (
            float(np.median(np.linalg.norm(scaled, ord=2, axis=(1, 2)))) if len(scaled) else np.inf
        )

    def misfit(
        self, states: Float[np.ndarray, "T n B"], segments: Segments, sound: np.ndarray
    ) -> Float[np.ndarray, " n"]:
        """The mean square of each state's residuals, zero where it was not measured. Segments that
        run away are as far off as the state's spread."""
        weight = segments.weight
        share = float(weight[:, sound].sum() / weight.sum())
        square = self.noise(states, segments, sound, 0.0) ** 2
        lost = (1 - share) * self.sizes**2
        return np.where(self.measured, share * np.where(self.measured, square, 0.0) + lost, 0.0)


@final
class _Part:
    """Some segments of a stage, and where they were evaluated last."""

    def __init__(
        self,
        problem: Problem,
        segments: Segments,
        group: slice,
        substeps: int,
        guess: np.ndarray | None,
    ):
        self._problem, self._group, self._substeps = problem, group, substeps
        self._segments = segments.only(group)
        self._nodes = input_nodes(problem.data, problem.inputs, self._segments, substeps)
        self._measured = problem.states_of(self._segments)
        self._relative = problem.relative(self._segments)
        self._guess = None if guess is None else guess[:, :, group]
        self._last: tuple[np.ndarray, np.ndarray, Shot, np.ndarray] | None = None

    def normal(
        self, slope: Any, p: np.ndarray, starts: np.ndarray, sigma: np.ndarray, stretches: int
    ) -> Normal:
        begin = starts[:, self._group]
        if self._last is None or self._last[0] is not p or (self._last[1] != begin).any():
            shot, by = follow(
                slope, len(p), self._predicted(p, begin), begin, self._segments, self._nodes,
                self._substeps, self._problem.box,
                _ACCURACY * np.where(np.isfinite(sigma), sigma, self._problem.sizes),
            )  # fmt: skip
            self._last = (p, begin, shot, by)
        _, _, shot, by = self._last
        each = sigma[:, None] * self._relative * np.ones_like(self._measured)
        return normal_equations(shot, by, self._measured, self._segments.weight, each, stretches)

    def _predicted(self, p: np.ndarray, begin: np.ndarray) -> np.ndarray | None:
        """The last states, moved as their sensitivities say."""
        if self._last is None:
            return self._guess
        before, old, shot, by = self._last
        if not shot.sound.all():
            return self._guess
        change = np.concatenate(
            [np.tile(p - before, (begin.shape[1], 1)), (begin - old).T], axis=1
        )  # B Q
        with np.errstate(all="ignore"):
            moved = by.reshape(len(by), -1, by.shape[3]) @ change[:, :, None]
        return shot.states + np.moveaxis(moved.reshape(by.shape[:3]), 0, 2)
