"""`discover`: whole models for data, ranked, beside the best of a base library."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from jaxtyping import Float

from .._common.errors import InputError
from .._common.parallel import one_thread
from ..data import ChunkedDataset, Dataset
from ..diagnostics import certify
from ..export import equation_names
from ..field import Zero
from ..field.hybrid import HybridField
from ..fitting import Fit, describe
from ..losses import Auto
from ..matching import Match
from ..physics import Bound, Physics, bind_physics
from ..search.formulas import Atom, Combination, ModelSearch, SearchInput
from ..search.rows import Chosen
from ..terms import AbstractLibrary, Fourier, Polynomial, as_library
from .discovery import Difference, DiscoveredModel, Discovery
from .estimator import OrthoReg
from .explaining import TRIED, until
from .validation import as_dataset, training_rows, with_time_input

_SHARPENED = 3  # models whose constants are matched as well as they can be
_BEHIND = 20.0  # nats, from which on they are not


@one_thread()
def discover(
    X: Any,
    library: AbstractLibrary | str | None = None,
    *,
    t: Any = None,
    u: Any = None,
    atoms: Sequence[Atom] = (),
    physics: Physics | None = None,
    functions_of_time: bool = False,
    minutes: float | None = None,
    tried: int = TRIED,
) -> Discovery:
    """Ranked models of runs in time.

    Terms are sought for each equation; the best combinations are matched to whole trajectories,
    which rank them. Noisy data are searched twice, the second time with the states of the best
    model.

    Parameters
    ----------
    X
        a `Dataset`, or states with times `t` and inputs `u`.
    library
        terms that are sought beside a catalogue of formulas; `Polynomial(2) + Fourier(1)` if None.
    t, u
        as for `OrthoReg.fit`.
    atoms
        formulas of your own.
    physics
        what is known, which every model obeys.
    functions_of_time
        offers oscillations and trends of the time itself.
    minutes
        after which the best so far is returned.
    tried
        how many combinations are matched to trajectories.

    Returns
    -------
    found
        a `Discovery`: `.models`, ranked, with the gaps of their scores, and `.best`. The best model
        of the library alone is among them.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 10, 300)
    >>> x = 2 / (1 + np.exp(2 - t))  # x' = x - x^2/2
    >>> og.discover(x[:, None], t=t).best.equations()
    ["x0' = 1.000 x0 - 0.5000 x0**2"]
    """
    goes_on = until(minutes)
    data = (
        as_dataset(X, None, t, u)
        if t is not None or isinstance(X, Dataset | ChunkedDataset | list)
        else None
    )
    if data is None:
        raise InputError("discover() needs runs in time: a Dataset, or states X with times t=....")
    if not (isinstance(tried, int) and tried > 0):
        raise InputError(f"tried must be a whole number of at least 1; got {tried!r}.")
    base = Polynomial(2) + Fourier(1) if library is None else as_library(library)
    data = data.with_time_input() if functions_of_time else with_time_input(data, physics, base)
    models = _Models(data, base, physics, atoms, library is not None, goes_on)
    return models.discovered(tried)


@final
class _Models:
    """The search over one data set, and its result as models."""

    def __init__(
        self,
        data: Dataset,
        base: AbstractLibrary,
        physics: Physics | None,
        atoms: Sequence[Atom],
        is_expected: bool,
        goes_on: Callable[[], bool],
    ):
        self._data, self._physics, self._goes_on = data, physics, goes_on
        probe = OrthoReg(augmentation=Zero())
        self._rows, self._columns = training_rows(probe, Auto(), data, None, None, None)
        bound = self._bind(base)
        if bound.features.parameters:
            raise InputError(
                "discover() estimates no constants inside known equations or library terms, such "
                f"as '{bound.features.parameters[0]}'. Fit a model that has them, then ask "
                "model.explain(data)."
            )
        given = SearchInput(
            data,
            bound.features,
            bound.knowledge,
            self._bind,
            self._columns.interpolation,
            Auto(),
            self._rows.point_extent.sample,
            physics,
            atoms,
            is_expected=is_expected,
        )
        self._search = ModelSearch(given, goes_on)

    def discovered(self, tried: int) -> Discovery:
        """The models, best first, with where each differs from the best."""
        found = self._search.run(tried)
        scores = np.array([one.score for one in found])
        weights = np.exp(scores[0] - scores)
        near = {id(one) for one in found[:_SHARPENED] if one.score - found[0].score < _BEHIND}
        matches = [
            self._search.ranking.sharpened(one)
            if id(one) in near and self._goes_on()
            else one.matched
            for one in found
        ]
        points, best = self._search.around, matches[0].field
        models = [
            self._model(one.combination, matched, is_near=id(one) in near).ranked(
                one.score,
                one.score - found[0].score,
                float(weight),
                one.is_base,
                self._difference(points, best, matched.field) if i else None,
            )
            for i, (one, matched, weight) in enumerate(
                zip(found, matches, weights / weights.sum(), strict=True)
            )
        ]
        return Discovery(tuple(models), timed_out=not self._goes_on())

    def _bind(self, library: AbstractLibrary, physics: Physics | None = None) -> Bound:
        data = self._data
        return bind_physics(
            physics or self._physics, library, data.variable_names, data.state_names,
            dict(data.given_rates), data.schema.time_index,
        )  # fmt: skip

    def _model(self, one: Combination, matched: Match, *, is_near: bool) -> DiscoveredModel:
        """Intervals of models that are not near the best one come from the curvature alone."""
        field = matched.field
        result = describe(field, self._rows)
        certificate = certify(result, self._rows.outputs, field.features.names, normalized=True)
        fit = Fit(
            field, certificate, None, None, self._rows.extent.range,
            refinement=matched.refinement(is_curved=is_near),
        )  # fmt: skip
        model = DiscoveredModel(
            one.library, Zero(), selection=Chosen(one.library_terms), physics=one.physics
        )
        return model._learn(fit, self._columns)

    def _difference(
        self, points: Float[np.ndarray, "P V"], best: HybridField, other: HybridField
    ) -> Difference:
        """Where two fields part most, each equation in units of its own size."""
        with np.errstate(all="ignore"):
            values = [np.nan_to_num(one.values(points)) for one in (best, other)]
        size = np.maximum(np.sqrt(np.mean(self._rows.targets**2, axis=0)), 1e-300)
        apart = np.abs(values[0] - values[1]) / size
        place, c = (int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
        return Difference(
            self._rows.outputs[c],
            dict(zip(self._data.variable_names, points[place].tolist(), strict=True)),
            float(values[0][place, c]),
            float(values[1][place, c]),
            f"{equation_names(self._rows.outputs, self._data.velocity_of)[c]}'",
        )
