"""Decisive constants of this package, each with a unit and a reason.

The constants of outliers were set on sine waves, Lotka-Volterra, Duffing, Lorenz, spiking neurons,
relaxation oscillators, and the 39 flows of `dysts_half` at 0, 1 and 5% noise, with and without 1%
of outliers of 5 to 20 standard deviations.
"""

import numpy as np

# -- outliers ------------------------------------------------------------------------------
FALSE_OUTLIERS = 0.01
"""Expected number of normally distributed values in a whole table that are called outliers."""

OUTLIER_WINDOWS = ((9, 3), (6, 3), (4, 3), (3, 3))
"""Number of rows on each side that predict a row, and degree of the polynomial through them. Many
rows average noise, and few rows follow fast motion; a cubic is the lowest degree that follows an
inflection."""

OUTLIER_PRIOR = 8
"""Degrees of freedom that the noise of the whole column adds to those of a local fit. Without
these, the quantile of Student's t for six rows and four coefficients exceeds 100."""

OUTLIER_MIN_SIDE = 2
"""Minimum number of rows on each side, because a single row cannot confirm its own level."""

OUTLIER_CONTRAST = 20.0
"""Minimum ratio of an outlier to the prediction errors of the adjacent rows. A pulse with at least
1.5 samples within its width at half height causes more than 1/20 of its height in these rows. With
a ratio of 10, relaxation oscillations would have outliers, and the detection of single outliers
would rise only from 95% to 96%."""

OUTLIER_DOMINANCE = 0.2
"""Share of the largest nearby distance from the median. A smaller distance is the effect of a large
outlier on the medians of its neighbours."""

OUTLIER_ROUNDS = 3
"""Maximum number of searches. An outlier may become visible only after a larger one nearby is
replaced."""

OUTLIER_MAX_SHARE = 0.02
"""Maximum share of outliers in a column. More frequent deviations are part of its motion."""

OUTLIER_MAX_ROWS = 2
"""Maximum number of successive rows of an outlier. Longer deviations are motion."""

MEDIAN_DISTANCE = 0.685
"""Median distance of standard normal values from the median of five, if it is not zero."""

MEDIAN_STEP = 0.954
"""Median of |z1 - z2| for standard normal z1 and z2."""

OUTLIER_MIN_ROWS = 30
"""Minimum number of rows of a run that is searched for outliers. Shorter runs do not show which
values are typical."""

EVENT_NOISE = 5.0
"""Prediction error of the rows around an outlier above which another state moves, in standard
deviations of noise."""

EVENT_SHARE = 0.01
"""Minimum size of that motion relative to the outlier, each in standard deviations of its column. A
real pulse of a state drives other states."""

INPUT_JUMP = 10.0
"""Multiple of an input's median step above which a step is a jump. The largest of 1e6 steps is 7.3
median steps for normal noise and 1.4 for a sine, so only inputs that are constant or smooth
elsewhere have jumps."""

# -- noise ---------------------------------------------------------------------------------
NORMAL_MEDIAN = 0.6745
"""Median of |z| for standard normal z."""

DIFFERENCE_ORDERS = (*range(3, 11), 13, 17, 22, 28, 36, 46)
"""Orders of differences. Motion with few samples per period disappears only at high orders."""

MIN_ORDERS = 8
"""Minimum number of orders to distinguish noise from motion."""

MIN_GRID_LEVELS = 5
"""Number of different values. Fewer are levels of a switch, not rounded motion."""
GRID_TOLERANCE = 0.01
"""Steps of the grid. Maximum distance of a rounded value from the grid, from binary rounding."""
EXACT_LEVEL = 1e-6
"""Fraction of the rounding error. Differences below this belong to exact values, such as those of a
parabola at equal times."""
NOISE_PLATEAU = 0.8
"""Ratio of the last level to the level two orders before above which a column shows noise, not
motion."""

ROUNDING_NOISE = 1e-13
"""Noise of rounding, as a share of the largest value."""

EQUAL_LEVELS = 1.2
"""Ratio to the lowest level up to which levels differ only by chance."""

MAX_DIFFERENCES = 1000
"""Maximum number of differences of an order. Their median has a relative standard error of 4%."""

MIN_DIFFERENCES = 10
"""Minimum number of differences of an order for a median."""

EQUAL_STEPS = 1e-9
"""Relative difference of time steps that are equal except for rounding."""

MIN_RELATIVE_VARIANCE = 1e-4
"""Minimum variance of a value relative to the mean noise variance of its state, if noise grows."""

GROWTH_GROUPS = 8
"""Number of groups into which rows are divided by the size of a state."""

LOG_VARIANCE = 2.7
"""Variance of the log of a variance from a median of N values, times N."""

GROWTH_EVIDENCE = 20.0
"""Minimum decrease of the sum of squared standardized errors for noise to grow with the state."""

GROWTH_SHARES = 1 - np.append(np.geomspace(1, 1e-4, 25), 0.0)
"""Candidates for the share of noise that grows with the state."""

# -- sliding polynomials -------------------------------------------------------------------
POLYNOMIALS = (
    (5, 3), (7, 3), (9, 3), (13, 3), (19, 3), (27, 3), (41, 3), (61, 3),
    (7, 5), (9, 5), (13, 5), (19, 5), (27, 5), (41, 5), (61, 5),
)  # fmt: skip
"""Windows (in rows) and degrees of polynomials for derivatives."""

SMOOTHER_WINDOWS = (5, 7, 9, 13, 19, 27, 41, 61, 91, 131, 191, 281)
"""Windows, in rows, of polynomials for smoothing."""

SMOOTHER_DEGREES = (3, 5)
"""Degrees of polynomials for smoothing."""

MIN_VELOCITY_ROWS = 3
"""Minimum number of rows of a run for a parabola, and therefore for a velocity."""

MIN_POLYNOMIAL_ROWS = POLYNOMIALS[0][0]
"""Minimum number of rows of a run for a polynomial, which is the shortest window."""

MAX_SCORED_ROWS = 2000
"""Maximum number of rows that are left out when polynomials are compared. Their mean squared error
is then known to 3%."""

MAX_LEVERAGE = 1 - 1e-6
"""Maximum leverage of a row. With a higher leverage, the other rows of its window do not determine
the row."""

NEARLY_EQUAL_STEPS = 1e-4
"""Relative difference of time steps below which smoothing may treat them as equal."""

# -- noise of maps -----------------------------------------------------------------------------
MIN_MAP_ROWS = 12
"""Minimum number of rows with a successor for an estimate of a map's noise."""

MAX_MAP_DEGREE = 4
"""Degree of the polynomials that predict the next row of a map."""

MAX_MAP_TERMS = 0.25
"""Maximum number of terms of such a polynomial per row. With more terms, its error is uncertain."""

MAP_NEIGHBOURS = (2, 4, 8, 16)
"""Numbers of nearest rows per coefficient of a plane that predicts the next row: few for clean
data, many for noisy data."""

GOOD_MAP_PREDICTION = 1.25
"""Ratio to the smallest squared error up to which the slopes of a prediction are used."""

MAP_PLANE_RANK = 1e-6
"""Relative extent of neighbours below which a plane has no slope."""

MIN_RELATIVE_NORM = 1e-14
"""Minimum norm relative to that of a constant polynomial. Smaller norms, which occur for clustered
points, are raised to this value."""

# -- windows of the weak form --------------------------------------------------------------
EQUAL_WINDOW_STEPS = 1e-6
"""Relative difference of time steps below which integrals are sums over samples."""

NODE_DISTANCE = 0.25
"""Minimum distance between the samples of an interpolating cubic, as a fraction of its step. At
random times, noise of integrals is 1.0 to 1.2 times that at equal steps (15 to 160 times with the
nearest samples). With 0.1 it is 1.3 times, and with 0.5 the errors of integrals double."""
GAUSS_POINTS = 4
"""Number of Gauss points between two samples at unequal steps. They integrate polynomials of degree
7 exactly."""

WINDOWS_PER_HALF_WIDTH = 4
"""Number of windows per half-width. More windows add little information, because neighbours
overlap."""

EXACT_POWERS = 4
"""Number of powers, starting with the constant, whose derivatives windows compute exactly."""

MIN_WINDOW_SAMPLES = 5
"""Minimum number of samples of a run with windows."""

# -- limits of a sensor's range ----------------------------------------------------------------
MIN_CLIPPED_ROWS = 3
"""Minimum length of the longest stretch of consecutive rows at the limit of a sensor. Two equal
values may also result from rounding."""

CLIPPING_WIDTHS = (4, 6, 8, 12, 16, 24, 32, 48)
"""Numbers of rows to which polynomials are fitted to predict the rows at a limit. Few rows suit
fast motion; many rows average noise."""

CLIPPING_DEGREES = (1, 2)
"""Degrees of these polynomials. A line averages noise best; a parabola follows a turning point."""

CLIPPING_AHEAD = 3
"""Inverse of the fraction of the width that is predicted."""

CLIPPING_WINDOWS = 4_000
"""Maximum number of polynomials. The relative error of their root mean squared error is then 1%."""

MIN_CLIPPING_WINDOWS = 20
"""Minimum number of polynomials elsewhere in the column, which show the usual errors of
predictions. With this number, the relative error of their root mean square is 16%."""

CLIPPING_QUANTILE = 4.26
"""Standard normal quantile at 1 - 1e-5, for a level of 1e-3 with eight widths, two degrees and two
limits for each of a few columns."""

CLIPPING_EXCESS = 2.0
"""Minimum excess of the motion over the limit, in usual errors of predictions, regardless of the
number of rows that show it. Polynomials of the same width miss all turning points in the same
direction."""

CLIPPING_STEPS = 2.0
"""Minimum excess of the motion over the limit, in rounding steps. The top level of the peaks of a
sine is one step high, and lines through the rows before a peak extend as far beyond it."""

LEVELS_NEAR_LIMIT, MIN_LEVELS_NEAR_LIMIT = 4, 6
"""Inverse of the share of distinct values, and their minimum number, from which the rounding step
near the limit is determined. Values with four significant digits have several steps."""

EQUAL_VALUES = 1e-9
"""Difference, relative to the range of a column, below which values are equal up to rounding errors
of arithmetic."""

FALSE_CLIPPING = 1e-4
"""Probability of a false limit, which is that noise leaves the readings of a state at rest equal
somewhere in a column."""

ROUNDING_MARGIN = 2.0
"""Factor by which the variance of rounding errors, step^2 / 12, is multiplied before it is
subtracted from that of the noise. Rounding errors of slow motion are not uniform."""
