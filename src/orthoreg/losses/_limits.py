"""Decisive constants of this package, each with a unit and a reason."""

import numpy as np

# -- derivatives or weak form --------------------------------------------------------------
COARSE_DERIVATIVE_ERROR = 2e-3
"""Root mean squares of a derivative. Smaller errors of derivatives of sparse samples do no harm."""
MAX_ROWS_DERIVATIVE_ERROR = 20_000
"""Rows, in whole runs, for the estimate of that error."""
MIN_ROWS_WEAK_FORM = 40
"""Rows of the median run. Shorter runs have too few windows to replace clean derivatives."""
CONSTANT_STATE_CHANGE = 1e-10
"""Relative change of a state over the longest run. A smaller change is rounding: the state is
constant."""

# -- velocities at rest --------------------------------------------------------------------
REST_SPEED = 0.01
"""Root mean squares of a velocity. Slower velocities may be at rest."""
MIN_ROWS_AT_REST = 5
"""Rows of a period of rest."""
REST_TURNING_TIMES = 3.0
"""Times that a velocity takes to change its sign. A period of rest is longer."""
REST_SHARES = (0.002, 0.02, 0.1)
"""Maximal shares of rest in a window. The first one that leaves enough windows is used."""
MIN_MOVING_WINDOWS = 0.2
"""Share of the windows that is enough."""

# -- smoothing splines ---------------------------------------------------------------------
SPLINE_FOLDS = 3
"""Folds of held-out points that are predicted to choose the strength."""
MIN_SPLINE_POINTS = 8
"""Points of a run. Five, SciPy's minimum, remain if a third is held out."""
SPLINE_STRENGTHS = 10.0 ** np.arange(-4, 9)
"""Cubed mean time steps. Strengths that are compared."""
