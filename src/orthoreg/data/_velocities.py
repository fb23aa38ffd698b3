"""Positions whose velocities were not measured: the states of a second-order system."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._common.errors import DataError
from ..smoothing import SHORTEST, best_polynomial, velocities
from ._checks import check_names


def named_positions(positions: Any) -> dict[str, str | None]:
    """Each position's column with that of its velocity, None where it was not measured."""
    if isinstance(positions, Mapping):
        check_names(list(positions), "positions")
        return {str(name): None if v is None else str(v) for name, v in positions.items()}
    return dict.fromkeys(check_names(positions or (), "positions"))


def preferred_slopes(
    data: Any, positions: Mapping[str, str | None]
) -> tuple[tuple[int, int] | None]:
    """The polynomial whose slopes are the velocities that were not measured, alone in a tuple."""
    places = [data.state_names.index(name) for name, rate in positions.items() if rate is None]
    some = data.sample
    return (best_polynomial(some.times, some.states[:, places], some.offsets),)


def second_order(
    data: Any,
    positions: Mapping[str, str | None],
    slopes: tuple[tuple[int, int] | None] | None = None,
) -> dict[str, Any]:
    """The parts of a `Dataset` that change: positions first, then the velocity of each, then all
    other states. Velocities that are None are estimated, by the polynomial in `slopes` where that
    was chosen already."""
    names, taken = data.state_names, {data.time_name, data.group_name, *data.variable_names}
    rates: dict[str, str] = {}
    for position, velocity in positions.items():
        rates[position] = velocity or _free_name(f"{position}_dot", taken)
        taken.add(rates[position])
    estimated = tuple(rates[name] for name, velocity in positions.items() if velocity is None)
    others = [name for name in names if name not in rates and name not in rates.values()]
    columns = {name: data.states[:, [names.index(name)]] for name in names}
    if estimated:
        missing = {name: rates[name] for name in rates if not positions[name]}
        columns |= _estimates(data, missing, slopes)
    order = [*rates, *rates.values(), *others]
    return {
        "states": np.hstack([columns[name] for name in order]),
        "state_names": tuple(order),
        "units": _units(data, rates),
        "velocity_of": rates,
        "estimated": estimated,
        "filled": _filled(data, order),
    }


def _filled(data: Any, order: Sequence[str]) -> np.ndarray | None:
    """The marks of values that nobody measured, in the order of these states."""
    if data.filled is None:
        return None
    found = np.zeros((len(data.filled), len(order)), dtype=bool)
    for place, name in enumerate(order):
        if name in data.state_names:
            found[:, place] = data.filled[:, data.state_names.index(name)]
    return found


def _estimates(
    data: Any, rates: Mapping[str, str], slopes: tuple[tuple[int, int] | None] | None
) -> dict[str, np.ndarray]:
    """An estimate of each velocity, from its position."""
    short = np.flatnonzero(data.run_lengths < SHORTEST)
    if short.size:
        run = int(short[0])
        count = int(data.run_lengths[run])
        raise DataError(
            f"{data.source}: run {data.labels[run]} has {count} row{'s' * (count != 1)}; a "
            f"velocity needs at least {SHORTEST} in each run. Remove the short runs "
            f"({short.size} of {data.n_runs})."
        )
    places = [data.state_names.index(name) for name in rates]
    (polynomial,) = slopes or preferred_slopes(data, dict.fromkeys(rates))
    found = velocities(data.times, data.states[:, places], data.offsets, polynomial)
    return {name: found[:, [i]] for i, name in enumerate(rates.values())}


def _free_name(name: str, taken: set[str | None]) -> str:
    while name in taken:
        name += "_"
    return name


def _units(data: Any, rates: Mapping[str, str]) -> dict[str, str]:
    """Units, with that of a velocity where those of position and time are known."""
    units, time = dict(data.units), data.units.get(data.time_name)
    for position, velocity in rates.items():
        if time and position in units:
            units.setdefault(velocity, f"{units[position]}/{time}")
    return units
