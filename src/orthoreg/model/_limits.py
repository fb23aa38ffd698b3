"""Constants of this package that can change a result, each with a unit and a reason."""

# -- fitting --------------------------------------------------------------------------------
FALLBACK_SPARSITY = 0.05
"""Weight of the L1 norm for a loss on states. Such a loss provides no rows from which to select
terms."""
MAX_RESIDUAL_ROWS = 2**15  # maximum number of rows that determine the shape of the default residual
MIN_ROWS_PER_TERM = 2  # minimum rows per candidate term of an equation without a warning
MIN_ROWS = 10  # minimum rows without a warning, for any library
STANDARD_TOLERANCE = 1e-6
"""Maximum deviation of mean and standard deviation from 0 and 1 for data that look standardized."""
TUNING_GRID = 50  # number of values of each weight on the default grid, as in the paper
COMPARED_POINTS = 40  # number of random points at which a parsed term must agree with PySINDy's
DIVERGENCE = 1e6  # multiple of the largest size in training above which a state has diverged
DISTANCE_COST = 20  # number of terms that take as long as one distance to the data
FORECAST_TOLERANCE = 1e-6
"""Relative tolerance of trajectories that start from estimated states, whose errors are larger."""
TIME_ROUNDING = 1e-6  # share of a run's duration; times in files are rounded

# -- explain and discover -------------------------------------------------------------------
MATCHED_COMBINATIONS = 24  # number of combinations of candidates to match to trajectories
MAX_PROPOSALS = 8  # maximum number of proposals, shared by the equations
# minimum fraction of resamples that prefer a proposal with worse extrapolation
MIN_PROBABILITY = 0.5
# maximum rows of a run that is treated as points; trajectories of longer runs can be matched
MAX_POINT_ROWS = 4
SHARPENED_MODELS = 3  # number of best models whose constants are matched with full effort
SHARPENED_GAP = 20.0  # maximum gap in nats to the best model for this effort
SAME_VALUE = 1e-6  # maximum relative difference between two forms of the same formula
MIN_WEIGHT = 1e-3  # minimum weight of a model in averages

HISTORY_POINTS = 257
"""Number of points that store the history of a delayed state. The spline through them is as
accurate as the smoothed measurements."""

NORMAL_95 = 1.959964
"""Half-width of the 95% interval of a normal distribution, in standard deviations."""
MAX_RIVALS = 5
"""Maximum number of rivals that an experiment separates from the best model. Each is simulated for
all runs."""
IMITATION_POINTS = 256
"""Points in the training range at which a rival with other terms imitates a model. Many more than
terms of an equation."""
CERTAIN = 0.9
"""Probability of a term below which an experiment should decide whether the equation has it."""
WIDE = 0.1
"""Half-width of a 95% interval relative to the estimate above which an experiment is suggested. The
estimate then has one reliable digit."""
SUGGESTED_CANDIDATES = 60
"""Candidate runs of a suggested experiment, a quarter of those of `next_experiment`. The suggestion
takes about 5% of the time of a small fit."""
SUGGESTED_ROWS = 50  # maximum rows of a suggested run. Its computing time is proportional to them
SUGGESTED_TOLERANCE = 1e-4
"""Relative tolerance of the simulations of a suggested experiment, below the noise of any sensor
that leaves intervals wide."""
MAX_STIFFNESS = 3e3
"""Largest rate of the linearized model times the duration of a run above which no experiment is
suggested, because its simulations take longer than the fit."""
SUGGESTED_RUNS = 2  # runs of a suggested experiment. The second one differs from the first
WIDENED = 2.0
"""Factor by which a suggested experiment widens the ranges of the initial states in the data."""
TELLING = 3.0
"""Standard deviations by which an experiment must separate two models to decide between them."""
DRAWN_POINTS = 61  # maximum points of each curve of a suggested run in findings
