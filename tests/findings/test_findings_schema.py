"""The JSON of findings has exactly the fields of `schema.json`."""

import json
from dataclasses import fields
from importlib import resources

import jsonschema
import numpy as np
import pytest

import orthoreg as og
from orthoreg import findings
from orthoreg.findings._findings import CODES, VERDICTS

SCHEMA = json.loads(resources.files(findings).joinpath("schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
PARTS = {
    name: getattr(findings, name, None) or getattr(findings._findings, name)
    for name in SCHEMA["$defs"]
    if name != "number"
}


def check(found: findings.Findings) -> None:
    VALIDATOR.validate(found.to_dict())
    values = json.loads(found.to_json(), parse_constant=pytest.fail)
    VALIDATOR.validate(values)
    assert set(values) == set(SCHEMA["properties"])


def oscillator(noise: float, runs: int = 3) -> og.Dataset:
    rng = np.random.default_rng(0)
    t = np.linspace(0, 10, 200)
    states = [a * np.column_stack([np.cos(t), -np.sin(t)]) for a in 1 + np.arange(runs)]
    states = [x + noise * rng.standard_normal(x.shape) for x in states]
    return og.Dataset.from_arrays(states, t, names=["x", "v"])


def test_the_schema_is_one_and_allows_nothing_else():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for part in (SCHEMA, *(SCHEMA["$defs"][name] for name in PARTS)):
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def test_every_field_is_in_the_schema():
    for name, kind in {"Findings": findings.Findings, **PARTS}.items():
        part = SCHEMA if name == "Findings" else SCHEMA["$defs"][name]
        assert list(part["properties"]) == [one.name for one in fields(kind)], name
    assert SCHEMA["$defs"]["Advice"]["properties"]["code"]["enum"] == list(CODES)
    assert SCHEMA["$defs"]["Verdict"]["properties"]["code"]["enum"] == list(VERDICTS)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_findings_of_runs_follow_the_schema(noise):
    data = oscillator(noise)
    model = og.OrthoReg("poly(2)").fit(data)
    check(model.summary())  # of a fit without data
    check(model.summary(data))


def test_findings_with_a_residual_and_advice_follow_the_schema(pendulum_model, pendulum_runs):
    found = pendulum_model.summary(pendulum_runs)
    assert found.advice and found.certificate[0].residual_share >= 0
    check(found)


def test_findings_of_rows_of_positions_and_of_baselines_follow_the_schema():
    rng = np.random.default_rng(0)
    x = rng.uniform(9, 11, (200, 1))
    rows = og.OrthoReg("poly(1)", og.Zero()).fit(x, 9 - x + 0.1 * rng.standard_normal((200, 1)))
    assert rows.summary(x, 9 - x).correlations  # an offset and a slope, far from zero
    check(rows.summary(x, 9 - x))
    swing = oscillator(0.01)
    check(og.STLSQ(0.1, og.Polynomial(1)).fit(swing).summary(swing))
    t = np.linspace(0, 10, 200)
    data = og.Dataset.from_positions([np.cos(t)[:, None], 2 * np.cos(t)[:, None]], t, names=["q"])
    physics = og.Physics(equations={"q_dot": "-k*q + ..."})
    check(og.OrthoReg("poly(2)", physics=physics).fit(data).summary(data))


def test_a_field_that_is_not_in_the_schema_is_refused(pendulum_model):
    values = pendulum_model.summary().to_dict()
    for wrong in (values | {"more": 1}, {**values, "verdict": values["verdict"] | {"more": 1}}):
        with pytest.raises(jsonschema.ValidationError, match="'more' was unexpected"):
            VALIDATOR.validate(wrong)


def test_summary_is_the_former_name():
    assert findings.Summary is findings.Findings
