"""`explain`: proposals for fitted models are accepted, saved and printed, or there are none."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import orthoreg as og
from orthoreg._common.errors import InputError
from orthoreg.cli import run
from orthoreg.systems import Pendulum, Split, generate


@pytest.fixture(scope="module")
def states() -> np.ndarray:
    return np.random.default_rng(0).uniform(-2, 2, (300, 1))


def slopes(x: np.ndarray) -> np.ndarray:
    return -x + 0.4 * np.sin(3 * x)


@pytest.fixture(scope="module")
def explanation(states):
    model = og.OrthoReg("poly(1)", og.Zero()).fit(states, slopes(states))
    return model.explain(states, slopes(states))


def test_what_is_missing_is_named_with_its_evidence(explanation):
    first = explanation.proposals[0]
    assert (first.equation, first.formula) == ("x0", "sin(3*x0)")
    assert first.gain > 100 and first.inside > 0.99 and first.outside > 0.99
    assert first.probability == 1.0
    values = {one.name: one for one in first.constants}
    assert_allclose(values["coefficient of sin(3*x0)"].value, 0.4, rtol=1e-3)
    assert values["p in sin(x0*p)"].is_snapped
    before, after = first.changes["x0"]
    assert abs(before + 1) > 0.05 > abs(after + 1)
    assert (
        before == explanation.model.coefficients_[0, explanation.model.feature_names_.index("x0")]
    )
    assert all(one.equation == "x0" for one in explanation.proposals)
    assert "x0' lacks sin(3*x0)" in str(explanation)
    json.dumps(explanation.to_dict())


def test_the_partial_residual_lies_on_what_the_proposal_says(explanation):
    first = explanation.proposals[0]
    said, left = first.partial_residual.T
    assert_allclose(left, said, atol=1e-3)
    assert np.ptp(said) > 0.5
    figure = og.plotting.plot_proposal(first)
    assert "sin(3*x0)" in figure.axes[0].get_xlabel()
    with pytest.raises(InputError, match="takes a proposal"):
        og.plotting.plot_proposal(explanation)


@pytest.mark.slow
def test_a_snapped_constant_keeps_the_interval_of_its_estimate(states):
    noisy = slopes(states) + 0.01 * np.random.default_rng(1).standard_normal(states.shape)
    found = og.OrthoReg("poly(1)", og.Zero()).fit(states, noisy).explain(states, noisy)
    (one,) = [c for c in found.proposals[0].constants if c.name == "p in sin(x0*p)"]
    assert one.is_snapped and one.value == 3
    assert one.low < 3 < one.high and one.high - one.low < 0.1
    assert "95% interval" in str(found)


def test_an_accepted_proposal_extends_the_model(explanation, tmp_path):
    model = explanation.proposals[0].accept()
    assert model.equations() == ["x0' = -1.000 x0 + 0.4000 sin(3*x0)"]
    assert explanation.model.equations() != model.equations()
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.equations() == model.equations()
    assert [one["formula"] for one in loaded.accepted_] == ["sin(3*x0)"]
    assert any("Accepted into the library of x0': sin(3*x0)" in n for n in loaded.summary().notes)


def test_the_best_of_each_equation_is_accepted_without_a_number(explanation):
    assert explanation.accept().equations() == explanation.accept(0).equations()
    with pytest.raises(InputError, match=r"There are \d+ proposals, counted from 0; got 99"):
        explanation.accept(99)


def test_nothing_is_proposed_where_nothing_is_missing(states):
    model = og.OrthoReg("poly(1)", og.Zero()).fit(states, 2 * states)
    found = model.explain(states, 2 * states)
    assert found.proposals == ()
    assert str(found).startswith("Nothing to add")
    with pytest.raises(InputError, match="no proposal to accept"):
        found.accept()


def test_an_atom_of_ones_own_is_tried(states):
    y = np.sin(np.exp(0.6 * states))
    model = og.OrthoReg("poly(1)", og.Zero()).fit(states, y)
    atom = og.Atom("sin(exp(p*z))", p=(0.1, 2))
    found = model.explain(states, y, atoms=[atom])
    assert found.proposals[0].formula == "sin(exp(0.6*x0))"
    accepted = found.accept(0)
    (value,) = accepted.parameters_.values()
    assert_allclose(value, 0.6, rtol=1e-6)


@pytest.mark.parametrize(
    "options, sentence",
    [
        ({"atoms": [og.Atom("sin(q*z)")]}, "'q' is not a variable"),
        ({"atoms": ["sin(z)"]}, "must be a list of Atom"),
        ({"minutes": 0}, "minutes must be more than 0"),
    ],
)
def test_mistakes_are_told_in_a_sentence(explanation, states, options, sentence):
    with pytest.raises(InputError, match=sentence):
        explanation.model.explain(states, slopes(states), **options)


def test_without_time_the_library_alone_is_judged(explanation, states):
    found = explanation.model.explain(states, slopes(states), minutes=1e-9)
    assert found.proposals == () and found.timed_out and found.to_dict()["timed_out"]
    assert "The time limit ended" in str(found) and not explanation.timed_out


@pytest.mark.slow
@pytest.mark.parametrize("difficulty", ["low", "medium", "high"])
def test_the_missing_terms_of_the_pendulum_are_named(difficulty):
    system = Pendulum.of_difficulty(difficulty)
    data = generate(system, Split.train, runs=200)
    model = og.OrthoReg("poly(2) + fourier(1)").fit(data)
    found = model.explain(data)
    assert set(found.proposals[0].terms) == {"cos(3*theta)", "exp(-theta**2)", "tanh(omega)"}
    test = generate(system, Split.t2, runs=20)
    truth = system(0.0, test.states)
    error = np.mean((found.accept(0).predict(test) - truth) ** 2) / np.var(truth)
    assert error < 1e-3


@pytest.mark.slow
def test_the_command_prints_proposals_and_writes_the_model(tmp_path, capsys):
    t = np.linspace(0, 12, 500)
    data = og.Dataset.from_arrays(_decay(t), t, names=["x"])
    table = tmp_path / "runs.csv"
    np.savetxt(table, np.column_stack([t, data.states]), delimiter=",", header="t,x", comments="")
    model, out = tmp_path / "m.orthoreg", tmp_path / "larger.orthoreg"
    og.OrthoReg("poly(1)", og.Zero()).fit(data).save(model)
    arguments = ["explain", str(model), str(table), "--accept", "0", "--out", str(out)]
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proposals"][0]["equation"] == "x"
    assert og.load(out).equations() == found["accepted"]
    assert run(["explain", str(model), str(table), "--accept", "0"]) == 2
    assert "must be used together" in capsys.readouterr().err


@pytest.mark.slow
def test_accepting_does_not_search_again(tmp_path, capsys, monkeypatch):
    t = np.linspace(0, 12, 200)
    x = _decay(t)
    table, model, out = (tmp_path / name for name in ("r.csv", "m.orthoreg", "larger.orthoreg"))

    def write(values: np.ndarray) -> None:
        rows = np.column_stack([t, values])
        np.savetxt(table, rows, delimiter=",", header="t,x", comments="")

    write(x)
    fitted = og.OrthoReg("poly(1)", og.Zero()).fit(og.read_table(table, "t", ["x"]))
    fitted.save(model)
    arguments = ["explain", str(model), str(table), "--json"]
    assert run(arguments) == 0
    first = json.loads(capsys.readouterr().out)

    def searched(*_: object, **__: object) -> None:
        raise InputError("searched again")

    monkeypatch.setattr(og.OrthoReg, "explain", searched)
    accepting = [*arguments, "--accept", "0", "--out", str(out)]
    assert run(accepting) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["proposals"] == first["proposals"] and second["accepted"]
    assert og.load(out).equations() == second["accepted"]
    assert run([*arguments, "--accept", "99", "--out", str(out)]) == 2
    assert "proposals, counted from 0; got 99" in capsys.readouterr().err

    write(1.01 * x)  # proposals for other data are not used
    assert run(accepting) == 2
    assert "searched again" in capsys.readouterr().err
    write(x)
    (tmp_path / "explained.json").write_text("{}")
    assert run(accepting) == 2
    assert "searched again" in capsys.readouterr().err


def enzyme(noise: float) -> og.Dataset:
    """S' = -S/(1.08 + S)."""
    t, rng = np.linspace(0, 8, 100), np.random.default_rng(0)
    runs = [
        solve_ivp(lambda _, s: -s / (1.08 + s), (0, 8), [start], t_eval=t, rtol=1e-9).y.T
        for start in (4.0, 1.5, 0.5)
    ]
    size = noise * np.concatenate(runs).std()
    return og.Dataset.from_arrays(
        [run + size * rng.standard_normal(run.shape) for run in runs], t, names=["S"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.05])
def test_explain_and_discover_agree(noise):
    data = enzyme(noise)
    model = og.OrthoReg("poly(1)", og.Zero()).fit(data)
    explained, discovered = model.explain(data), og.discover(data, "poly(1)")
    points = np.linspace(0.1, 4, 50)[:, None]
    truth = -points[:, 0] / (1.08 + points[:, 0])
    for values in (explained.proposals[0].values(points), discovered.best.predict(points)[:, 0]):
        assert np.abs(values - truth).max() < 0.03
    assert "S)" in explained.proposals[0].formula and "exp" not in explained.proposals[0].formula
    # proposals that are worse than the library on the outer part are last
    ranks = [(one.is_worse_outside, -one.gain) for one in explained.proposals]
    assert ranks == sorted(ranks)
    for one in explained.proposals:
        assert one.formula not in {other.formula for other in one.alternatives}
    formulas = [one.formula for one in explained.proposals]
    assert len(set(formulas)) == len(formulas)


def _decay(t: np.ndarray) -> np.ndarray:
    """x' = -x + 2 sin(3 x) has no closed form and is solved by small steps."""
    x, step = np.array([2.6]), 1e-3
    found = []
    for time in np.arange(0, t[-1] + step, step):
        found.append((time, x[0]))
        half = x + step / 2 * (-0.2 * x + 0.1 * np.sin(3 * x))
        x = x + step * (-0.2 * half + 0.1 * np.sin(3 * half))
    times, values = np.array(found).T
    return np.interp(t, times, values)[:, None]


@pytest.mark.slow
def test_many_proposals_for_one_equation_leave_room_for_those_of_others():
    """Both equations lack the root, and many sums of exponentials imitate it in each."""

    def slope(_: float, x: np.ndarray) -> list[float]:
        return [0.3 - 0.4 * np.sqrt(x[0]), 0.4 * np.sqrt(x[0]) - 0.3 * np.sqrt(x[1])]

    times, starts = np.linspace(0, 12, 250), ([3.2, 1.5], [0.6, 3.8], [1.5, 2.5])
    runs = [
        solve_ivp(slope, (0, 12), start, t_eval=times, rtol=1e-9, atol=1e-11).y.T
        for start in starts
    ]
    data = og.Dataset.from_arrays(runs, times, names=["a", "b"])
    found = og.OrthoReg("poly(2) + sqrt(b)", og.Zero()).fit(data).explain(data)
    first = {one.equation: one.formula for one in reversed(found.proposals)}
    assert first == {"a": "sqrt(a)", "b": "sqrt(a)"}
    assert len(found.proposals) <= 8


def test_numbers_in_library_terms_are_rounded_in_proposals():
    """K is an estimate with sixteen digits."""
    t = np.linspace(0, 8, 120)

    def rate(_, x):
        return [1.5 - 2 * x[0] / (0.37 + x[0]) - 0.3 * x[0] * np.sin(1.7 * x[0])]

    runs = [
        solve_ivp(rate, (0, 8), [start], t_eval=t, rtol=1e-10, atol=1e-12).y.T
        for start in (0.1, 1.0, 2.5, 4.0)
    ]
    data = og.Dataset.from_arrays(runs, t, names=["S"])
    found = og.OrthoReg("poly(1) + S/(K + S)").fit(data).explain(data)
    assert found.proposals
    for proposal in found.proposals:
        numbers = re.findall(r"\d+\.\d+", " ".join([proposal.text, *proposal.changes]))
        assert max(len(number.replace(".", "").lstrip("0")) for number in numbers) <= 5
