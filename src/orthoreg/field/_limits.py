"""Decisive constants of this package, each with a unit and a reason."""

ROWS_PER_LANDMARK = 10
"""Rows of the training data for each landmark. More landmarks would follow single rows."""

INSIDE_QUANTILE = 0.95
"""Share of the rows of a left-out run that are inside the region of the others."""

MIN_DISTANCE = 0.1
"""Standard deviations. States this close to a landmark are inside."""

MARGIN = 1e-6
"""Relative distance of the edge beyond the farthest row, so that rounding leaves no row outside."""

SEARCHED = 20_000
"""Rows from which landmarks are chosen."""

SHARPNESS = 4.0
"""Per unit of distance. Sharpness of the choice among landmarks whose residual is held."""

FARTHEST = 1e6
"""Distance along a variable. Larger ones are clipped, so that squares do not overflow."""
