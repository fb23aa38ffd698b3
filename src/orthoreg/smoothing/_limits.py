"""Decisive constants of this package, each with a unit and a reason.

The constants of outliers were set on sine waves, Lotka-Volterra, Duffing, Lorenz, spiking neurons,
relaxation oscillators, and the 39 flows of `dysts_half` at 0, 1 and 5% noise, with and without
1% of outliers of 5 to 20 standard deviations.
"""

import numpy as np

# -- outliers ------------------------------------------------------------------------------
FALSE_OUTLIERS = 0.01
"""Values of normal noise that are expected to be called outliers in a whole table."""

OUTLIER_WINDOWS = ((9, 3), (6, 3), (4, 3), (3, 3))
"""Rows on each side that predict a row, and the degree of the polynomial through them. Many rows
average noise and few follow fast motion; a cubic is the least that follows an inflection."""

OUTLIER_PRIOR = 8
"""Degrees of freedom that the noise of the whole column adds to those of a local fit. Without them,
the quantile of Student's t for six rows and four coefficients exceeds 100."""

OUTLIER_MIN_SIDE = 2
"""Rows that each side must have: one row alone cannot confirm its own level."""

OUTLIER_CONTRAST = 20.0
"""Least ratio of an outlier to the prediction errors of the rows next to it. A pulse with at least
1.5 samples within its width at half height leaves more than 1/20 of its height in these rows. With
10, relaxation oscillations have outliers, and single outliers found rise from 95 to 96%."""

OUTLIER_DOMINANCE = 0.2
"""Share of the largest distance from the median nearby. Smaller distances are what a large outlier
does to the medians of its neighbours."""

OUTLIER_ROUNDS = 3
"""Searches at most: an outlier is visible only after a larger one nearby was replaced."""

OUTLIER_MAX_SHARE = 0.02
"""Share of the rows of a column. What happens more often is how this column moves."""

OUTLIER_MAX_ROWS = 2
"""Rows of an outlier. More rows in succession are motion."""

MEDIAN_DISTANCE = 0.685
"""Median distance of standard normal values from the median of five, if it is not zero."""

MEDIAN_STEP = 0.954
"""Median of |z1 - z2| for standard normal z1 and z2."""

OUTLIER_MIN_ROWS = 30
"""Rows of a run that is searched: fewer do not show what is usual in them."""

EVENT_NOISE = 5.0
"""Standard deviations of noise. Another state moves at an outlier if the rows around it are
predicted worse than this."""

EVENT_SHARE = 0.01
"""Least size of that motion relative to the outlier, both in standard deviations of their columns:
a real pulse of a state drives other states."""

INPUT_JUMP = 10.0
"""Median steps of an input. The largest of 1e6 steps of normal noise is 7.3 median steps and that
of a sine 1.4, so only inputs that rest or are smooth have jumps."""

# -- noise ---------------------------------------------------------------------------------
NORMAL_MEDIAN = 0.6745
"""Median of |z| for standard normal z."""

DIFFERENCE_ORDERS = (*range(3, 11), 13, 17, 22, 28, 36, 46)
"""Orders of differences. Motion sampled few times per period disappears only at high orders."""

MIN_ORDERS = 8
"""Orders. Fewer do not distinguish noise from motion."""

NOISE_PLATEAU = 0.8
"""Ratio of the last level to that two orders before. Noise has a higher one, and motion a lower."""

ROUNDING_NOISE = 1e-13
"""Of the largest value: the noise of rounding."""

EQUAL_LEVELS = 1.2
"""Ratio to the lowest level. Orders below it differ only by chance."""

MAX_DIFFERENCES = 1000
"""Differences of an order. The median of so many has a relative standard error of 4%."""

MIN_DIFFERENCES = 10
"""Differences of an order. The median of fewer is not used."""

EQUAL_STEPS = 1e-9
"""Relative difference of time steps that are equal except for rounding."""

MIN_RELATIVE_VARIANCE = 1e-4
"""Of the mean noise variance of a state: the least variance of a value, if noise grows."""

GROWTH_GROUPS = 8
"""Groups of rows by the size of a state."""

LOG_VARIANCE = 2.7
"""Variance of the log of a variance from a median of N values, times N."""

GROWTH_EVIDENCE = 20.0
"""Decrease of the sum of squared standard errors. With less, noise does not grow."""

GROWTH_SHARES = 1 - np.append(np.geomspace(1, 1e-4, 25), 0.0)
"""Shares of noise that grow, which are compared."""

# -- sliding polynomials -------------------------------------------------------------------
POLYNOMIALS = (
    (5, 3), (7, 3), (9, 3), (13, 3), (19, 3), (27, 3), (41, 3), (61, 3),
    (7, 5), (9, 5), (13, 5), (19, 5), (27, 5), (41, 5), (61, 5),
)  # fmt: skip
"""Windows (rows) and degrees of polynomials for derivatives."""

SMOOTHER_WINDOWS = (5, 7, 9, 13, 19, 27, 41, 61, 91, 131, 191, 281)
"""Rows. Windows of polynomials for smoothing."""

SMOOTHER_DEGREES = (3, 5)
"""Degrees of polynomials for smoothing."""

MIN_VELOCITY_ROWS = 3
"""Rows of a run. A parabola, and so a velocity, needs three."""

MIN_POLYNOMIAL_ROWS = POLYNOMIALS[0][0]
"""Rows of a run. Shorter runs hold none of the windows."""

MAX_SCORED_ROWS = 2000
"""Rows that are left out to compare polynomials. Their mean squared error is known to 3%."""

MAX_LEVERAGE = 1 - 1e-6
"""Leverage of a row. A higher one means that the rest of its window does not determine it."""

NEARLY_EQUAL_STEPS = 1e-4
"""Relative difference of time steps below which smoothing may treat them as equal."""

MIN_RELATIVE_NORM = 1e-14
"""Of a constant polynomial. Smaller norms, on points in clusters, are raised to it."""

# -- windows of the weak form --------------------------------------------------------------
EQUAL_WINDOW_STEPS = 1e-6
"""Relative difference of time steps below which integrals are sums over samples."""

GAUSS_POINTS = 4
"""Points between two samples at unequal steps. They integrate a polynomial of degree 7 exactly."""

WINDOWS_PER_HALF_WIDTH = 4
"""Windows per half-width. More hardly add information, as neighbours overlap."""

EXACT_POWERS = 4
"""Powers, from the constant on, that windows differentiate exactly."""

MIN_WINDOW_SAMPLES = 5
"""Samples in a run with windows."""
