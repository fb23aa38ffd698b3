"""Penalties of the objective, as functions of values at samples."""

from ._penalties import magnitude as magnitude
from ._penalties import orthogonality as orthogonality
from ._penalties import projected as projected
from ._penalties import sparsity as sparsity
from ._penalties import whitening as whitening
