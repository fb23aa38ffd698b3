"""Data-fit losses: how measured runs become targets."""

from ._vector_field import VectorField as VectorField
