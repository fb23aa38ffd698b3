"""A fitted model with the terms of proposals that were accepted."""

from collections.abc import Sequence
from typing import Any

from ._scikit import clone
from .explanation import Candidate
from .libraries import PerState, Terms, as_library, to_text
from .selection import Chosen


def extended(model: Any, chosen: Sequence[Any], data: Any) -> Any:
    """A new model with the new terms in its library, fitted to the data. In the equations of the
    proposals their terms are chosen; the others are as they were."""
    recipe = model.recipe()
    new = {one.equation: new_terms(one.candidate, f"{i}") for i, one in enumerate(chosen)}
    copy: Any = clone(model)
    larger = copy.set_params(library=as_library(recipe.library) + PerState(new))
    if "selection" in model.get_params(deep=False):
        terms = {
            one.equation: (*known_terms(one.candidate), *new[one.equation].formulas)
            for one in chosen
        }
        old = recipe.selection
        if isinstance(old, Chosen):
            terms, old = dict(old.terms) | terms, old.others
        larger.set_params(selection=Chosen(terms, old), sparsity=None)
    fitted = larger.fit(*data[:2], u=data[2]) if isinstance(data, tuple) else larger.fit(data)
    log = tuple({"equation": one.equation, "formula": one.formula, "gain": one.gain}
                for one in chosen)  # fmt: skip
    fitted.accepted_ = (*model.accepted_, *log)
    return fitted


def known_terms(found: Candidate) -> tuple[str, ...]:
    """The library's terms that a candidate keeps, as the library writes them."""
    fit = found.fit
    return tuple(
        shape.written_as or to_text(shape.expression) for shape in fit.shapes if shape.known
    )


def new_terms(found: Candidate, suffix: str) -> Terms:
    """The terms that the library lacks: simple numbers as they are, others to be estimated near
    where they were found."""
    return as_terms(found, found.new, suffix)


def as_terms(found: Candidate, which: Sequence[int], suffix: str) -> Terms:
    """Some terms of a candidate as a library."""
    formulas, bounds = [], {}
    for k in which:
        text, ends = found.fit.written(k, suffix)
        formulas.append(text)
        bounds |= ends
    return Terms(formulas, bounds)
