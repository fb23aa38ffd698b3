"""Terms that were selected by the user or by an accepted proposal, for noisy runs."""

import numpy as np

import orthoreg as og
from orthoreg.search.rows import Chosen

t = np.linspace(0, 20, 400)
decay = np.exp(-0.05 * t)
CLEAN = np.column_stack([decay * np.cos(t), -decay * np.sin(t)])
DATA = og.Dataset.from_arrays(CLEAN + 0.02 * np.random.default_rng(0).standard_normal((400, 2)), t)


def terms_of(selection):
    model = og.OrthoReg("poly(2)", og.Zero(), selection=selection).fit(DATA)
    names = np.array(model.feature_names_)
    return [set(names[row != 0]) for row in np.asarray(model.coefficients_)]


def test_trajectories_keep_chosen_terms():
    """Without the damping, other terms would fit better."""
    assert terms_of(Chosen({"x0": ["x1"], "x1": ["x0"]})) == [{"x1"}, {"x0"}]


def test_other_equations_are_selected():
    found = terms_of(Chosen({"x0": ["x1"]}, og.Extrapolation()))
    assert found == [{"x1"}, {"x0", "x1"}]
