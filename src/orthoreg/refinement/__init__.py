"""Constants of a field from whole trajectories, and how well these determine them."""

from ._refine import refine as refine
from ._result import Refinement as Refinement
