"""Pictures of data and models."""

from ._plots import plot_forecast as plot_forecast
from ._plots import plot_phase as plot_phase
from ._plots import plot_residual as plot_residual
from ._selection import plot_selection as plot_selection
from ._style import rendered as rendered
