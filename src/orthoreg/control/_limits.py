"""Constants of linearizations, equilibria and observers."""

DIFFERENCE = 1e-5  # relative to a variable's size. Difference step for user-defined residuals
# Equilibria
STARTS_PER_STATE = 128  # Newton starts for one state, doubled for each further state
MAX_STARTS = 1024  # Newton starts in total, reached with four states
NEWTON_STEPS = 60  # per start. Damped steps cross the box in 4 and converge in about 6
MAX_MOVE = 0.25  # of the box, per Newton step: longer steps jump over roots
HALVINGS = 6  # of a Newton step that does not reduce the residual
ROOT_RESIDUAL = 1e-9  # of the typical size of f in the box: rounding of f is about 1e-13
SAME_ROOT = 1e-5  # of the box. Newton's method ends within about 1e-8 of a simple root
SINGULAR = 1e-6  # ratio of singular values, scaled by the box: a double root, or a line of roots
ROUNDING = 1e-9  # of the largest eigenvalue: a smaller real part counts as zero
EDGE = 1e-9  # of the box: roots on its boundary count as inside
# Observers
RATE_PER_STEP = 0.2  # |df/dx| times a Runge-Kutta step: an error of about 1e-6 per step
MAX_SUBSTEPS = 64  # between two measurements
TUNING_ROWS = 1500  # rows whose likelihood determines the disturbance
DISTURBANCE_SHARES = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
"""Shares of a state's range that the disturbance adds over a run, the same for all states."""
DISTURBANCE_FACTORS = (0.1, 0.3, 3.0)
"""Of the share of one state. The likelihood is flat within a factor of about 2."""
MIN_NOISE = 1e-6  # of a state's range. Without noise, the covariance would become singular
