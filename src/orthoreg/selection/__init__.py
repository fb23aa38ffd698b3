"""Choosing strengths by held-out data, from moments alone."""

from ._strengths import StrengthPath as StrengthPath
from ._strengths import strength_path as strength_path
