"""Draw chart data with Matplotlib. Each function draws into `ax` if it is given."""

from ._forecast import draw_forecasts as draw_forecasts
from ._panels import GivenAxes as GivenAxes
from ._phase import draw_phase as draw_phase
from ._residual import draw_residual as draw_residual
from ._selection import draw_paths as draw_paths
from ._selection import draw_proposal as draw_proposal
from ._style import rendered as rendered
