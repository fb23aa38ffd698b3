"""Candidates that rows cannot tell apart, told apart by the trajectories that they make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._progress import progress
from ..data import Dataset
from ..libraries import AbstractLibrary, to_text
from ..physics import Bound
from ._candidates import Candidate
from ._combinations import combine
from ._evidence import formula
from ._proposals import LEAST_GAIN, Gap
from ._ranking import Ranking

_CLOSE = 10.0  # nats, within which rows do not tell
_MOST = 5  # rivals of an equation
_STEPS = 25  # of segments with free starts: longer ones say the same, for much more time
_FEWEST_STEPS = 4
_STRETCH = 500  # rows that stay together
_MOST_ROWS = 2000


def tell_apart(
    gaps: Sequence[Gap],
    data: Dataset,
    interpolation: Mapping[str, str],
    bind: Callable[[AbstractLibrary], Bound],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[Gap]:
    """The gaps with their candidates ordered anew where the first ones are about as good as each
    other and one of them jumps: each is matched to short segments of the runs, beside the best of
    the other equations, and put behind by as many nats as it follows them worse, if these are
    clear.

    Rows hardly know when a velocity that was not measured turns, and so which of two signs
    jumps there. A trajectory has its own velocities.
    """
    result = list(gaps)
    if int(data.run_lengths.max()) <= _FEWEST_STEPS:
        return result
    for place, gap in enumerate(gaps):
        rivals = _rivals(gap)
        if len(rivals) > 1 and goes_on():
            others = [one.candidates[0] for one in result]
            models = [[*others[:place], one, *others[place + 1 :]] for one in rivals]
            behind = _behind(models, place, data, interpolation, bind, goes_on)
            result[place] = _reordered(gap, dict(zip(map(id, rivals), behind, strict=True)))
    return result


def _rivals(gap: Gap) -> list[Candidate]:
    """The proposals within some nats of the best candidate, if one of them jumps; none with all
    new terms of a better one, and more."""
    best = gap.candidates[0]
    near = [one for one in gap.proposals if one.score - best.score < _CLOSE]
    new = [frozenset(to_text(one.fit.shapes[k].expression) for k in one.new) for one in near]
    if not any("sign(" in text for texts in new for text in texts):
        return []
    apart = [one for i, one in enumerate(near) if not any(less <= new[i] for less in new[:i])]
    return apart[:_MOST]


def _behind(
    models: Sequence[Sequence[Candidate]],
    place: int,
    data: Dataset,
    interpolation: Mapping[str, str],
    bind: Callable[[AbstractLibrary], Bound],
    goes_on: Callable[[], bool],
) -> list[float]:
    """By how many nats each model follows the runs worse than the best; none where that is
    little, or where time was up before."""
    ranking = Ranking(_stretches(data), interpolation, longest=_STEPS)
    count, given = float(data.n_samples), dict(data.given_rates)
    combined = [combine(one, bind, data.state_names, count, given) for one in models]
    with progress("Matching trajectories", float(len(models))) as show:
        for done, one in enumerate(combined):
            if not goes_on():
                return [0.0] * len(models)
            show(float(done), f"{data.state_names[one.candidates[place].output]}': "
                 f"{formula(one.candidates[place])}")  # fmt: skip
            ranking.add(one)
    found = ranking.ranked()
    gaps = {id(one.combination): one.score - found[0].score for one in found}
    apart = [gaps.get(id(one), 0.0) for one in combined]
    return [gap if gap >= LEAST_GAIN else 0.0 for gap in apart]


def _stretches(data: Dataset) -> Dataset:
    """Some stretches, evenly over the runs; few data as they are."""
    if data.n_samples <= _MOST_ROWS:
        return data
    since = np.arange(data.n_samples) - data.offsets[data.run_of_row]
    stretch = np.cumsum(since % _STRETCH == 0) - 1
    total = int(stretch[-1]) + 1
    count = max(total * _MOST_ROWS // data.n_samples, 1)
    chosen = np.arange(count) * total // count
    return data.only(np.isin(stretch, chosen))


def _reordered(gap: Gap, behind: Mapping[int, float]) -> Gap:
    scored = [replace(one, behind=behind.get(id(one), 0.0)) for one in gap.candidates]
    return replace(gap, candidates=tuple(sorted(scored, key=lambda one: one.score)))
