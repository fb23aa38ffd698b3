"""Gram matrices and cross moments: the only pass over the data."""

from ._moments import Moments as Moments
from ._moments import gather as gather
from ._moments import no_basis as no_basis
from ._partitioned import CenteredTerms as CenteredTerms
from ._partitioned import PartitionedMoments as PartitionedMoments
from ._partitioned import gather_partitioned as gather_partitioned
