"""Limits of formulas and libraries, checked before anything is expanded."""

MAX_CHARACTERS = 10_000
"""Maximum number of characters of a formula, equation, bound or other text about one equation."""
MAX_LIBRARY_CHARACTERS = 100_000
"""Maximum number of characters of a library text, which may contain many formulas."""
MAX_PARTS = 200
"""Maximum number of parts of a library text. Each part is a level of recursion, and Python allows
about 1000."""
MAX_DEPTH = 60
"""Maximum number of levels of brackets, signs and powers. Each level takes up to 5 frames of
Python's stack."""
MAX_FACTORS = 200
"""Maximum number of factors of a product. Its derivative has the square of this number of
factors."""
MAX_TERMS = 5000
"""Maximum number of terms in a library or an expanded formula. The Gram matrix of more terms would
exceed 200 MB."""
MAX_PRODUCTS = 20 * MAX_TERMS
"""Maximum number of products of terms before equal ones are merged. Building them takes about one
second."""

MAX_EXPONENT = 12
"""Maximum exponent of a variable in a monomial."""
