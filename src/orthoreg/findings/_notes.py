"""Write the notes that accompany verdict and advice."""

import math
from collections.abc import Mapping, Sequence

from .._common.notation import left_side
from ..data import PURE_NUMBER, Dataset, Delay, PerRun, Relation
from ..export import CoefficientUnits
from ..matching import Undetermined
from ..smoothing import find_range_limits
from . import _limits as limits
from ._findings import CertificateRow
from ._words import counted, interval, listed, percent


def certificate_notes(
    rows: Sequence[CertificateRow], dependences: Sequence[str], *, is_selected: bool
) -> list[str]:
    """Return notes on linearly dependent terms and on the residual.

    `is_selected` is true if a selection method, not the L1 norm, chose the terms.
    """
    notes = [
        f"On these data, {relation}, so the data cannot distinguish these terms."
        for relation in dependences
    ]
    notable = [row for row in rows if row.residual_share > limits.NOTABLE_RESIDUAL]
    if any(row.overlap < limits.NEGLIGIBLE_OVERLAP for row in notable):
        notes.append(
            "The residual represents dynamics that the terms in use cannot represent. If missing "
            "physics correlates with a term, the term's coefficient absorbs part of it. "
            "model.explain(data), or `orthoreg explain` on the command line, proposes formulas "
            "for the residual."
        )
    for row in notable:
        if row.library_share <= limits.LIBRARY_SHARE:
            continue
        if row.overlap >= limits.NEGLIGIBLE_OVERLAP:
            reason = "terms; increase orthogonality to prevent this"
        elif is_selected:
            reason = "terms that were left out because they did not hold on other rows"
        else:
            reason = "terms that were left out; decrease sparsity to include them"
        notes.append(
            f"{percent(row.library_share)} of the residual of {left_side(row.equation)} could be "
            f"represented "
            f"by library {reason}."
        )
    return notes


NO_EVIDENCE = (
    "No intervals or probabilities: the terms of this model were given or accepted, not selected "
    "by its fit, or its file comes from a version that did not store them."
)
NO_DATA = (
    "This summary covers the fit alone. Forecasts and advice need data: call model.summary(data) "
    "before the model is saved."
)


def weak_form(widths: Sequence[float]) -> str:
    """Return a note that the weak form was used."""
    wide = listed([f"{2 * width:.3g}" for width in widths])
    return (
        f"Fitted in the weak form (integrals over time windows of {wide}), not to derivatives, "
        "which are unreliable with noise, few samples or switched inputs."
    )


def rows_without_history(delays: Sequence[Delay]) -> str:
    """Return a note on rows that were left out because a delayed variable has no value there."""
    longest = max(delay.value for delay in delays)
    are = "is" if len(delays) == 1 else "are"
    return (
        f"{listed([delay.shown(4) for delay in delays])} {are} read from the data. Rows within "
        f"{longest:.4g} of the start of a run have no such history and were left out."
    )


def held_inputs(names: Sequence[str]) -> str:
    """Return a note on inputs that are held between rows.

    Trajectories, not their values, showed this.
    """
    are = "is" if len(names) == 1 else "are"
    return (
        f"{listed(names)} {are} treated as held between rows, because the same equations then "
        f"follow the data clearly better than with smooth interpolation."
    )


def left_out_values(counts: Mapping[str, int]) -> str:
    """Return a note on outliers that were left out of a fit of noisy data."""
    each = listed([f"{name} ({count})" for name, count in counts.items()])
    return f"Outliers (values far from those before and after) were left out: {each}."


def clipped_values(data: Dataset) -> list[str]:
    """Return notes on states and inputs with values at the limits of their sensors."""
    notes = []
    for c, name in enumerate(data.state_names):
        for side, sign, extreme, bound in _SIDES:
            count = int((data.plan.clipped[:, c] == sign).sum())
            if count:
                limit = f"{data.plan.range_limits[side, c]:.5g}"
                notes.append(
                    f"{name} is at its {extreme} value {limit} in {counted(count, 'row')}, where "
                    f"the range of its sensor ends. These values are treated as {bound} {limit}, "
                    "and estimates of noise, windows and derivatives leave them out."
                )
    if data.inputs is None or data.discrete:
        return notes
    limits_of_inputs = find_range_limits(data.times, data.inputs, data.offsets)
    for c, name in enumerate(data.input_names):
        for side, _, extreme, _ in _SIDES:
            limit = limits_of_inputs[side, c]
            count = int((data.inputs[:, c] == limit).sum())
            if count:
                notes.append(
                    f"{name} is at its {extreme} value {limit:.5g} in {counted(count, 'row')}, as "
                    f"if at a limit. Inputs are used as they are: the system must have received "
                    f"these values."
                )
    return notes


_SIDES = ((1, 1, "largest", "at least"), (0, -1, "smallest", "at most"))
"""Return the column index, the limit, the sign in `Plan.clipped`, and words for the limit."""

INTERVALS_KNOW_NOISE = (
    "Intervals come from the matched trajectories and account for measurement noise."
)
INTERVALS_WITH_DELAYED_STATES = (
    "Intervals come from the matched trajectories. Delayed states are read from the smoothed "
    "measurements. The intervals do not account for errors of these readings and may be too "
    "narrow."
)
INTERVALS_NOT_KNOWN = (
    "No intervals: there are too few rows to estimate the noise and too few runs to compare."
)
NOISE_NOT_IN_INTERVALS = (
    "Intervals come from leaving out runs, or stretches of rows, in turn. They do not account for "
    "the bias that noise and smoothing cause, and may be too narrow."
)


def in_units(units: Mapping[str, str], unreadable: Sequence[str] = ()) -> str:
    """Return a note on the units of the columns. `unreadable` are texts that are not known
    units.
    """
    text = f"Units: {', '.join(f'{name} in {unit}' for name, unit in units.items())}."
    if unreadable:
        shown = listed([f"'{unit}'" for unit in dict.fromkeys(unreadable)])
        is_kept = (
            "is not a known unit and is" if len(unreadable) == 1 else "are not known units and are"
        )
        text += f" {shown} {is_kept} kept as text."
    return text


def unlike_arguments(terms: Sequence[str], angles: Sequence[str] = ()) -> str:
    """Return a note on library terms with arguments that are not pure numbers, and on `angles`
    whose unit is not rad.
    """
    were = "was" if len(terms) == 1 else "were"
    return (
        f"{listed(terms, most=12)} {were} not considered: by the units of the columns, "
        f"{'its argument is' if len(terms) == 1 else 'their arguments are'} no pure "
        f"{'number' if len(terms) == 1 else 'numbers'}." + _in_radians(angles)
    )


def _in_radians(angles: Sequence[str]) -> str:
    if not angles:
        return ""
    return (
        f" For sines of {listed(angles)}, read the columns in rad, as in units={{'{angles[0]}': "
        f"'rad'}} or --units {angles[0]}=rad."
    )


def given_rates(velocity_of: Mapping[str, str], estimated: Sequence[str]) -> str:
    """Return a note on second-order equations and on velocities that were not measured."""
    given = listed([f"{left_side(position)} = {rate}" for position, rate in velocity_of.items()])
    are = "is" if len(velocity_of) == 1 else "are"
    text = f"{given} {are} given, not learned"
    if estimated:
        was = "was" if len(estimated) == 1 else "were"
        text += (
            f"; {listed(estimated)} {was} not measured but estimated from the positions, so "
            f"forecasts are scored on measured states only"
        )
    return f"{text}."


def hidden_states(names: Sequence[str]) -> str:
    """Return a note on hidden states."""
    was = "was" if len(names) == 1 else "were"
    return (
        f"{listed(names)} {was} not measured but estimated together with the constants, so "
        "forecasts are scored on measured states only."
    )


def constants_of_runs(constants: Sequence[PerRun], units: CoefficientUnits | None = None) -> str:
    """Return a note on constants that differ between runs."""
    shown = []
    for constant in constants:
        unit, factor = "", 1.0
        if units is not None:
            unit, factor = units.of_constant(constant.name), units.factor_of_constant(constant.name)
        unit = f" {unit}" if unit not in ("", PURE_NUMBER) else ""
        std = percent(constant.std) if constant.is_log else f"{constant.std * factor:.2g}{unit}"
        median = f"{constant.center * factor:.4g}{unit}"
        shown.append(f"{constant.name} has the median {median} and varies by {std}")
    return f"Constants of single runs (standard deviation over runs): {listed(shown, most=12)}."


def relations_of_runs(constants: Sequence[PerRun]) -> list[str]:
    """Return notes on constants per run that depend on covariates."""
    return [
        _relation_of_runs(constant.name, constant.relation)
        for constant in constants
        if constant.relation is not None
    ]


def _relation_of_runs(name: str, relation: Relation) -> str:
    ends = [interval(*pair) for pair in relation.intervals]
    if len(ends) > 1:
        ends = [f"{v:.4g}: {text}" for v, text in zip(relation.values, ends, strict=True)]
    freedom = relation.degrees_of_freedom
    text = f"{name} {'follows' if relation.is_exact else 'roughly follows'} {relation.text} (95% "
    text += f"interval{'s' * (len(ends) > 1)} {listed(ends)})"
    if relation.is_exact:
        text += (
            f": the intervals of the {freedom + len(relation.values)} runs explain all deviations "
            f"(chi-squared {relation.chi_squared:.3g}, {freedom} expected)"
        )
    else:
        scatter = percent(relation.scatter) if relation.is_relative else f"{relation.scatter:.2g}"
        text += f": runs scatter around it by {scatter}, more than their intervals explain"
    return (
        f"{text}. Left-out runs are predicted within {percent(relation.left_out_error)}, by the "
        f"mean of the others within {percent(relation.spread)}. Forecasts of runs with known "
        f"{listed(relation.covariates)} use the relation."
    )


def undetermined_constants(undetermined: Undetermined) -> str:
    """Return a note on constants that the data do not determine."""
    constants = undetermined.constants
    if undetermined.combinations:
        text = f"Of {listed(constants)} the data determine only {listed(undetermined.combinations)}"
    else:
        do = "does" if len(constants) == 1 else "do"
        text = f"{listed(constants)} {do} not follow from the data"
    remedy = "Give the value of one of them"
    if undetermined.states:
        remedy += f", or the first value of {listed(undetermined.states)}"
    return f"{text}: other values fit equally well. {remedy}."


def estimated_constants(
    constants: Sequence[tuple[str, float, tuple[float, float] | None]],
    scale: Sequence[str] = (),
    units: CoefficientUnits | None = None,
) -> str:
    """Return a note on estimated constants with their intervals. Those in `scale` are set to 1."""
    shown = []
    for name, value, ends in constants:
        if math.isnan(value):
            continue
        unit, factor = "", 1.0
        if units is not None:
            unit, factor = units.of_constant(name), units.factor_of_constant(name)
        unit = f" {unit}" if unit not in ("", PURE_NUMBER) else ""
        shown.append(f"{name} = {value * factor:.5g}{unit}")
        if ends is not None:
            shown[-1] += f" ({interval(*(end * factor for end in ends))})"
    if not shown:
        return "No constant can be estimated from the data."
    text = f"Estimated from the data: {listed(shown, most=12)}."
    if scale:
        text += (
            " The equations determine them only up to a common factor, which is fixed by "
            f"{listed(scale)} = 1. Any known value can fix it instead."
        )
    return text


CORRELATED_ESTIMATES = (
    "Correlated estimates: the data determine a combination of such constants better than each "
    "constant alone. Intervals are joint, with all constants free."
)


def constants_at_bounds(names: Sequence[str]) -> str:
    """Return a note on constants whose interval ends at a bound."""
    are, its = ("is", "its interval ends") if len(names) == 1 else ("are", "their intervals end")
    return (
        f"{listed(names)} {are} at a bound: {its} there, although the data may favour values "
        f"beyond the bound."
    )


def held_by_a_bound(equation: str, terms: Sequence[str]) -> str:
    """Return a note on coefficients at a bound."""
    are = "is" if len(terms) == 1 else "are"
    return (
        f"In {left_side(equation)}, {listed(terms)} {are} at the bound: the data favour a "
        f"coefficient beyond the bound."
    )


def no_candidates(terms: Sequence[str]) -> str:
    """Return a note on sines and cosines that the default library leaves out."""
    were = "was" if len(terms) == 1 else "were"
    return (
        f"{', '.join(terms)} {were} not considered: the default library has sines and cosines only "
        "of angles that cover a quarter of a period, and of other columns that clearly need them. "
        "A library that you choose keeps them."
    )


def thinned(seen: int, samples: int) -> str:
    """Return a note that only some rows were used."""
    return f"Verdict and advice are based on {seen} of {samples} rows."
