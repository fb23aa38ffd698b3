"""What a proposal explains of what the library leaves."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..._common.errors import InputError
from ...model.explanation import Proposal
from ..views import FITTED, MEASURED, NOTE, shortened
from ._panels import open_panels
from ._style import tidy

_MOST_POINTS = 3000


def plot_proposal(proposal: Proposal, *, ax: Any = None) -> Figure:
    """The figure: the partial residual, which is the derivative without the terms that the library
    has, against what the proposed terms say. Points on the line are explained."""
    if not isinstance(proposal, Proposal):
        raise InputError(
            f"plot_proposal takes a proposal, such as model.explain(data).proposals[0]; got "
            f"{proposal!r}."
        )
    panels = open_panels(ax, 1, 1, who="plot_proposal", what="one panel")
    axes = panels.axes[0]
    said, left = proposal.partial_residual[
        :: max(1, len(proposal.partial_residual) // _MOST_POINTS)
    ].T
    dots = axes.plot(said, left, ".", color=MEASURED, markersize=4, label="rows of the data")
    ends = np.array([said.min(), said.max()])
    line = axes.plot(ends, ends, color=FITTED, linewidth=1.4, label="what the proposal says")
    axes.set_xlabel(shortened(proposal.formula))
    axes.set_ylabel(f"{proposal.equation}' without the other terms")
    axes.axhline(0.0, color=NOTE, linewidth=0.6)
    tidy(axes)
    note = f"It {proposal.explains}."
    title = f"{proposal.equation}' lacks {shortened(proposal.formula)}"
    return panels.finish(title, [note], [*dots, *line], sizes=[(4.6, 3.4)])
