"""A fitted model with the terms of proposals that were accepted."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, final

from .._common.scikit import clone
from ..search.formulas import Candidate
from ..search.rows import Chosen
from ..terms import PerState, Terms, as_library, to_text


@final
@dataclass(frozen=True)
class Addition:
    """What accepting a proposal needs, as plain data: the equation, the new terms with bounds of
    their inner parameters, and the library's terms that the equation keeps."""

    equation: str
    formula: str
    gain: float
    new: tuple[str, ...]
    bounds: Mapping[str, tuple[float, float]]
    kept: tuple[str, ...]

    @classmethod
    def of(
        cls, equation: str, formula: str, gain: float, candidate: Candidate, suffix: str
    ) -> Self:
        """Simple numbers stay as they are, others are to be estimated near where they were
        found; `suffix` makes the names of these unique."""
        new, bounds = list[str](), dict[str, tuple[float, float]]()
        for k in candidate.new:
            text, ends = candidate.fit.written(k, suffix)
            new.append(text)
            bounds |= ends
        kept = tuple(
            shape.written_as or to_text(shape.expression)
            for shape in candidate.fit.shapes
            if shape.known
        )
        return cls(equation, formula, gain, tuple(new), bounds, kept)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote, perhaps by way of JSON."""
        return cls(
            str(entries["equation"]),
            str(entries["formula"]),
            float(entries["gain"]),
            tuple(str(text) for text in entries["new"]),
            {str(name): (float(low), float(high))
             for name, (low, high) in entries["bounds"].items()},
            tuple(str(text) for text in entries["kept"]),
        )  # fmt: skip


def extended(model: Any, additions: Sequence[Addition], data: Any) -> Any:
    """Return a new model with the new terms in its library, fitted to the data. In the equations
    of the additions their terms are chosen; the others are as they were."""
    recipe = model.recipe()
    new = {one.equation: Terms(one.new, dict(one.bounds)) for one in additions}
    copy: Any = clone(model)
    larger = copy.set_params(library=as_library(recipe.library) + PerState(new))
    if "selection" in larger.get_params(deep=False):
        terms = {one.equation: (*one.kept, *one.new) for one in additions}
        old = recipe.selection
        if isinstance(old, Chosen):
            terms, old = dict(old.terms) | terms, old.others
        larger.set_params(selection=Chosen(terms, old), sparsity=None)
    fitted = larger.fit(*data[:2], u=data[2]) if isinstance(data, tuple) else larger.fit(data)
    log = tuple({"equation": one.equation, "formula": one.formula, "gain": one.gain}
                for one in additions)  # fmt: skip
    fitted.fit_ = replace(fitted.fit_, accepted=(*model.accepted_, *log))
    return fitted
