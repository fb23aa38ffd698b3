"""Equations whose coefficients are chosen and estimated together."""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float


@final
@dataclass(frozen=True, eq=False)
class Group:
    """W_c = offset_c + atoms_c u for each of its equations c: u is free, within `bounds`.

    What is given is in `offset`. An atom is a smallest set of coefficients that the relations let
    move together: one coefficient that none of them names, two that are tied. `required` atoms
    are in every choice of terms.
    """

    equations: tuple[int, ...]
    atoms: Float[np.ndarray, "g K J"]
    offset: Float[np.ndarray, "g K"]
    required: Bool[np.ndarray, " J"]
    bounds: Float[np.ndarray, "2 J"]

    def coefficients(self, u: Float[np.ndarray, "*R J"]) -> Float[np.ndarray, "*R g K"]:
        """W of these equations."""
        return self.offset + np.einsum("gkj,...j->...gk", self.atoms, u)

    def support(self, chosen: Bool[np.ndarray, "*R J"]) -> Bool[np.ndarray, "*R g K"]:
        """The terms that these atoms, and what is given, put into each equation."""
        touched = np.einsum("gkj,...j->...gk", np.abs(self.atoms), chosen.astype(float)) > 0
        return touched | (self.offset != 0)

    def maps(self, scale: Float[np.ndarray, " g"], n_outputs: int) -> Float[np.ndarray, "g P Q"]:
        """For each equation, the columns (u_1 ... u_J, y) of the problem in u as combinations of
        (theta_1 ... theta_K, y_1 ... y_c): the equations one under the other, each divided by its
        `scale`, and what is given subtracted from the target."""
        g, K, J = self.atoms.shape
        found = np.zeros((g, K + n_outputs, J + 1))
        found[:, :K, :J] = self.atoms
        found[:, :K, J] = -self.offset
        found[np.arange(g), K + np.array(self.equations), J] = 1.0
        return found / scale[:, None, None]
