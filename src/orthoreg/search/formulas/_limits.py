"""The numbers that decide which formulas are allowed, and how models are ranked by their
trajectories. None of them was swept."""

NEAR_ZERO = 3.0
"""Standard deviations of a measurement. A variable that is no further on the other side of zero
may be of one sign: a concentration that decays to zero is measured below it as well."""
LONGEST_SEGMENT = 1000
"""Steps. Models are compared on segments of at most so many."""
RANKING_ROWS = 3000
"""Rows. Models are compared on at most so many, as many as choose terms in a fit."""
LEAST_NOISE = 0.5
"""Noise variances that differences of neighbouring rows show: trajectories cannot leave less."""
FOLLOWED = 0.05
"""Of a state's variance, beside noise. Trajectories that leave less follow the data."""
SHORT_MISFIT = 1.5
"""Dimensionless. Longer segments may leave so many times what short ones do, which is noise."""
HOPELESS = 25.0
"""Nats behind the best on segments of the same length, beyond which a model is given up: a term
more or less changes the score by ten to twenty."""
RUN_AWAY = 1e4
"""Nats behind the best, of a model that follows no segments."""
BOUND_SLACK = 2.0
"""Standard errors by which an estimate from rows may be beyond a bound: trajectories decide later,
within the bound."""
