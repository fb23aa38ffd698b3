"""Names of jobs, and allowed values of their specs."""

import dataclasses
import functools
import json
import math

import numpy as np
import pytest
import sweep_jobs
from hypothesis import given
from hypothesis import strategies as st
from sweep_jobs import Colour, Inner, Spec, score

from orthoreg._common.errors import InputError
from paper.sweeps import Job, decode, encode

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
specs = st.builds(
    Spec,
    seed=st.integers(),
    system=st.text(),
    strengths=st.lists(st.floats()).map(tuple),
    inner=st.builds(Inner, width=st.integers(), rate=st.floats()),
    note=st.none() | st.text(),
    exact=st.booleans(),
)


def test_digest_is_what_it_always_was():
    """Earlier results are found by this digest. If it changes, they are not used any more."""
    job = Job(function=score, spec=Spec(seed=7))
    assert job.description == {
        "function": "sweep_jobs.score",
        "version": 1,
        "spec": {
            "$kind": "Spec",
            "seed": 7,
            "system": "pendulum",
            "strengths": [0.1, {"$float": "inf"}],
            "inner": {"$kind": "Inner", "width": 3, "rate": {"$float": "inf"}},
            "note": None,
            "exact": True,
        },
    }
    assert job.digest == "dc0588c5d9e8bf89cbe5e5ce1c71c607c3cde757b9ff2dbb9c65ff46522da6b7"


def test_digest_depends_on_everything_that_decides_the_result_and_on_nothing_else():
    job = Job(function=score, spec=Spec(seed=7))
    assert dataclasses.replace(job, cost=3.0).digest == job.digest
    others = [
        dataclasses.replace(job, function=sweep_jobs.leave),
        dataclasses.replace(job, version=2),
        *(
            dataclasses.replace(job, spec=dataclasses.replace(job.spec, **change))
            for change in (
                {"seed": 8}, {"seed": True}, {"system": "duffing"}, {"strengths": (0.1,)},
                {"strengths": (0.1, -math.inf)}, {"strengths": (0.1, math.nan)},
                {"inner": Inner(width=4)}, {"note": "None"}, {"exact": 1}, {"seed": "7"},
                {"strengths": ("0.1", math.inf)}, {"inner": None},
            )
        ),
    ]  # fmt: skip
    assert len({one.digest for one in [job, *others]}) == len(others) + 1


@given(specs)
def test_spec_round_trip(spec):
    text = json.dumps(encode(spec), allow_nan=False)
    assert repr(decode(json.loads(text), (Spec, Inner))) == repr(spec)


@given(specs, specs)
def test_equal_digests_mean_equal_specs(one, other):
    same = Job(function=score, spec=one).digest == Job(function=score, spec=other).digest
    assert same == (repr(one) == repr(other))


def test_scalars_of_numpy_and_members_of_enumerations_become_plain():
    given = Spec(
        seed=np.int64(7), system=Colour.red, strengths=(np.float64(0.5),), exact=np.bool_(False)
    )
    plain = Spec(seed=7, system="red", strengths=(0.5,), exact=False)
    assert encode(given) == encode(plain)
    assert [type(value) for value in encode(given).values()] == [
        type(value) for value in encode(plain).values()
    ]


def test_only_given_kinds_are_rebuilt():
    with pytest.raises(InputError, match="class 'Inner'; decode.* has 'Spec'"):
        decode(encode(Spec(seed=1)), [Spec])


def test_name_says_function_and_values():
    job = Job(function=score, spec=Inner(width=3, rate=0.5))
    assert job.name == "score(width=3, rate=0.5)"


def local(spec):
    return []


@pytest.mark.parametrize(
    "changes, sentence",
    [
        (
            {"function": lambda spec: []},
            "cannot be imported from 'test_sweep_jobs'. Define it",
        ),
        ({"function": functools.partial(score)}, "must be a top-level function of a module"),
        ({"spec": {"seed": 1}}, "frozen and keyword-only; got dict. Write @dataclass"),
        ({"spec": Spec}, "frozen and keyword-only; got type"),
        ({"spec": sweep_jobs.ByPosition(3)}, "frozen and keyword-only; got ByPosition"),
        ({"spec": sweep_jobs.Thawed(seed=3)}, "frozen and keyword-only; got Thawed"),
        ({"spec": Spec(seed=1, strengths=[1.0])}, r"\.strengths is a list, which is mutable"),
        ({"spec": Spec(seed=1, strengths=(1.0, 1j))}, r"strengths\[1\] must be text.*got complex"),
        ({"spec": Spec(seed=1, inner=np.ones(3))}, "inner must be text, .* got ndarray"),
        ({"spec": Spec(seed=1, inner=sweep_jobs.Thawed(seed=1))}, "inner must be a dataclass"),
        ({"cost": math.nan}, "cost.* finite number; got nan"),
    ],
)
def test_mistakes_are_named(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Job(**({"function": score, "spec": Spec(seed=1)} | changes))


def test_functions_of_scripts_and_local_specs_are_refused(monkeypatch):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Local:
        seed: int

    with pytest.raises(InputError, match="class of Job.*Local'.* cannot be imported"):
        Job(function=score, spec=Local(seed=1))
    monkeypatch.setattr(local, "__module__", "__main__")
    with pytest.raises(InputError, match="'local' of the script that is running.* Move it"):
        Job(function=local, spec=Spec(seed=1))
