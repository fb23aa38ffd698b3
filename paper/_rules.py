"""Rules that compare records to decide a claim."""

import math
from collections.abc import Callable, Mapping, Sequence

from ._evidence import (
    FAILS,
    HOLDS,
    LABELS,
    UNTESTED,
    Evidence,
    MissingRecordsError,
    Part,
    Reading,
    Spread,
    Verdict,
    best,
    is_ahead,
)
from ._labels import metric_label

F1 = "f1@0.001"
HIGHER = (F1, "f1@0.045")
"""Metrics for which higher is better."""


def verdict(
    number: int,
    claim: str,
    labels: tuple[str, ...],
    rule: str,
    paper: str,
    readings: tuple[Reading, ...],
    why: str = "",
) -> Verdict:
    """Return a verdict. `why` is included only if readings have different outcomes."""
    differ = {HOLDS, FAILS} <= {reading.verdict for reading in readings}
    return Verdict(number, claim, labels, rule, paper, readings, why if differ else "")


def readings(
    cases: Mapping[str, str], reading: Callable[[str, str], Reading]
) -> tuple[Reading, ...]:
    """Return a reading for each case, or `UNTESTED` with the missing records."""
    results = []
    for name, case in cases.items():
        try:
            results.append(reading(name, case))
        except MissingRecordsError as error:
            results.append(Reading(name, UNTESTED, str(error)))
    return tuple(results)


def best_other(
    evidence: Evidence, setting: str, rivals: Sequence[str], metric: str
) -> tuple[str, Spread]:
    """Return the best rival and its values."""
    spreads = {method: evidence.of(setting, method, metric) for method in rivals}
    name = best(spreads, lower=metric not in HIGHER)
    return name, spreads[name]


def lead(evidence: Evidence, setting: str, ours: str, rivals: Sequence[str], metric: str) -> Part:
    """Return whether `ours` is better than every rival, with a text on the best rival."""
    lower = metric not in HIGHER
    own = evidence.of(setting, ours, metric)
    name, other = best_other(evidence, setting, rivals, metric)
    holds = all(is_ahead(own, evidence.of(setting, rival, metric), lower=lower) for rival in rivals)
    return Part(f"{metric_label(metric)} {own} against {other} ({LABELS[name]})", holds)


def cost(evidence: Evidence, setting: str, ours: str, rivals: Sequence[str]) -> Part:
    own = evidence.of(setting, ours, "derivative.id")
    name, other = best_other(evidence, setting, rivals, "derivative.id")
    text = f"ID derivative error {own}, larger than {other} ({LABELS[name]})"
    return Part(text, is_ahead(other, own, lower=True))


def gain(evidence: Evidence, setting: str, ours: str, rivals: Sequence[str]) -> Spread:
    """Return log10 of the ratio of the best rival's T3 error to ours, over common seeds."""
    rival, _ = best_other(evidence, setting, rivals, "derivative.t3")
    own, other = (evidence.seeds(setting, m, "derivative.t3") for m in (ours, rival))
    pairs = [(other[seed], own[seed]) for seed in own if seed in other]
    return Spread.of(math.log10(a / b) for a, b in pairs if a > 0 and b > 0)


def f1_gain(evidence: Evidence, setting: str, ours: str, rivals: Sequence[str]) -> float:
    own = evidence.of(setting, ours, F1).mean
    return own - best_other(evidence, setting, rivals, F1)[1].mean


def shown(evidence: Evidence, setting: str, methods: Sequence[str], *metrics: str) -> str:
    """Return the recorded values of metrics that are not part of the rule."""
    texts = []
    for metric in metrics:
        spreads = {method: evidence.get(setting, method, metric) for method in methods}
        values = [f"{LABELS[m]} {spread}" for m, spread in spreads.items() if spread is not None]
        if values:
            texts.append(f"{metric_label(metric)}: {', '.join(values)}")
    return f"not part of the rule: {'; '.join(texts)}" if texts else ""
