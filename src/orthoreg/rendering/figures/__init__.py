"""Pictures of data and models. Each function returns the figure, and draws into `ax` if given."""

from ._forecast import plot_forecast as plot_forecast
from ._phase import plot_phase as plot_phase
from ._proposal import plot_proposal as plot_proposal
from ._residual import plot_residual as plot_residual
from ._selection import plot_selection as plot_selection
from ._style import rendered as rendered
