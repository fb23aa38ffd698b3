"""Decisive constants of this package, each with a unit and a reason."""

import numpy as np

from ..data._limits import PLAN_ROWS as PLAN_ROWS

# -- derivatives or weak form --------------------------------------------------------------
COARSE_DERIVATIVE_ERROR = 2e-3
"""Error of a derivative, in root mean squares of the derivative, up to which derivatives of sparse
samples are usable."""
MIN_ROWS_WEAK_FORM = 40
"""Minimum number of rows of the median run. Shorter runs have too few windows to replace clean
derivatives."""
CONSTANT_STATE_CHANGE = 1e-10
"""Relative change of a state over the longest run below which changes are rounding errors and the
state is constant."""

# -- velocities at rest --------------------------------------------------------------------
REST_SPEED = 0.01
"""Speed, in root mean squares of a velocity, below which the velocity may be at rest."""
MIN_ROWS_AT_REST = 5
"""Minimum number of rows of a period of rest."""
REST_TURNING_TIMES = 3.0
"""Minimum length of a period of rest, as a multiple of the time in which the velocity changes its
sign."""
REST_SHARES = (0.002, 0.02, 0.1)
"""Maximum fractions of rest in a window. The first fraction that leaves enough windows is used."""
MIN_MOVING_WINDOWS = 0.2
"""Fraction of the windows that is enough."""

# -- smoothing splines ---------------------------------------------------------------------
SPLINE_FOLDS = 3
"""Number of folds of held-out points when the strength is chosen."""
MIN_SPLINE_POINTS = 8
"""Minimum number of points of a run. If a third is held out, five remain, SciPy's minimum."""
SPLINE_STRENGTHS = 10.0 ** np.arange(-4, 9)
"""Candidate strengths of smoothing, in cubed mean time steps."""
