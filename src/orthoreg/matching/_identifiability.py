"""Find directions of constants and hidden states that the data do not determine."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float

from ..physics import atoms_of, null_space
from . import _limits as limits
from ._constants import Constants
from ._hidden import natural_sizes
from ._matching import Prior, Stage, match_segments, matched_normal
from ._problem import Problem, eliminate_starts


@final
class Undetermined(NamedTuple):
    """Constants and hidden states of which the data determine only combinations.

    `combinations` are the determined products of powers, such as "b*c", and determined sums in the
    equations, such as "a + e".
    """

    constants: tuple[str, ...]
    states: tuple[str, ...]
    combinations: tuple[str, ...]


def undetermined_directions(
    problem: Problem, stage: Stage
) -> tuple[Float[np.ndarray, "P d"], tuple[int, ...]]:
    """Return the undetermined directions as relative changes of the free parameters, one column
    each.

    Also return the hidden states that change along with them. A direction is undetermined if its
    standard error exceeds the sizes of the constants, or if it has no effect on the trajectories.

    The sensitivities of the measured states are linearized at the match, with the first states of
    all segments free. [Fisher information; Rothenberg 1971]
    """
    with np.errstate(all="ignore"):
        normal = matched_normal(problem, stage)
        H, _, solved = eliminate_starts(normal, np.zeros(problem.constants.size))
        largest = np.maximum(np.abs(normal.states).max(axis=(0, 2)), 1e-300)
        natural = natural_sizes(problem, problem.data.states, largest)
        size = np.maximum(np.abs(stage.p), limits.NATURAL_SHARE * natural)
        values, axes = np.linalg.eigh(H * np.outer(size, size))
        # derivatives of trajectories are not exact: small values may be zero
        doubtful = values < limits.DOUBTFUL * max(float(values.max(initial=0.0)), 0.0)
        steps = _cleaned(size[:, None] / np.where(stage.p != 0, stage.p, np.inf)[:, None] * axes)
        is_open = [
            value < 1 or (is_doubtful and _is_without_effect(problem, stage, step))
            for value, is_doubtful, step in zip(values, doubtful, steps.T, strict=True)
        ]
        chosen = axes[:, is_open]
        if chosen.size:  # with as many zeros as possible
            chosen = null_space(null_space(_cleaned(chosen).T)).T
        changes = _moved_states(problem, stage, solved[:, :, : len(size)], size[:, None] * chosen)
        changes = changes / largest
    free = ~problem.measured & (changes > limits.INVOLVED * changes.max(initial=0.0))
    return size[:, None] / np.where(stage.p != 0, stage.p, 1.0)[:, None] * chosen, tuple(
        np.flatnonzero(free).tolist()
    )


def _moved_states(
    problem: Problem,
    stage: Stage,
    by_constants: Float[np.ndarray, "B n P"],
    directions: Float[np.ndarray, "P d"],
) -> Float[np.ndarray, " n"]:
    """Return the largest change of each state per change of the constants along a direction.

    First states are free. A state with a given first value may change later.
    """
    starts, changes = stage.normal.states[0], np.zeros(len(problem.sizes))

    def states(p: np.ndarray, starts: np.ndarray) -> np.ndarray:
        return problem.simulate(p, starts, stage.segments, stage.substeps).states

    before = states(stage.p, starts)
    for direction in directions.T:
        step = limits.MOVED_STATES * direction
        after = states(stage.p + step, starts - (by_constants @ step).T)
        moved = np.abs(after - before).max(axis=(0, 2)) / limits.MOVED_STATES
        changes = np.maximum(changes, np.where(np.isfinite(moved), moved, np.inf))
    return changes


def _is_without_effect(problem: Problem, stage: Stage, step: Float[np.ndarray, " P"]) -> bool:
    """Return whether constants that are moved along a direction fit as well, with free first
    states.
    """
    step = step / np.abs(step).max(initial=1e-300)
    fractions = np.array([float(_fraction(power)) for power in step])
    if np.abs(fractions - step).max(initial=0.0) < limits.POWER_ROUNDING:
        step = fractions  # this step conserves products of powers exactly
    p = stage.p * np.exp(limits.MOVED * step)
    field = problem.constants.write(problem.field, p)
    moved = replace(problem, field=field, constants=Constants.none())
    nothing, floor = np.zeros(0), limits.MOVED_NOISE * problem.sizes
    sigma = np.where(problem.measured, np.maximum(stage.sigma, floor), np.inf)
    try:
        solution = match_segments(
            moved, stage.segments, stage.substeps, nothing, stage.normal.states, sigma,
            Prior(nothing, nothing), np.zeros((2, 0)), max_steps=limits.MOVED_EVALUATIONS,
            tolerance=limits.NEAR_TOLERANCE,
        )  # fmt: skip
    except np.linalg.LinAlgError:
        return False
    m = problem.measured
    before = stage.normal.cost * float(np.max((stage.sigma[m] / sigma[m]) ** 2))
    return bool(solution.normal.cost - before < limits.MOVED_COST)


def _cleaned(directions: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
    """Return the directions without the small entries that rounding and noise cause."""
    largest = np.abs(directions).max(axis=0, initial=0.0)
    return np.where(np.abs(directions) > limits.INVOLVED * largest, directions, 0.0)


def undetermined_constants(
    names: Sequence[str],
    changes: Float[np.ndarray, "m d"],
    states: Sequence[str],
    summed: Collection[str] = (),
    sums: Mapping[str, Float[np.ndarray, " d"]] = {},
) -> Undetermined | None:
    """Return the constants that change along these directions, and the combinations that do not
    change.

    `changes` are relative changes of the constants.

    Each sum of several constants in `sums` has its own relative change. Constants that occur only
    in sums, `summed`, are not part of products.
    """
    largest = np.abs(changes).max(axis=0, initial=0.0)
    changes = _cleaned(changes)
    involved = np.flatnonzero(changes.any(axis=1))
    if not len(involved):
        return None
    combinations = [
        text for text, change in sums.items() if (np.abs(change) <= limits.INVOLVED * largest).all()
    ]
    factors = [i for i in involved.tolist() if names[i] not in summed]
    for powers in _conserved_powers(changes[factors]):
        used = np.flatnonzero(powers)
        combinations.append(_product([(names[factors[i]], int(powers[i])) for i in used]))
    return Undetermined(
        tuple(names[i] for i in involved.tolist()), tuple(states), tuple(combinations)
    )


def _conserved_powers(changes: Float[np.ndarray, "m d"]) -> list[Float[np.ndarray, " m"]]:
    """Return independent products of powers that do not change, the simplest ones.

    Powers are integers.
    """
    candidates = []
    for powers in atoms_of(changes.T):
        used = np.flatnonzero(powers)
        fractions = [_fraction(powers[i]) for i in used]
        exact = np.abs(np.array([float(f) for f in fractions]) - powers[used])
        if not len(used) or (exact > limits.CONSERVED_ROUNDING).any():
            continue
        scale = math.lcm(*(fraction.denominator for fraction in fractions))
        candidate = np.zeros(len(powers))
        candidate[used] = [float(fraction * scale) for fraction in fractions]
        candidates.append(candidate)
    candidates.sort(key=lambda powers: (np.abs(powers).sum(), (powers < 0).sum()))
    chosen: list[np.ndarray] = []
    for candidate in candidates:
        if np.linalg.matrix_rank(np.array([*chosen, candidate])) > len(chosen):
            chosen.append(candidate)
    return chosen


def _fraction(power: float) -> Fraction:
    return Fraction(float(power)).limit_denominator(limits.MAX_POWER)


def _product(powers: Sequence[tuple[str, int]]) -> str:
    """Return a product of powers as text, such as b*c for [("b", 1), ("c", 1)] and b/c**2 for
    [("b", 1), ("c", -2)].
    """
    if sum(power > 0 for _, power in powers) < sum(power < 0 for _, power in powers):
        powers = [(name, -power) for name, power in powers]

    def side(sign: int) -> list[str]:
        return [
            name if sign * power == 1 else f"{name}**{sign * power}"
            for name, power in powers
            if sign * power > 0
        ]

    above, below = "*".join(side(1)), side(-1)
    if not below:
        return above
    return f"{above}/{below[0]}" if len(below) == 1 else f"{above}/({'*'.join(below)})"
