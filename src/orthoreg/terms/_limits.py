"""Limits of formulas and libraries, checked before anything is expanded."""

MAX_CHARACTERS = 10_000
"""Characters of a formula, equation, bound or another text about one equation."""
MAX_LIBRARY_CHARACTERS = 100_000
"""Characters of a library text, which may contain many formulas."""
MAX_PARTS = 200
"""Parts of a library text. Each part is a level of recursion, and Python allows about 1000."""
MAX_DEPTH = 60
"""Levels of brackets, signs and powers. Each level takes up to 5 frames of Python's stack."""
MAX_FACTORS = 200
"""Factors of a product. Its derivative has the square of this number of factors."""
MAX_TERMS = 5000
"""Terms in a library, or in an expanded formula. The Gram matrix of more would exceed 200 MB."""
MAX_PRODUCTS = 20 * MAX_TERMS
"""Products of terms before equal products are merged: about one second."""
