"""Decisive constants of this package, each with a unit and a reason."""

CLEAN = 1e-3
"""Standard deviations of a state. Less noise does not harm estimated derivatives."""

CLEAR = 0.1
"""Standard deviations of an acceleration. Less noise in plain second differences of a position does
not harm it."""

PLAN_ROWS = 20_000
"""Rows, in whole runs, for decisions on windows and on the growth of noise. The relative error of a
variance is then 1%, sqrt(2 / N)."""

RADIAN_ROWS = 16.0
"""Rows in which a state moves by its standard deviation: 100 per period of a sine. With more rows,
segments of trajectories are proportionally longer, so that they contain as much motion."""

GAP = 10.0
"""Neighbouring time steps. A longer step is a gap. Random sampling times have no step ten times as
long as each of the ten steps next to it."""

BURST = 20
"""Rows. Parts that are shorter on average are bursts of samples, not separate recordings."""

NARROWEST = 3.5
"""Samples in half a window. Fewer do not resolve the derivative of a test function."""

WIDEST = 0.2
"""Share of the median run in half a window. A run then has several windows with little overlap."""

WINDOW_NOISE = 1e-6
"""Share of noise in the integrals over windows. Below it, wider windows are not needed."""

FAST_SHARE = 0.35
"""Of the best half-width: the narrower windows, for motion that is fast within the best ones."""

WIDTH_RATIO = 1.35
"""Ratio of successive half-widths that are tried."""

# -- samples of rows ---------------------------------------------------------------------------
SUBSAMPLE_ROWS = 2**17
"""Rows, in whole runs, for decisions that do not need all data: noise, differentiation, whether a
residual improves forecasts."""

SUBSAMPLE_BLOCKS = 16
"""Blocks of consecutive runs in that subsample."""

EXTENT_SAMPLE = 2**17
"""Rows that an extent keeps. Quantiles of more rows have a standard error of 0.14% of the rows."""

MIN_RELATIVE_VARIANCE = 1e-8
"""Of the largest variance. A direction with less has no extent."""

ROUNDING = 1e-12
"""Of a variable's magnitude. A smaller range is rounding, as of means over windows."""

# -- splits ------------------------------------------------------------------------------------
MAX_GROUPS = 50
"""Groups of rows that are resampled."""

MAX_AXES = 6
"""Variables with half-spaces. More would leave too few rows in each."""

MIN_RANKED_RUNS = 8
"""Runs. Fewer are not ranked by their distance from the mean."""

# -- times and missing values ------------------------------------------------------------------
NEIGHBOUR_STEPS = 5
"""Steps on each side of a step that determine its typical length."""

RESTART_SHARE = 0.1
"""Of the elapsed time. A time that goes back to before it starts a new run."""

MIN_CUBIC_VALUES = 4
"""Values that a cubic spline needs; fewer are interpolated linearly."""

MIN_BRIDGED_SHARE = 0.8
"""Share of the rows with a value. With less, missing values are not bridged."""

BRIDGED_STEPS = 3.5
"""Median steps of a column. Longer gaps are not bridged."""
