"""The docstring of every public name describes parameters and results, and has an example."""

import inspect
import re

import pytest

import orthoreg as og

# names of the package, and methods of models and data
METHODS = {
    "OrthoReg": None,  # all
    "Dataset": ("from_arrays", "from_positions"),
    "ChunkedDataset": ("from_arrays", "from_runs"),
}
FOR_SCIKIT = {"get_params", "set_params", "get_metadata_routing", "set_fit_request",
              "set_predict_request", "set_score_request", "recipe"}  # fmt: skip


def public():
    names = [name for name in og.__all__ if callable(getattr(og, name))]
    for name in names:
        thing = getattr(og, name)
        if inspect.isclass(thing) and issubclass(thing, Exception):
            continue
        yield name, thing
    for name, chosen in METHODS.items():
        cls = getattr(og, name)
        for method, thing in inspect.getmembers(cls, callable):
            is_public = not method.startswith("_") and method not in FOR_SCIKIT
            if is_public and (chosen is None or method in chosen):
                yield f"{name}.{method}", thing
    for name in ("recommended", "paper_orthoreg", "paper_l2", "paper_pure", "lasso", "two_stage",
                 "selection_refit"):  # fmt: skip
        yield f"presets.{name}", getattr(og.presets, name)


def has_section(text: str, title: str) -> bool:
    return re.search(rf"^{title}\n-{{{len(title)}}}$", text, re.M) is not None


@pytest.mark.parametrize("name, thing", [pytest.param(*one, id=one[0]) for one in public()])
def test_docstrings_have_the_usual_sections(name, thing):
    text = inspect.getdoc(thing) or ""
    assert text, f"{name} has no docstring"
    signature = inspect.signature(thing)
    parameters = [one for one in signature.parameters if one not in ("self", "cls")]
    if parameters:
        assert has_section(text, "Parameters"), f"{name} does not say what it takes"
        section = text.split("Parameters\n----------\n", 1)[1].split("\n\n", 1)[0]
        told = {word for line in section.splitlines() if line[:1].strip()
                for word in line.replace("*", "").split(", ")}  # fmt: skip
        missing = [one for one in parameters if one not in told]
        assert not missing, f"{name} does not tell of {missing}"
    if not inspect.isclass(thing) and signature.return_annotation not in (None, "None"):
        assert has_section(text, "Returns"), f"{name} does not say what it returns"
    assert has_section(text, "Examples") and ">>>" in text, f"{name} has no example"
