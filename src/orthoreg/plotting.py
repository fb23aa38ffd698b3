"""Figures with Matplotlib: the public names of `rendering.figures`."""

from .rendering.figures import plot_forecast as plot_forecast
from .rendering.figures import plot_phase as plot_phase
from .rendering.figures import plot_proposal as plot_proposal
from .rendering.figures import plot_residual as plot_residual
from .rendering.figures import plot_selection as plot_selection
from .rendering.figures import rendered as rendered
