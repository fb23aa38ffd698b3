"""Compute findings from the parts of a fitted model and data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._common.notation import left_side
from ..data import Dataset, Rows, split_delayed
from ..export import CoefficientUnits
from ..simulation import Interpolation, Rollout, input_interpolation
from ._advise import advise
from ._assess import assess, judged
from ._findings import (
    CertificateRow,
    ConfoundedTerms,
    CorrelatedEstimates,
    EquationScore,
    Findings,
    PathRow,
    Scores,
    TermRow,
)
from ._motion import motion_of
from ._notes import (
    CORRELATED_ESTIMATES,
    INTERVALS_KNOW_NOISE,
    INTERVALS_NOT_KNOWN,
    INTERVALS_WITH_DELAYED_STATES,
    NO_DATA,
    NO_EVIDENCE,
    NOISE_NOT_IN_INTERVALS,
    certificate_notes,
    clipped_values,
    constants_at_bounds,
    constants_of_runs,
    estimated_constants,
    given_rates,
    held_by_a_bound,
    held_inputs,
    hidden_states,
    in_units,
    left_out_values,
    no_candidates,
    relations_of_runs,
    rows_without_history,
    thinned,
    undetermined_constants,
    unlike_arguments,
    weak_form,
)
from ._observations import Observations, of_map, of_motion, of_samples
from ._scores import derivative_scores, forecast_sample, forecast_scores, true_states
from ._subject import Subject
from ._verdict import verdict_of

_EXPLAINED = ("explained", "noise-limited")
"""Statuses of equations whose terms have a probability."""


def summarize(
    subject: Subject,
    data: Dataset | None = None,
    samples: Rows | None = None,
    forecasts: Sequence[Rollout] | None = None,
) -> Findings:
    """Return the findings on runs, on states and derivatives, or on the fit alone.

    `forecasts` are forecasts of the runs in `forecast_sample(data)`.
    """
    runs = None if data is None else forecast_sample(data)
    data = None if data is None else data.sorted_runs
    counts = _outliers(data) if subject.widths and data is not None else {}
    at_limits = [] if data is None else clipped_values(data)
    if counts and data is not None:
        data = data.plan.clean  # clean rows, as in the fit
    seen = _observations(subject, None if data is None else data.plan.continued, samples)
    scores = _scores(subject, data, seen)
    if runs is not None and forecasts is not None:
        true = true_states(runs.plan.clean if counts else runs, forecasts)
        scores = replace(scores, **forecast_scores(forecasts, true, runs.is_measured))
    terms = term_rows(subject, scores.equations)
    certificate = certificate_rows(subject)
    known = subject.coefficient_units
    unlike = () if known is None else known.unlike_terms()
    rows = _count(data, samples)
    notes = [
        *_unit_notes(subject, certificate, unlike),
        *_data_notes(subject, data, counts, at_limits),
        *_estimate_notes(subject, unlike),
    ]
    if subject.evidence is None:
        notes.append(NO_EVIDENCE)
    if rows is None:
        notes.append(NO_DATA)
    elif seen is not None and len(seen.samples.targets) < _countable(data, rows):
        notes.append(thinned(len(seen.samples.targets), rows))
    where = "on the rows of the fit" if seen is None else "on held-out rows"
    return Findings(
        equations=subject.equations,
        verdict=verdict_of(scores, terms, rows, where),
        advice=advise(
            subject.field,
            subject.recipe,
            data,
            seen,
            scores,
            subject.learned,
            subject.complete,
            subject.at_bounds,
        ),  # fmt: skip
        scores=scores,
        terms=terms,
        matched_terms=subject.evidence is not None and subject.evidence.from_trajectories,
        confounded=_confounded(subject),
        certificate=certificate,
        orthogonality=float(subject.certificate.orthogonality),
        notes=tuple(notes),
        paths=_paths(subject),
        correlations=tuple(CorrelatedEstimates(*pair) for pair in subject.correlations),
        source=None if data is None else data.source,
        runs=None if data is None else data.n_runs,
        samples=rows,
    )


def _unit_notes(
    subject: Subject, certificate: Sequence[CertificateRow], unlike: Sequence[str]
) -> list[str]:
    """Return notes on the certificate and on units; `unlike` terms combine unlike quantities."""
    known = subject.coefficient_units
    notes = certificate_notes(
        certificate, _dependences_of_candidates(subject), is_selected=subject.is_selected
    )
    if subject.units:
        notes.insert(0, in_units(subject.units, () if known is None else known.units.unreadable))
    if unlike:
        notes.append(unlike_arguments(unlike, () if known is None else known.other_angles()))
    return notes


def _data_notes(
    subject: Subject, data: Dataset | None, outliers: Mapping[str, int], at_limits: Sequence[str]
) -> list[str]:
    """Return notes on windows, outliers, sensor limits, inputs and delays."""
    notes = [weak_form(subject.widths)] if subject.widths else []
    if outliers:
        notes.append(left_out_values(outliers))
    notes += at_limits
    if data is not None and (held := _held_inputs(subject, data)):
        notes.append(held_inputs(held))
    if data is not None and data.delays:
        notes.append(rows_without_history(data.delays))
    return notes


def _estimate_notes(subject: Subject, unlike: Sequence[str]) -> list[str]:
    """Return notes on constants, their intervals, unmeasured states and terms left out."""
    notes = [f"Constants on trajectories: {subject.refined}."] if subject.refined else []
    notes += [f"Accepted into the library of {one}." for one in subject.accepted]
    if subject.knows_noise:
        has_delays = _has_delayed_states(subject)
        notes.append(INTERVALS_WITH_DELAYED_STATES if has_delays else INTERVALS_KNOW_NOISE)
    elif subject.evidence is not None and not subject.is_stuck:
        if np.isnan(subject.evidence.interval).any():
            notes.append(INTERVALS_NOT_KNOWN)
        elif subject.widths and np.any(np.asarray(subject.field.coefficients)[subject.learned]):
            notes.append(NOISE_NOT_IN_INTERVALS)
    if subject.velocity_of:
        notes.append(given_rates(subject.velocity_of, subject.estimated))
    constants = {constant.name for constant in subject.per_run}
    if hidden := [name for name in subject.hidden if name not in constants]:
        notes.append(hidden_states(hidden))
    if subject.per_run:
        notes.append(constants_of_runs(subject.per_run, subject.coefficient_units))
        notes += relations_of_runs(subject.per_run)
    if subject.undetermined is not None:
        notes.append(undetermined_constants(subject.undetermined))
    if subject.parameters:
        scale = [name for one in subject.systems for name in one.scale]
        notes.append(estimated_constants(subject.parameters, scale, subject.coefficient_units))
    if subject.correlations:
        notes.append(CORRELATED_ESTIMATES)
    notes += _bound_notes(subject)
    left_out = [term for term in subject.left_out if term not in unlike]
    if left_out and set(subject.learned) - set(subject.complete):
        notes.append(no_candidates(left_out))
    return notes


def _has_delayed_states(subject: Subject) -> bool:
    """Return whether terms contain delayed states."""
    delayed = map(split_delayed, subject.field.features.variables)
    return any(parts is not None and parts[0] in subject.outputs for parts in delayed)


def _held_inputs(subject: Subject, data: Dataset) -> list[str]:
    """Return the inputs that are held between rows although their values show no steps."""
    kinds = subject.interpolation or {}
    visible = input_interpolation(data.input_names, data)
    return [
        name
        for name, kind in kinds.items()
        if kind == Interpolation.hold and visible.get(name, kind) != kind
    ]


def _dependences_of_candidates(subject: Subject) -> list[str]:
    """Return the linear dependences between candidate terms on the data."""
    left_out = tuple(f"{term} = " for term in subject.left_out)
    return [
        relation
        for relation in subject.certificate.dependences
        if not relation.startswith(left_out)
    ]


def _bound_notes(subject: Subject) -> list[str]:
    """Return notes on coefficients and constants at a bound, without repetition."""
    labels = dict(zip(subject.outputs, subject.labels, strict=True))
    notes, mentioned = [], set()
    for equation in subject.certificate.equations:
        if equation.active_bounds:
            notes.append(held_by_a_bound(equation.equation, equation.active_bounds))
            mentioned |= {
                f"{left_side(labels.get(equation.equation, equation.equation))}: {t}"
                for t in equation.active_bounds
            }
    remaining = [name for name in subject.at_bounds if name not in mentioned]
    return [*notes, constants_at_bounds(remaining)] if remaining else notes


def _observations(
    subject: Subject, data: Dataset | None, samples: Rows | None
) -> Observations | None:
    if data is not None and data.discrete:
        return of_map(data)
    if data is not None:
        motion = motion_of(data, subject.differentiation)
        return None if motion is None else of_motion(motion)
    return None if samples is None else of_samples(samples)


def _outliers(data: Dataset) -> dict[str, int]:
    """Return the number of outliers of each measured state that has any."""
    counts = data.plan.outliers.is_outlier.sum(axis=0)
    names = np.array(data.state_names)[data.is_measured]
    return {str(name): int(n) for name, n in zip(names, counts, strict=True) if n}


def _count(data: Dataset | None, samples: Rows | None) -> int | None:
    if data is not None:
        return data.n_samples
    return None if samples is None else len(samples.targets)


def _countable(data: Dataset | None, rows: int) -> int:
    """Return the number of rows with a derivative or, for a map, with a next state."""
    return len(data.rows_with_next()) if data is not None and data.discrete else rows


def _scores(
    subject: Subject,
    data: Dataset | None,
    seen: Observations | None,
) -> Scores:
    learned = subject.learned
    scores = assess(subject.field, subject.certificate, subject.labels, seen)
    in_time = data is not None and data.derivatives is None
    if data is not None and in_time and subject.interpolation is not None:
        evidence = subject.evidence
        probability = None if evidence is None else evidence.equation_probability
        scores = judged(
            scores, subject.field, data, subject.interpolation, probability, subject.starts
        )
    equations = tuple(scores[c] for c in learned)
    values: dict[str, Any] = {}
    if seen is not None:
        predicted = subject.field.values(seen.samples.variables)[:, learned]
        names = [subject.outputs[c] for c in learned]
        values |= derivative_scores(predicted, seen.samples.targets[:, learned], names)
        del values["derivative_error_by_equation"]  # the equations' own scores contain these errors
    return Scores(equations, **values)


def with_fit(stored: Findings, subject: Subject) -> Findings:
    """Return findings from a file, with all statements about the fit computed again.

    The statements then describe the model in the file.
    """
    return replace(
        stored,
        equations=subject.equations,
        terms=term_rows(subject, stored.scores.equations),
        certificate=certificate_rows(subject),
        orthogonality=float(subject.certificate.orthogonality),
        confounded=_confounded(subject),
        paths=_paths(subject),
    )


def term_rows(subject: Subject, scores: Sequence[EquationScore]) -> tuple[TermRow, ...]:
    """Return the terms in use and the terms that at least one resample selected."""
    field, evidence = subject.field, subject.evidence
    coefficients = np.asarray(field.coefficients)
    rows = []
    explained = {score.equation for score in scores if score.status in _EXPLAINED}
    solved = {rate for system in subject.systems for rate in system.rates}
    for c in subject.learned:
        if c in solved:  # its only term is the whole right-hand side
            continue
        shown = coefficients[c] != 0
        if evidence is not None:
            shown = shown | (evidence.probability[c] > 0)
        for k in np.flatnonzero(shown):
            value = float(coefficients[c, k])
            is_given = bool(value) and subject.fixed is not None and bool(subject.fixed[c, k])
            sure: dict[str, Any] = {}
            if evidence is not None:
                sure["stability"] = float(evidence.probability[c, k])
                if subject.labels[c] in explained:
                    sure["probability"] = sure["stability"]
                low, high = evidence.interval[c, k].tolist()
                sure |= {} if np.isnan(low) else {"low": low, "high": high}
            row = TermRow(
                subject.labels[c], field.features.names[k], value, **sure, is_given=is_given
            )
            rows.append(_with_unit(row, subject.coefficient_units, c, int(k)))
    return tuple(rows)


def _with_unit(row: TermRow, units: CoefficientUnits | None, c: int, k: int) -> TermRow:
    """Return the row with the unit of its coefficient, and its numbers in this unit."""
    if units is None:
        return row
    factor = units.factor(c, k)
    low, high = (None if end is None else end * factor for end in (row.low, row.high))
    return replace(
        row, coefficient=row.coefficient * factor, low=low, high=high, unit=units.text(c, k) or None
    )


def in_units_of(findings: Findings, before: Subject, after: Subject) -> Findings:
    """Return findings about `before` with the numbers of `after`, the same model in other units."""
    old, new = before.coefficient_units, after.coefficient_units
    assert old is not None and new is not None
    labels, names = before.labels, before.field.features.names
    rows = []
    for row in findings.terms:
        c, k = labels.index(row.equation), names.index(row.term)
        factor = new.factor(c, k) / old.factor(c, k)
        low, high = (None if end is None else end * factor for end in (row.low, row.high))
        unit = new.text(c, k) or None
        rows.append(
            replace(row, coefficient=row.coefficient * factor, low=low, high=high, unit=unit)
        )
    scale = [name for one in before.systems for name in one.scale]
    texts = [
        (
            estimated_constants(before.parameters, scale, units),
            constants_of_runs(before.per_run, units) if before.per_run else "",
        )
        for units in (old, new)
    ]
    other = dict(zip(*texts, strict=True))
    notes = (other.get(note, note) for note in findings.notes)
    return replace(findings, equations=after.equations, terms=tuple(rows), notes=tuple(notes))


def certificate_rows(subject: Subject) -> tuple[CertificateRow, ...]:
    """Return a row for each learned equation."""
    rows = zip(subject.labels, subject.certificate.equations, strict=True)
    return tuple(
        CertificateRow(
            equation=label,
            n_terms=certificate.n_terms,
            fit_error=certificate.fit_error,
            residual_share=certificate.residual_share,
            library_share=certificate.library_r2,
            overlap=certificate.overlap,
            penalty=certificate.penalty_bound.observed,
            bound=certificate.penalty_bound.bound,
            bound_holds=certificate.penalty_bound.assumption_holds,
            duality_gap=certificate.duality_gap,
        )
        for c, (label, certificate) in enumerate(rows)
        if c in subject.learned
    )


def _confounded(subject: Subject) -> tuple[ConfoundedTerms, ...]:
    if subject.evidence is None:
        return ()
    names = subject.field.features.names
    return tuple(
        ConfoundedTerms(
            subject.labels[pair.equation],
            names[pair.term],
            names[pair.other],
            pair.correlation,
            f"{left_side(subject.labels[pair.equation])}: {pair.advice}",
        )
        for pair in subject.evidence.pairs
        if pair.equation in subject.learned
    )


def _paths(subject: Subject) -> tuple[PathRow, ...]:
    """Return the errors of each learned equation by number of terms."""
    if not subject.paths:
        return ()
    used = np.asarray(subject.field.coefficients) != 0
    rows = []
    for c in subject.learned:
        path = subject.paths[c]
        matching = [
            i for i, support in enumerate(path.supports) if np.array_equal(support, used[c])
        ]
        rows.append(
            PathRow(
                subject.labels[c],
                tuple(int(count) for count in path.n_terms),
                tuple(float(np.sqrt(max(error, 0.0))) for error in path.inner),
                tuple(float(np.sqrt(max(error, 0.0))) for error in path.outer),
                matching[0] if matching else None,
            )
        )
    return tuple(rows)
