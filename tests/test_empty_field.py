"""Models without terms and without a residual."""

import numpy as np

import orthoreg as og


def test_a_model_without_terms_and_residual_stays_where_it_starts():
    t = np.linspace(0, 20, 200)
    model = og.OrthoReg("poly(1)").fit(np.cos(t)[:, None], t=t)  # the velocity is missing
    assert model.equations() == ["x0' = 0"]
    rollout = model.simulate([0.3], t)
    assert rollout.completed and (rollout.x == 0.3).all()
