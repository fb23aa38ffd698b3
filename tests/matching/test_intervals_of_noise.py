"""Intervals and probabilities of noisy data for every loss, and cases without intervals."""

import numpy as np
import pytest

import orthoreg as og
from orthoreg.matching._limits import EVIDENCE_TEMPERATURE
from orthoreg.model.baselines import STLSQ
from orthoreg.search import choose_structure

TRUTH = {"x": 1.0, "v": (-4.0, -0.3)}


def runs(noise, *, rows=150, count=5, seed=0):
    """x' = v, v' = -4 x - 0.3 v from several starts."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0, 6, rows)
    field = np.array([[0.0, 1.0], [-4.0, -0.3]])
    values, axes = np.linalg.eig(field)
    starts = rng.uniform(-2, 2, (count, 2))
    exact = [
        (axes @ (np.exp(np.outer(values, times)) * np.linalg.solve(axes, start)[:, None])).real.T
        for start in starts
    ]
    size = noise * np.concatenate(exact).std(axis=0)
    noisy = [run + size * rng.standard_normal(run.shape) for run in exact]
    return og.Dataset.from_arrays(noisy, times, names=["x", "v"])


def ends(found, equation, term):
    return found.interval[equation, found.feature_names.index(term)]


@pytest.mark.parametrize(
    "model",
    [
        og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField()),
        STLSQ(threshold=0.1, library="poly(1)"),
        og.OrthoReg("poly(1)", og.Zero(), loss=og.Weak(0.5)),
    ],
    ids=["derivatives", "stlsq", "weak"],
)
def test_intervals_of_every_loss_include_noise(model):
    found = og.bootstrap(model.fit(runs(0.05)), resamples=20)
    for equation, term, value in ((0, "v", 1.0), (1, "x", -4.0), (1, "v", -0.3)):
        low, high = ends(found, equation, term)
        assert low < value < high
        assert 1e-4 < high - low < 0.15


def test_runs_are_kept_only_if_intervals_need_them(tmp_path):
    noisy, clean = runs(0.05), runs(0.0)
    model = og.OrthoReg("poly(1)", og.Zero(), loss=og.VectorField())
    assert model.fit(clean).fit_.runs is None
    assert model.fit(noisy).fit_.runs is not None
    evidence = model.fit_.evidence
    assert evidence is not None
    model.save(tmp_path / "m.orthoreg")
    kept = og.load(tmp_path / "m.orthoreg").fit_.evidence
    np.testing.assert_array_equal(kept.interval, evidence.interval)
    assert model.adapt(clean).fit_.runs is None


def test_a_short_run_has_no_interval():
    data = runs(0.0, rows=25, count=1)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    found = og.bootstrap(model, resamples=20)
    assert np.isnan(found.interval[found.support]).all()
    assert "not known" in str(found)
    summary = model.summary(data)
    assert all(row.low is None and row.high is None for row in summary.terms if row.coefficient)
    assert any(note.startswith("No intervals: there are too few rows") for note in summary.notes)
    assert "not known" in str(summary)


def test_probabilities_are_those_of_noise():
    """A weak term has a high probability at low noise, and a moderate one at high noise."""
    rng = np.random.default_rng(3)
    times = np.linspace(0, 8, 100)
    # x' = -0.5 x - 0.05 x^2
    exact = [0.5 / ((0.5 / start + 0.05) * np.exp(0.5 * times) - 0.05) for start in (0.5, 1, 2)]
    found, field = {}, None
    for noise in (1e-3, 0.1):
        states = [(run + noise * rng.standard_normal(len(run)))[:, None] for run in exact]
        data = og.Dataset.from_arrays(states, times, names=["x"])
        if field is None:
            field = og.OrthoReg("poly(2)", og.Zero()).fit(data).field_
        match = choose_structure(field, data, np.ones((1, 3), dtype=bool))
        assert match is not None and match.inclusion is not None
        found[noise] = match.inclusion.terms[0]
    assert found[1e-3][1] > 0.99 and found[1e-3][2] > 0.99 and found[1e-3][0] < 0.3
    assert found[0.1][1] > 0.9 and 0.001 < found[0.1][2] < 0.9


def test_matched_sets_count_with_their_own_score(monkeypatch):
    """The score of a matched set replaces that of its linearization."""
    from orthoreg.search._trajectories import TermSearch, _ScoredSet

    weigh, seen = TermSearch._inclusion, []

    def kept(self, best, *linearized):
        seen.append((self, best, linearized))
        return weigh(self, best, *linearized)

    monkeypatch.setattr(TermSearch, "_inclusion", kept)
    data = runs(0.02)
    field = og.OrthoReg("poly(1)", og.Zero()).fit(data).field_
    choose_structure(field, data, np.ones((2, 3), dtype=bool))
    search, best, linearized = seen[-1]
    assert best.support.tolist() == [[False, False, True], [False, True, True]]
    with_constant, without_friction = best.support.copy(), best.support.copy()
    with_constant[0, 0], without_friction[1, 2] = True, False
    for gap in (0.0, 3.0, np.inf):
        search._scored = [
            _ScoredSet(with_constant, best.score + gap, best.field),
            _ScoredSet(without_friction, best.score + gap, best.field),
        ]
        found = weigh(search, best, *linearized)
        weight = np.exp(-gap / EVIDENCE_TEMPERATURE)
        # other sets than these three have a small weight
        assert found.terms[0, 0] == pytest.approx(weight / (1 + 2 * weight), abs=0.05)
        assert found.terms[1, 2] == pytest.approx(1 - weight / (1 + 2 * weight), abs=0.05)
        assert found.equations[0] == pytest.approx(1 - found.terms[0, [0, 1]].sum(), abs=0.02)
