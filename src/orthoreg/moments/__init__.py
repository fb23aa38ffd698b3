"""Gram matrices and cross moments: the only pass over the data."""

from ._cells import Cells as Cells
from ._cells import Division as Division
from ._cells import gather_cells as gather_cells
from ._centered import CenteredTerms as CenteredTerms
from ._moments import Moments as Moments
from ._moments import gather as gather
