"""All that is needed to make a model again."""

import ast
import platform
from importlib import import_module
from typing import Any

from ... import __version__
from ...data import Dataset
from ._data import Repeat
from ._quality import digest


def repeat_of(model: Any, data: Dataset | None, command: str) -> Repeat:
    """Version, settings, seed, digest of the data, and how the model was made."""
    facts = [
        ("orthoreg", __version__),
        ("Python", platform.python_version()),
        ("Model", type(model).__name__),
        ("Seed", repr(getattr(model, "seed", None))),
    ]
    facts += [(name, repr(value)) for name, value in _changed(model).items() if name != "seed"]
    if data is not None:
        source = data.source if "." in data.source else "arrays"
        facts += [("Data", source), ("SHA-256 of the data", digest(data))]
    return Repeat(tuple(facts), _code(model, data), command)


def _changed(model: Any) -> dict[str, Any]:
    """The settings that are not the default ones."""
    usual = type(model)().get_params(deep=False)
    return {
        name: value
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(usual.get(name))
    }


def _code(model: Any, data: Dataset | None) -> str:
    """A script that makes the model and this page again."""
    lines = [f"data = {_reading(data)}", f"model = {model!r}", "model.fit(data)"]
    text = "\n".join([*lines, "report(model, 'report.html', data=data)"])
    parts = [part for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Name)]
    used = sorted({part.id for part in parts} & set(import_module("orthoreg").__all__))
    return f"from orthoreg import {', '.join(used)}\n\n{text}"


def _reading(data: Dataset | None) -> str:
    """The call that reads the data, where they came from a table."""
    if data is None or "." not in data.source:
        return "...  # the runs, as a Dataset"
    named = f"states={list(data.state_names)!r}"
    if data.velocity_of:
        known = {*data.velocity_of, *data.velocity_of.values()}
        rest = [name for name in data.state_names if name not in known]
        pairs = {
            position: None if rate in data.estimated else rate
            for position, rate in data.velocity_of.items()
        }
        positions = pairs if any(pairs.values()) else list(pairs)
        named = f"positions={positions!r}" + (f", states={rest!r}" if rest else "")
    parts = [repr(data.source), f"time={data.time_name!r}", named]
    inputs = [name for name in data.input_names if name != data.time_input]
    parts += [f"inputs={inputs!r}"] if inputs else []
    parts += [f"group={data.group_name!r}"] if data.group_name else []
    return f"read_table({', '.join(parts)})"
