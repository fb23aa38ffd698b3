"""Entries of a physics file have a type, and other values are refused in one sentence."""

import pytest

import orthoreg as og
from orthoreg.physics import physics_of, read_fields


def physics(tmp_path, text):
    file = tmp_path / "physics.toml"
    file.write_text(text)
    return physics_of(read_fields(file))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('values = ["g=9.81"]', r"values=...\) must be a table of finite numbers"),
        ("[values]\ng = true", "a table of finite numbers"),
        ("[values]\ng = inf", "a table of finite numbers"),
        ("[values]\ng = 1" + "0" * 400, "a table of finite numbers"),
        ("symmetry = 0", r"symmetry=...\) must be a list of texts such as \['odd'\]"),
        ("symmetry = [1]", "must be a list of texts"),
        ("bounds = inf", "must be a list of texts"),
        ("[bounds]\nL = [0, 1]", "must be a list of texts"),
        ("equations = 3", "must be a list of texts"),
        ("equations = [3]", "must be a list of texts"),
        ('equations = [["x", "v"]]', "must be a list of texts"),
        ("[equations]\nx = 3", "must be a list of texts"),
        ('required = ["x"]', "must be a table such as"),
        ("[forbidden]\nx = 3", "must be a list of texts"),
        ("relations = 1979-05-27", "must be a list of texts"),
        ("conserved = [[]]", "must be a list of texts"),
        ("start = 3", "must be a list of texts"),
        ("[start]\nh = [1, 2, 3]", "must be a number, a range"),
        ("[start]\nh = 1" + "0" * 400, "must be a number, a range"),
        ("per_run = 3", "must be a list of texts"),
        ("equations = " + "[" * 5000, "nested too deeply"),
        ("relations = [" + "'x'," * 40_000 + "]", "larger than 100000 bytes"),
        ("\x00", "is not a TOML file"),
        ("[values]\ng = " + "1" * 5000, "is not a TOML file"),
    ],
)
def test_wrong_types_are_refused(tmp_path, text, words):
    with pytest.raises(og.InputError, match=words) as caught:
        physics(tmp_path, text)
    assert len(str(caught.value)) < 400


def test_all_entries_are_read(tmp_path):
    text = """
    equations = ["x' = v", "v' = -k*x + ..."]
    values = { m = 2 }
    relations = "coef(v, x) = -coef(v, v)"
    conserved = ["x + v"]
    start = ["x = 0..10", "v = 3"]
    per_run = ["k"]
    symmetry = "odd"
    required.v = "v"
    forbidden.v = ["x*v", "sin(...)"]
    bounds = ["0.1 <= k", "k <= 2", "v': v <= 0"]
    """
    assert physics(tmp_path, text) == og.Physics(
        equations={"x": "v", "v": "-k*x + ..."},
        values={"m": 2.0},
        relations=["coef(v, x) = -coef(v, v)"],
        conserved=["x + v"],
        start={"x": (0, 10), "v": 3},
        per_run=["k"],
        symmetry=og.Odd(),
        required={"v": ["v"]},
        forbidden={"v": ["x*v", "sin(...)"]},
        bounds={"k": (0.1, 2), ("v", "v"): (None, 0)},
    )
    tables = "[equations]\nx = 'v'\n[start]\nx = 3\n[per_run]\nv = ['x']\n"
    assert physics(tmp_path, tables) == og.Physics(
        equations={"x": "v"}, start={"x": 3}, per_run={"v": ["x"]}
    )


@pytest.mark.parametrize(
    "given",
    [
        {"symmetry": 0}, {"symmetry": 5}, {"symmetry": "odd"}, {"equations": [1]},
        {"equations": [("x",)]}, {"values": {"g": 10**400}}, {"bounds": {"L": (0, 10**400)}},
        {"start": {"h": 10**400}}, {"values": [("g", 1), 3]}, {"relations": ["x" * 20_000]},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_python_objects_are_refused(given):
    with pytest.raises(og.InputError):
        og.Physics(**given)
