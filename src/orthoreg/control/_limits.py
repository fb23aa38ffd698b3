"""Constants of linearizations, equilibria and observers."""

DIFFERENCE = 1e-5  # share of a variable's size; difference step for user-defined residuals
# Equilibria
STARTS_PER_STATE = 128  # Newton starts for one state; doubled for each further state
MAX_STARTS = 1024  # maximum number of Newton starts, reached with four states
NEWTON_STEPS = 60  # maximum per start; damped steps cross the box in 4 and converge in about 6
MAX_MOVE = 0.25  # maximum Newton step as a share of the box; longer steps jump over roots
HALVINGS = 6  # maximum number of halvings of a step that does not reduce the residual
ROOT_RESIDUAL = 1e-9  # share of the typical size of f in the box; rounding of f is about 1e-13
SAME_ROOT = 1e-5  # share of the box; Newton's method ends within about 1e-8 of a simple root
# ratio of singular values, scaled by the box, below which roots are double or form a line
SINGULAR = 1e-6
ROUNDING = 1e-9  # share of the largest eigenvalue below which a real part counts as zero
EDGE = 1e-9  # share of the box within which roots outside its boundary count as inside
# Observers
RATE_PER_STEP = 0.2  # |df/dx| times a Runge-Kutta step; the error is then about 1e-6 per step
MAX_SUBSTEPS = 64  # between two measurements
TUNING_ROWS = 1500  # number of rows whose likelihood determines the disturbance
DISTURBANCE_SHARES = (0.0, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0)
"""Candidate shares of a state's range that the disturbance adds over a run, the same for all
states."""
DISTURBANCE_FACTORS = (0.1, 0.3, 3.0)
"""Candidate factors for the share of a single state. The likelihood is flat within a factor of
about 2."""
MIN_NOISE = 1e-6  # share of a state's range; without noise, the covariance would become singular
