"""Schemas describe the columns and can be written to files."""

import pytest

from orthoreg.data._schema import Schema

FULL = Schema(
    state_names=("x", "x_dot"), input_names=("u", "t"), group_name="run", units={"x": "m"},
    velocity_of={"x": "x_dot"}, estimated=("x_dot",), time_input="t",
)  # fmt: skip


def test_a_schema_is_read_as_it_was_written():
    assert Schema.from_dict(FULL.to_dict()) == FULL
    older = {key: value for key, value in Schema(state_names=("x",)).to_dict().items()}
    del older["clock"]  # older files, in which time could not be an input
    assert Schema.from_dict(older) == Schema(state_names=("x",))


def test_places_follow_the_names():
    assert FULL.variable_names == ("x", "x_dot", "u", "t") and FULL.time_index == 3
    assert FULL.given_rates == {0: 1} and FULL.positions == {"x": None}
    assert FULL.measured_states == ("x",) and FULL.is_measured.tolist() == [True, False]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("states", [1]), ("states", None), ("units", "m"), ("units", {"x": {"$kind": "Zero"}}),
        ("columns", {}), ("velocity_of", [1]), ("estimated", 5), ("clock", ["t"]), ("clock", "u"),
    ],
)  # fmt: skip
def test_other_contents_of_a_file_are_refused(key, value):
    with pytest.raises((ValueError, TypeError, KeyError)):
        Schema.from_dict(FULL.to_dict() | {key: value})
