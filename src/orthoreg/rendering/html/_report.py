"""`report`: one HTML file about a model and its data."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._common.errors import InputError
from ..._common.files import atomic_write
from ..._common.parallel import one_thread
from ..._common.scikit import check_is_fitted
from ...data import Dataset
from ...findings import Summary
from ...model.model import AbstractModel
from ...model.validation import given_dataset, known_dataset
from ...simulation import Rollout
from ._collect import collect
from ._page import render

if TYPE_CHECKING:  # both bring the whole search for formulas
    from ...model.discovery import Discovery
    from ...model.explanation import Explanation


@one_thread()
def report_page(model: AbstractModel, data: Dataset | None = None, **parts: Any) -> str:
    """The report as text; `parts` are those of `collect`."""
    return render(collect(model, data, **parts))


def report(
    model: AbstractModel,
    path: str | os.PathLike[str],
    data: Any = None,
    *,
    t: Any = None,
    u: Any = None,
    explanation: "Explanation | None" = None,
    discovery: "Discovery | None" = None,
    summary: Summary | None = None,
    forecasts: Sequence[Rollout] | None = None,
    title: str | None = None,
    command: str = "",
) -> Path:
    """Writes one self-contained HTML file about a fitted model, and returns its path.

    It opens in any browser without a network: equations with intervals, verdict and advice, then
    charts of forecasts, flow, residual, terms and errors, the data in numbers, and how to make
    all of it again. `data` is a `Dataset`, or states with times `t` and inputs `u`; without it
    the charts that need data are left out. What `model.explain` and `discover` found is shown if
    it is handed over, and so are a `summary` and `forecasts` that are there already.

    Parameters
    ----------
    model
        a fitted model.
    path
        the file to write.
    data, t, u
        measurements to show it on, as for `fit`.
    explanation, discovery, summary, forecasts
        what was found before.
    title, command
        the heading, and the command line that a reader may repeat.

    Returns
    -------
    path
        of the file.

    Examples
    --------
    >>> import numpy as np, orthoreg as og, tempfile
    >>> t = np.linspace(0, 6, 120)
    >>> model = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(np.exp(-t)[:, None], t=t)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = og.report(model, f"{folder}/out.html", data=np.exp(-t)[:, None], t=t)
    ...     written.stat().st_size < 6e6
    True
    """
    if not isinstance(model, AbstractModel):
        raise InputError(f"report takes a fitted model such as OrthoReg(); got {model!r}.")
    check_is_fitted(model)
    runs = _runs(model, data, t, u)
    found = collect(
        model, runs, summary=summary, forecasts=forecasts, explanation=explanation,
        discovery=discovery, title=title, command=command,
    )  # fmt: skip
    place = Path(path)
    with atomic_write(place) as stream:
        stream.write(render(found).encode())
    return place


def _runs(model: AbstractModel, data: Any, t: Any, u: Any) -> Dataset | None:
    if data is None:
        return None
    if given_dataset(data) is None and t is None:
        raise InputError(
            "report(data=...) needs runs in time: a Dataset, or states with their times, t=...."
        )
    return known_dataset(model, data, None, t, u)
