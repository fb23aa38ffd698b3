"""Decide which sines and cosines of the default library are candidates.

Sines and cosines of angles are always candidates. Those of other quantities (counts,
concentrations, temperatures, speeds) could approximate terms that the library lacks. They are
candidates only if an equation is clearly better with them, and if they explain it down to the noise
or replace other terms instead of correcting them.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from ..search.rows import SelectionResult, unresolved_trig_terms
from ..solving import Task
from ..terms import sine_argument, variables_of
from . import _limits as limits

ANGLE_NAMES = frozenset(
    "theta phi psi alpha beta gamma angle phase pitch roll yaw heading azimuth bearing tilt "
    "θ φ ϕ ψ α β γ".split()
)
_RATES = frozenset("dot ddot d dt rate velocity vel speed acc acceleration".split())
_RADIANS = frozenset({"rad", "radian", "radians"})


def is_angle(name: str, unit: str, low: float, high: float) -> bool:
    """Return whether a column is an angle in radians.

    The unit, the name, or a range of exactly one turn (-pi to pi or 0 to 2 pi) shows this.
    """
    if unit:
        return unit.strip().lower() in _RADIANS
    words = [word for word in re.split(r"[\W\d_]+", name.lower()) if word]
    if any(word in ANGLE_NAMES for word in words) and not any(word in _RATES for word in words):
        return True
    turn = 2 * math.pi
    tolerance = limits.TURN_TOLERANCE * turn
    starts_turn = min(abs(low), abs(low + math.pi)) < tolerance
    return starts_turn and abs(high - low - turn) < tolerance


def choose_default_terms(
    task: Task, units: Mapping[str, str], select: Callable[[Task], SelectionResult]
) -> tuple[SelectionResult, Bool[np.ndarray, " K"]]:
    """Return the terms selected from the default library, and a mask of terms that were not
    considered.
    """
    named = task.known.named(task.features)
    short = unresolved_trig_terms(task.features, task.observed.extent.range) & ~named
    doubtful = _sines_of_others(task, units) & ~short & ~named
    plain = select(replace(task, support=task.support & ~(short | doubtful)))
    if not doubtful.any() or (plain.paths and _is_explained(plain).all()):
        return plain, short | doubtful
    full = select(replace(task, support=task.support & ~short))
    if not plain.paths or not full.paths:  # the errors of this selection cannot be compared
        return full, short
    is_preferred = _errors(full) < limits.PREFERRED * _errors(plain)
    needed = _is_explained(full) & is_preferred
    needed |= _sines_replace(task, full, plain, doubtful)
    variables = _variables(task, np.any(full.support[needed] & doubtful, axis=0))
    # rejected sines of one variable may hide useful sines of another
    refused = np.any(full.support[is_preferred & ~needed] & doubtful, axis=0)
    for v in sorted(_variables(task, refused) - variables):
        left_out = _left_out(task, short, doubtful, {v})
        alone = select(replace(task, support=task.support & ~left_out))
        if _sines_replace(task, alone, plain, doubtful).any():
            variables = variables | {v}
    left_out = _left_out(task, short, doubtful, variables)
    if not variables:
        return plain, left_out
    if not (full.support & left_out).any():
        return full, left_out
    return select(replace(task, support=task.support & ~left_out)), left_out


def _left_out(
    task: Task, short: Bool[np.ndarray, " K"], doubtful: Bool[np.ndarray, " K"], variables: set[int]
) -> Bool[np.ndarray, " K"]:
    """Return a mask of the terms to exclude if only the sines of these variables are candidates."""
    without = [not variables_of(term) & variables for term in task.features.terms]
    return short | (doubtful & np.array(without, dtype=bool))


def _sines_of_others(task: Task, units: Mapping[str, str]) -> Bool[np.ndarray, " K"]:
    """Return a mask of the sines and cosines of variables that are not known to be angles."""
    low, high = task.observed.extent.range
    angles = {
        v
        for v, name in enumerate(task.observed.names)
        if is_angle(name, units.get(name, ""), float(low[v]), float(high[v]))
    }
    return np.array(
        [
            sine_argument(term) is not None and not variables_of(term) <= angles
            for term in task.features.terms
        ]
    )


def _sines_replace(
    task: Task, full: SelectionResult, plain: SelectionResult, doubtful: Bool[np.ndarray, " K"]
) -> Bool[np.ndarray, " c"]:
    """Return a mask of the equations in which sines replace other terms and reduce the error.

    Only sines of variables with both signs count, because a variable of one sign is not an angle
    about a rest position. Equations with no more terms than before need not be clearly better. If
    an equation has more terms with sines than without, the sines only correct a polynomial.
    """
    low, high = task.observed.extent.range
    one_sign = {int(v) for v in np.flatnonzero(low * high >= 0)}
    sines = [_variables(task, row & doubtful) for row in full.support]
    fewer = full.support.sum(axis=1) <= plain.support.sum(axis=1)
    has_sines = np.array([bool(v) and not v & one_sign for v in sines], dtype=bool)
    return fewer & has_sines & (_errors(full) < _errors(plain))


def _variables(task: Task, terms: Bool[np.ndarray, " K"]) -> set[int]:
    return {v for k in np.flatnonzero(terms) for v in variables_of(task.features.terms[k])}


def _errors(selection: SelectionResult) -> Float[np.ndarray, " c"]:
    """Return the held-out mean squared error of each equation, relative to the mean square of its
    target.
    """
    return np.array([path.outer[path.chosen] for path in selection.paths])


def _is_explained(selection: SelectionResult) -> Bool[np.ndarray, " c"]:
    """Return a mask of the equations whose residual on held-out rows is noise."""
    noise = np.zeros(len(selection.paths))
    if selection.evidence is not None:
        cells = selection.evidence.cells
        noise = cells.target_mse / np.maximum(cells.all.yy, 1e-300)
    return _errors(selection) < (1 + limits.EXPLAINED_NOISE) * noise + limits.EXPLAINED_SHARE
