"""Advice on an input that acts later than it was recorded."""

import pytest
from delayed_systems import forced_oscillator, heated_plant

import orthoreg as og


@pytest.mark.parametrize("data", [forced_oscillator(0), heated_plant(0)])
def test_a_dead_time_is_named(data: og.Dataset):
    summary = og.OrthoReg("poly(1)", og.Zero()).fit(data).summary(data)
    first = summary.advice[0]
    assert first.code == "dead-time"
    assert first.text.startswith("u acts later than it was recorded: a delay of about")
    assert 'library="poly(1) + u(t - tau)"' in first.text


@pytest.mark.parametrize("seed", range(3))
def test_no_dead_time_without_one(seed: int):
    for data in (forced_oscillator(seed, delay=0.0), heated_plant(seed, delay=0.0)):
        for library in ("poly(1)", "u + 1"):  # also for a wrong library
            summary = og.OrthoReg(library, og.Zero()).fit(data).summary(data)
            assert "dead-time" not in [item.code for item in summary.advice]
