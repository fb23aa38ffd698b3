"""Decisive constants of this package, each with a unit and a reason."""

MAX_COUPLED = 4
"""Maximum number of derivatives that are solved for together."""

EQUALITY_ROUNDING = 1e-10
"""Relative. Smaller pivots and violations of equalities are rounding errors."""

MAX_SUBSETS = 400
"""Subsets of related coefficients. With more, a basis replaces circuits."""

MAX_SEPARATE_CHECKS = 20
"""Relations. With more, only all relations together are checked for contradictions."""

EXPONENT_ROUNDING = 1e-9
"""Dimensionless. Smaller weights and distances from an integer are rounding errors."""

UNIT_PASSES = 5
"""Maximum number of passes over the equations. A pass infers at least one constant of a term with
one unknown constant, and most terms have at most two."""

LOG_CONTINUATION = 0.05
"""Medians of a first value, below which its logarithm is continued as a straight line."""

SYMMETRY_PROBES = 24
"""Number of points at which the symmetry of a term is tested."""

SYMMETRY_TOLERANCE = 1e-9
"""Relative to the largest value of a term. Smaller differences are rounding errors."""
