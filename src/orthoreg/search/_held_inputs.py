"""Detect inputs that are held between rows, from trajectories."""

from collections.abc import Mapping

from ..data import Dataset
from ..field.hybrid import HybridField
from ..matching import _limits as limits
from ..physics import Knowledge
from ._trials import Trial, TrialMatcher, best_trial


def held_inputs(
    field: HybridField,
    data: Dataset,
    interpolation: Mapping[str, str],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    knowledge: Knowledge | None = None,
) -> tuple[str, ...]:
    """Return the inputs that are held between rows according to the data.

    Inputs are added one at a time, as long as trajectories of the same equations improve the score
    by more than `HELD_INPUT_GAIN`. All alternatives are matched to segments of the same length, the
    shortest for which the misfit exceeds the noise. If there is no such length, no input is held.
    """
    known = knowledge or Knowledge.none(field.features.mask.shape)
    data = data.subsample_rows(limits.SEARCH_ROWS)
    kinds, held = dict(interpolation), []
    columns = {name: [name] for name in data.schema.measured_inputs if name in kinds}
    for delay in data.delays:  # a delayed input is held if the input itself is held
        columns.get(delay.variable, []).append(delay.name)
    candidates = [name for name in columns if kinds[name] != "hold"]

    def trial(kinds: Mapping[str, str], length: int | None = None) -> Trial | None:
        return TrialMatcher(field, data, kinds, dict(bounds or {}), known).first_misfit(length)

    current = trial(kinds) if candidates else None
    while candidates and current is not None:
        trials = {
            n: trial({**kinds, **dict.fromkeys(columns[n], "hold")}, current.stage.length)
            for n in candidates
        }
        best = best_trial(list(trials.values()))
        if best is None or not best.score < current.score - limits.HELD_INPUT_GAIN:
            break
        current = best
        name = next(name for name in candidates if trials[name] is best)
        kinds |= dict.fromkeys(columns[name], "hold")
        candidates.remove(name)
        held += columns[name]
    return tuple(held)
