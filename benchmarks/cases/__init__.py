"""The cases of the suite, in the order of a fit."""

from . import _data, _solving, _using
from ._case import Case as Case
from ._case import Peer as Peer
from ._case import Work as Work

CASES: tuple[Case, ...] = (*_data.CASES, *_solving.CASES, *_using.CASES)
