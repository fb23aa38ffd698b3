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
