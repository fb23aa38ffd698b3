"""The numbers that decide which rows a loss makes of runs, each with a unit and a reason.

`benchmarks/sweeps.py` does not vary these numbers.
"""

# -- derivatives or weak form --------------------------------------------------------------
COARSE_DERIVATIVE_ERROR = 2e-3
"""Root mean squares of a derivative. Smaller errors, where samples are too far apart for an
estimate, do no harm."""
MAX_ROWS_DERIVATIVE_ERROR = 20_000
"""Rows, in whole runs, on which that error is estimated."""
MIN_ROWS_WEAK_FORM = 40
"""Rows of the median run. Shorter runs have too few windows to replace clean derivatives."""
CONSTANT_STATE_CHANGE = 1e-10
"""Relative change of a state over the longest run. One that changes by less is constant: the change
is rounding."""

# -- velocities at rest --------------------------------------------------------------------
REST_SPEED = 0.01
"""Root mean squares of a velocity. A slower one may be at rest."""
MIN_ROWS_AT_REST = 5
"""Rows of a rest."""
REST_TURNING_TIMES = 3.0
"""Times that a velocity takes to change its sign. A rest is longer than so many."""
REST_SHARES = (0.002, 0.02, 0.1)
"""Shares of a window that may be at rest. The first that leaves enough windows is used."""
MIN_MOVING_WINDOWS = 0.2
"""Share of the windows that are enough."""
