"""Decisive constants of this package, each with a unit and a reason."""

ROWS_PER_LANDMARK = 10
"""Minimum number of training rows per landmark. With more landmarks, the region would follow
individual rows."""

INSIDE_QUANTILE = 0.95
"""Fraction of the rows of a left-out run that should be inside the region of the other runs."""

MIN_DISTANCE = 0.1
"""Distance to a landmark, in standard deviations, up to which states are always inside."""

MARGIN = 1e-6
"""Relative margin between the farthest row and the edge, so that rounding leaves no row outside."""

SEARCHED = 20_000
"""Maximum number of rows from which landmarks are chosen."""

SHARPNESS = 4.0
"""Sharpness, per unit of distance, of the weights of the landmarks' held residuals."""

FARTHEST = 1e6
"""Maximum distance along a variable. Larger distances are clipped, so that squares do not
overflow."""

GATE_PARTS = 5
"""Number of parts of the data. The gate treats each part as unseen in turn."""
