"""Decisive constants of this package, each with a unit and a reason. None of those of windows was
swept since they moved here; they decide the records of noisy fits as they are."""

CLEAN = 1e-3
"""Of a state's standard deviation. Less noise does not harm its estimated derivative."""

CLEAR = 0.1
"""Of an acceleration. Less noise in plain second differences of a position does not harm it."""

PLAN_ROWS = 20_000
"""Rows, in whole runs, on which windows and the growth of noise are decided: enough for a relative
error of 1% of a variance, sqrt(2 / N)."""

RADIAN_ROWS = 16.0
"""Rows in which a state moves by its standard deviation, 100 a period of a sine. Where there are
more, segments of trajectories have as many times more rows, so that they show as much motion."""

GAP = 10.0
"""Steps around it. A longer step is a gap. Random sampling times have no step ten times as long as
each of the ten steps around it."""

BURST = 20
"""Rows. Gaps between parts that are shorter on average are those of samples taken in bursts."""

NARROWEST = 3.5
"""Samples in half a window. Fewer do not resolve the derivative of a test function."""

WIDEST = 0.2
"""Share of the median run, half a window: a run then has several windows that hardly overlap."""

WINDOW_NOISE = 1e-6
"""Share of noise in what windows show. Below it, wider windows are not needed."""

FAST_SHARE = 0.35
"""Of the best half-width: narrower windows for what is fast within the others."""

WIDTH_RATIO = 1.35
"""Between half-widths that are tried."""
