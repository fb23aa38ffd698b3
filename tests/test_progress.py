"""Output while something runs."""

import numpy as np

import orthoreg as og
from orthoreg._common import progress as _progress
from orthoreg._common.progress import step


class Sign:
    """A display that stores its messages."""

    def __init__(self):
        self.status = "Fitting ..."
        self.said = []

    def update(self, text):
        self.status = text
        self.said.append(text)


def test_the_sign_names_the_steps_of_a_fit(rng):
    t = np.linspace(0, 10, 120)
    x = np.column_stack([np.cos(t), -np.sin(t)]) + 0.01 * rng.standard_normal((120, 2))
    sign = Sign()
    token = _progress._spinner.set(sign)
    try:
        og.OrthoReg("poly(1)").fit(x, t=t)
    finally:
        _progress._spinner.reset(token)
    steps = ["Smoothing the measurements ...", "Choosing terms ...", "Matching trajectories ..."]
    assert [text for text in dict.fromkeys(sign.said) if text in steps] == steps
    assert sign.status == "Fitting ..."


def test_without_a_sign_a_step_says_nothing(capfd):
    @step("Choosing terms")
    def choose():
        return 3

    assert choose() == 3 and capfd.readouterr() == ("", "")
