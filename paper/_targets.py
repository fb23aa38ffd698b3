"""Targets of the recommended default, and whether the records meet them."""

from collections.abc import Iterable

from . import complete_library, extrapolation
from ._evidence import LABELS, Evidence, Part, Row, Spread, best

OURS = "recommended"
SPLITS = ("id", "ext", "t2", "t3")
_OTHERS = tuple(name for name in extrapolation.METHODS if name != OURS)


def targets(records: Iterable[Row]) -> tuple[Part, ...]:
    """Return a statement with numbers for each target that has records."""
    evidence = Evidence.from_records(records)
    settings = [name for name in extrapolation.SETTINGS if evidence.get(name, OURS, "overlap")]
    complete = [name for name in complete_library.SETTINGS if evidence.get(name, OURS, "overlap")]
    parts = [part for name in settings for part in _pendulum(evidence, name)]
    if settings:
        parts += [_never_far(evidence, settings), _mostly_best(evidence, settings),
                  _no_divergence(evidence, settings)]  # fmt: skip
    return (*parts, *(_all_terms(evidence, name) for name in complete))


def _pendulum(evidence: Evidence, setting: str) -> list[Part]:
    """Return the targets of a difficulty of the pendulum, at regular times."""
    error = _error(evidence, setting, OURS, "t2")
    name, other = _best_other(evidence, setting, "t2")
    text = f"{extrapolation.LABELS[setting]}: T2 derivative error {error}"
    if setting == "pendulum/low":
        f1 = _of(evidence, setting, "f1@0.001")
        parts = [Part(f"{text}, at most 0.005", error.mean <= 0.005),
                 Part(f"{extrapolation.LABELS[setting]}: F1 {f1}, exactly 1",
                      f1.mean == 1)]  # fmt: skip
    elif setting == "pendulum/medium":
        inside = _error(evidence, setting, OURS, "id")
        parts = [
            Part(f"{text}, at most 0.05", error.mean <= 0.05),
            Part(
                f"{text}, at most a tenth of {other} ({LABELS[name]})",
                error.mean <= 0.1 * other.mean,
            ),
            Part(
                f"{extrapolation.LABELS[setting]}: ID derivative error {inside}, below 0.001",
                inside.mean < 1e-3,
            ),
        ]
    elif setting == "pendulum/high":
        parts = [
            Part(f"{text}, at most 0.1", error.mean <= 0.1),
            Part(f"{text}, no worse than {other} ({LABELS[name]})", error.mean <= other.mean),
        ]
    else:
        return []
    shot, adapted = (_error(evidence, setting, OURS, split) for split in ("t3", "t3-adapted"))
    text = (
        f"{extrapolation.LABELS[setting]}: T3 derivative error after adapting {adapted}, at most a "
        f"tenth of {shot} before"
    )
    return [*parts, Part(text, adapted.mean <= 0.1 * shot.mean)]


def _never_far(evidence: Evidence, settings: list[str]) -> Part:
    ratios = {
        setting: _error(evidence, setting, OURS, "t2").mean
        / max(_best_other(evidence, setting, "t2")[1].mean, 1e-300)
        for setting in settings
    }
    worst = max(ratios, key=lambda setting: ratios[setting])
    above = [
        f"{extrapolation.LABELS[setting]} {ratio:.2f}"
        for setting, ratio in ratios.items()
        if ratio > 1.1
    ]
    text = (
        "T2 derivative error of every system: at most 1.1 times that of the best other method; "
        f"the maximum is {ratios[worst]:.2f} times"
    )
    return Part(text + (f" ({'; '.join(above)})" if above else ""), not above)


def _mostly_best(evidence: Evidence, settings: list[str]) -> Part:
    cells = [(setting, split) for setting in settings for split in SPLITS]
    behind = [
        (setting, split)
        for setting, split in cells
        if _error(evidence, setting, OURS, split).mean
        > 1.05 * _best_other(evidence, setting, split)[1].mean
    ]
    text = (
        f"best or within 5% of the best method in {len(cells) - len(behind)} of {len(cells)} "
        "combinations of system and split, at least three quarters"
    )
    names = "; ".join(f"{extrapolation.LABELS[setting]} {split}" for setting, split in behind)
    return Part(text + (f" (not: {names})" if behind else ""), len(behind) <= 0.25 * len(cells))


def _no_divergence(evidence: Evidence, settings: list[str]) -> Part:
    lost = {
        (setting, split): sum(evidence.seeds(setting, OURS, f"diverged.{split}").values())
        for setting in settings
        for split in ("id", "ext", "t2")
    }
    diverged = "; ".join(
        f"{extrapolation.LABELS[setting]} {split}: {count:.0f}"
        for (setting, split), count in lost.items()
        if count
    )
    text = f"no diverged rollouts on ID, ID,ext and T2; there are {diverged or 'none'}"
    return Part(text, not diverged)


def _all_terms(evidence: Evidence, setting: str) -> Part:
    f1 = _of(evidence, setting, "f1@0.001")
    text = f"complete library, {complete_library.LABELS[setting]}: F1 {f1}, exactly 1"
    return Part(text, f1.mean == 1)


def _of(evidence: Evidence, setting: str, metric: str) -> Spread:
    return evidence.get(setting, OURS, metric) or Spread.of([])


def _error(evidence: Evidence, setting: str, method: str, split: str) -> Spread:
    return evidence.get(setting, method, f"derivative.{split}") or Spread.of([])


def _best_other(evidence: Evidence, setting: str, split: str) -> tuple[str, Spread]:
    errors = {name: _error(evidence, setting, name, split) for name in _OTHERS}
    name = best(errors, lower=True)
    return name, errors[name]
