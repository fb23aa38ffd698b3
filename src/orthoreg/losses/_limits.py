"""Decisive constants of this package, each with a unit and a reason."""

import numpy as np

# -- derivatives or weak form --------------------------------------------------------------
COARSE_DERIVATIVE_ERROR = 2e-3
"""Root mean squares of a derivative. Derivatives of sparse samples with smaller errors are
usable."""
MAX_ROWS_DERIVATIVE_ERROR = 20_000
"""Maximum rows, in whole runs, for estimating this error."""
MIN_ROWS_WEAK_FORM = 40
"""Rows of the median run. Shorter runs have too few windows to replace clean derivatives."""
CONSTANT_STATE_CHANGE = 1e-10
"""Relative change of a state over the longest run. Smaller changes are rounding errors: the state
is constant."""

# -- velocities at rest --------------------------------------------------------------------
REST_SPEED = 0.01
"""Root mean squares of a velocity. Slower velocities may be at rest."""
MIN_ROWS_AT_REST = 5
"""Minimum rows of a period of rest."""
REST_TURNING_TIMES = 3.0
"""Multiples of the time in which a velocity changes its sign. Minimum length of a period of
rest."""
REST_SHARES = (0.002, 0.02, 0.1)
"""Maximum fractions of rest in a window. The first fraction that leaves enough windows is used."""
MIN_MOVING_WINDOWS = 0.2
"""Fraction of the windows that is enough."""

# -- smoothing splines ---------------------------------------------------------------------
SPLINE_FOLDS = 3
"""Number of folds of held-out points for choosing the strength."""
MIN_SPLINE_POINTS = 8
"""Minimum points of a run. Five points, SciPy's minimum, remain if a third is held out."""
SPLINE_STRENGTHS = 10.0 ** np.arange(-4, 9)
"""Cubed mean time steps. Candidate strengths."""
