"""Decisive constants of this package, each with a unit and a reason."""

ROWS_PER_LANDMARK = 10
"""Minimum training rows per landmark. More landmarks would follow individual rows."""

INSIDE_QUANTILE = 0.95
"""Fraction of the rows of a left-out run that are inside the region of the other runs."""

MIN_DISTANCE = 0.1
"""Standard deviations. States this close to a landmark are inside."""

MARGIN = 1e-6
"""Relative distance of the edge beyond the farthest row, so that rounding leaves no row outside."""

SEARCHED = 20_000
"""Maximum rows from which landmarks are chosen."""

SHARPNESS = 4.0
"""Per unit of distance. Sharpness of the weights of landmarks whose residual is held."""

FARTHEST = 1e6
"""Distance along a variable. Larger distances are clipped, so that squares do not overflow."""
