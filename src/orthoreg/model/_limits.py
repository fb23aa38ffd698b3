"""Constants of this package that can change a result, each with a unit and a reason."""

# -- fitting --------------------------------------------------------------------------------
FALLBACK_SPARSITY = 0.05
"""Weight of the L1 norm for a loss on states, which provides no rows for a selection of terms."""
MAX_RESIDUAL_ROWS = 2**15  # maximum rows used to estimate the shape of the default residual
MIN_ROWS_PER_TERM = 2  # rows per candidate term of an equation, below which a warning is issued
MIN_ROWS = 10  # rows, below which a warning is issued for any library
STANDARD_TOLERANCE = 1e-6
"""Maximum deviation of mean and standard deviation from 0 and 1 after a StandardScaler."""
TUNING_GRID = 50  # values of each weight on the default grid, as in the paper
COMPARED_POINTS = 40  # random points at which a parsed term must agree with PySINDy's
DIVERGENCE = 1e6  # multiples of the largest size in training. A larger state has diverged
DISTANCE_COST = 20  # terms that can be evaluated in the time of one distance to the data
FORECAST_TOLERANCE = 1e-6
"""Relative tolerance of trajectories from estimated states, whose errors are larger."""
TIME_ROUNDING = 1e-6  # share of the duration of a run. Times in files are rounded

# -- explain and discover -------------------------------------------------------------------
MATCHED_COMBINATIONS = 24  # combinations of candidates matched to trajectories
MAX_PROPOSALS = 8  # proposals, shared by the equations
MIN_PROBABILITY = 0.5  # fraction of resamples that must prefer a proposal with worse extrapolation
MAX_POINT_ROWS = 4  # rows of a run. Trajectories of longer runs can be matched
SHARPENED_MODELS = 3  # best models whose constants are matched with full effort
SHARPENED_GAP = 20.0  # nats behind the best model within which this is worth the time
SAME_VALUE = 1e-6  # maximum relative difference between two forms of the same formula
MIN_WEIGHT = 1e-3  # minimum weight of a model included in averages

HISTORY_POINTS = 257
"""Points on which the history of a delayed state is stored. The spline through them is as accurate
as the smoothed measurements."""

NORMAL_95 = 1.959964
"""Standard deviations. Half-width of the 95% interval of a normal distribution."""
MAX_RIVALS = 5
"""Rival models that an experiment separates from the best one. Each is simulated for all runs."""
