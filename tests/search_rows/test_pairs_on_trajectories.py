"""Pairs of terms that the data cannot distinguish, if trajectories selected the terms."""

import numpy as np

import orthoreg as og


def relaxation(k, gain, start, u, h):
    """Return the exact solution of x' = -k x + gain u with held inputs."""
    x = [start]
    for value in u[:-1]:
        goal = gain * value / k
        x.append(goal + (x[-1] - goal) * np.exp(-k * h))
    return np.array(x)


def test_an_input_with_two_values_cannot_be_told_from_its_square():
    t = np.arange(0, 20, 0.05)
    runs, inputs = [], []
    for i in range(3):
        u = np.where(np.floor(t / (1.3 + 0.6 * i)) % 2 == 0, 5.0, 0.0)
        runs.append(relaxation(1.25, 1.25, 0.3 * i, u, 0.05)[:, None])
        inputs.append(u[:, None])
    data = og.Dataset.from_arrays(runs, t, inputs, names=["v"], input_names=["u"])
    summary = og.OrthoReg().fit(data).summary(data)
    assert summary.verdict.code == "explained"
    (pair,) = summary.confounded
    assert (pair.term, pair.other) == ("u", "u**2")
    assert "because u has few values" in pair.text


def test_pairs_are_of_terms_in_use_that_trajectories_do_not_exclude():
    """Rows selected another set of terms before trajectories decided."""
    rng = np.random.default_rng(5)
    t = np.arange(0, 3600, 2.0)
    current = np.repeat(rng.choice([0.0, 1.0, 2.0, -1.0], 60), 30)
    charge = 0.9 - np.concatenate([[0], np.cumsum(current[:-1])]) * 2 / 7200
    voltage = relaxation(1 / 40, 1 / 1500, 0.0, current, 2.0)
    data = og.Dataset.from_arrays(
        np.column_stack([charge, voltage]), t, current[:, None],
        names=["soc", "v1"], input_names=["current"],
    )  # fmt: skip
    model = og.OrthoReg().fit(data)
    summary = model.summary(data)
    assert summary.matched_terms
    used = {(row.equation, row.term) for row in summary.terms if row.coefficient}
    probable = {(row.equation, row.term) for row in summary.terms if row.stability >= 0.05}
    assert used == {("soc", "current"), ("v1", "v1"), ("v1", "current")}
    for pair in summary.confounded:
        assert (pair.equation, pair.term) in used and (pair.equation, pair.other) in probable
    assert np.array_equal(og.bootstrap(model).support, model.support_)
