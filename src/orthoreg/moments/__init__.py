"""Gram matrices and cross moments: the only pass over the data."""

from ._moments import Moments as Moments
from ._moments import gather as gather
