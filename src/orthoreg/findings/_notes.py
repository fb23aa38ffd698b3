"""Notes beside verdict and advice."""

from collections.abc import Mapping, Sequence

from . import _limits as limits
from ._findings import CertificateRow
from ._words import interval, listed, percent


def certificate_notes(
    rows: Sequence[CertificateRow], dependences: Sequence[str], *, is_selected: bool
) -> list[str]:
    """Return notes on terms that depend on each other and on the residual. `is_selected` says that
    a selection chose the terms, not the L1 norm."""
    notes = [
        f"On these data {relation}, so they cannot distinguish these terms."
        for relation in dependences
    ]
    notable = [row for row in rows if row.residual_share > limits.NOTABLE_RESIDUAL]
    if any(row.overlap < limits.NEGLIGIBLE_OVERLAP for row in notable):
        notes.append(
            "The residual is what the terms in use cannot represent. If missing physics correlates "
            "with a term, that term's coefficient absorbs part of it. model.explain(data), on the "
            "command line `orthoreg explain`, proposes formulas for the residual."
        )
    for row in notable:
        if row.library_share <= limits.LIBRARY_SHARE:
            continue
        if row.overlap >= limits.NEGLIGIBLE_OVERLAP:
            reason = "terms; a higher orthogonality keeps them out of it"
        elif is_selected:
            reason = "terms that were left out because they did not hold on other rows"
        else:
            reason = "terms that were left out; a lower sparsity lets them in"
        notes.append(
            f"{percent(row.library_share)} of the residual of {row.equation}' could be represented "
            f"by library {reason}."
        )
    return notes


NO_EVIDENCE = (
    "No intervals or probabilities: the terms of this model were given or accepted instead of "
    "selected by its fit, or its file comes from a version that did not store them."
)
NO_DATA = (
    "This summary is of the fit alone. Forecasts and advice need data: call model.summary(data) "
    "before the model is saved."
)


def weak_form(widths: Sequence[float]) -> str:
    """Return a note on the fit of noisy or coarse data."""
    wide = listed([f"{2 * width:.3g}" for width in widths])
    return (
        f"Fitted in the weak form (integrals over time windows of {wide}) instead of to "
        f"derivatives, which are unreliable with noise, few samples or switched inputs."
    )


def held_inputs(names: Sequence[str]) -> str:
    """Return a note on inputs that trajectories, not their values, show to be held."""
    are = "is" if len(names) == 1 else "are"
    return (
        f"{listed(names)} {are} read as held between rows: the same equations follow the data "
        f"clearly better than with a smooth curve through the values."
    )


def left_out_values(counts: Mapping[str, int]) -> str:
    """Return a note on values that were left out of a fit of noisy data."""
    each = listed([f"{name} ({count})" for name, count in counts.items()])
    return f"Outliers, far from the rows before and after them, were left out: {each}."


INTERVALS_KNOW_NOISE = (
    "Intervals come from the matched trajectories and account for measurement noise."
)
INTERVALS_NOT_KNOWN = (
    "No intervals: there are too few rows to estimate the noise and too few runs to compare."
)
NOISE_NOT_IN_INTERVALS = (
    "Intervals come from leaving out runs or stretches of rows in turn. They do not account for "
    "the bias that noise and smoothing cause, and may be too narrow."
)


def in_units(units: Mapping[str, str]) -> str:
    """Return a note on the units of the equations."""
    return f"Units: {', '.join(f'{name} in {unit}' for name, unit in units.items())}."


def given_rates(velocity_of: Mapping[str, str], estimated: Sequence[str]) -> str:
    """Return a note on equations of second order and on velocities that were not measured."""
    given = listed([f"{position}' = {rate}" for position, rate in velocity_of.items()])
    are = "is" if len(velocity_of) == 1 else "are"
    text = f"{given} {are} given, not learned"
    if estimated:
        was = "was" if len(estimated) == 1 else "were"
        text += (
            f"; {listed(estimated)} {was} not measured but estimated from the positions, so "
            f"forecasts are scored on measured states only"
        )
    return f"{text}."


def estimated_constants(
    constants: Sequence[tuple[str, float, tuple[float, float] | None]],
    scale: Sequence[str] = (),
) -> str:
    """Return a note on estimated constants with their intervals; those of `scale` are one."""
    shown = [
        f"{name} = {value:.5g}" + ("" if ends is None else f" ({interval(*ends)})")
        for name, value, ends in constants
    ]
    text = f"Estimated from the data: {listed(shown, most=12)}."
    if scale:
        text += (
            f" The equations determine them up to a common factor, which {listed(scale)} = 1 "
            f"settles; a known value settles it as well."
        )
    return text


CORRELATED_ESTIMATES = (
    "Correlated estimates: the data determine a combination of such constants better than each "
    "alone. Intervals are joint, with all constants free."
)


def constants_at_bounds(names: Sequence[str]) -> str:
    """Return a note on constants whose interval ends at a bound."""
    are, its = ("is", "its interval ends") if len(names) == 1 else ("are", "their intervals end")
    return f"{listed(names)} {are} at a bound: {its} there, and the data alone might go beyond it."


def held_by_a_bound(equation: str, terms: Sequence[str]) -> str:
    """Return a note on coefficients at a bound."""
    are = "is" if len(terms) == 1 else "are"
    return (
        f"In {equation}', {listed(terms)} {are} at the bound: the data alone would put the "
        f"coefficient beyond it."
    )


def no_candidates(terms: Sequence[str]) -> str:
    """Return a note on sines and cosines that the default library does not consider."""
    were = "was" if len(terms) == 1 else "were"
    return (
        f"{', '.join(terms)} {were} not considered: the default "
        f"library has sines and cosines of angles that cover a quarter of a period, and of other "
        f"columns only if the data clearly prefer them. A library of your own choice keeps them."
    )


def thinned(seen: int, samples: int) -> str:
    """Return a note that not all rows were used."""
    return f"Verdict and advice are based on {seen} of {samples} rows."
