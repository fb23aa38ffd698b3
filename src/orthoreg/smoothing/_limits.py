"""Decisive constants of this package, each with a unit and a reason.

Those of outliers were set on sine waves, Lotka-Volterra, Duffing, Lorenz, spiking neurons,
relaxation oscillators, and the 39 flows of `dysts_half` at 0, 1 and 5% noise, with and without
1% of outliers of 5 to 20 standard deviations.
"""

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
