"""Search for a larger library that clearly reduces the held-out error."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ..._common.notation import left_side
from ...data import folds
from ...search.rows import CrossValidation
from ...solving import gather_partitioned
from ...terms import AbstractLibrary, Fourier, Joined, Polynomial, Products, Terms
from .. import _limits as limits
from .._findings import Advice
from .._held_out import beyond_noise, held_out_errors
from .._observations import Observations
from .._words import number, percent


@final
@dataclass(frozen=True)
class LargerLibrary:
    """A library as a user would type it, and the held-out errors without and with it."""

    text: str
    equation: int
    before: float
    after: float
    left: float  # share of the error beyond noise that remains
    advice: Advice


def larger_library(
    seen: Observations, library: AbstractLibrary, failing: Sequence[int]
) -> LargerLibrary | None:
    """Return the library that most reduces an error among the `failing` equations.

    Return None if no reduction is clear. Candidates are compared by least squares on all terms; the
    best one is confirmed with selected terms.
    """
    samples = seen.samples
    fold = folds(samples, limits.FOLDS)
    noise = np.sqrt(seen.noise / np.maximum(seen.size, 1e-300))
    present = _terms(library, seen)
    if present is None:
        return None
    targets = samples.targets[:, list(failing)]
    before = held_out_errors(present, targets, fold)
    best: tuple[float, str, AbstractLibrary, int] | None = None
    for text, candidate in candidates(library):
        terms = _terms(candidate, seen)
        if terms is None or len(samples.targets) < limits.MIN_ROWS_PER_TERM * terms.shape[1]:
            continue
        after = held_out_errors(terms, targets, fold)
        for c, old, new in zip(failing, before, after, strict=True):
            start = beyond_noise(old, noise[c], limits.NOISE_MARGIN)
            remaining = (
                beyond_noise(new, noise[c], limits.NOISE_MARGIN) / start if start > 0 else np.inf
            )
            # later candidates are larger, so they must be clearly better than earlier ones
            if remaining <= limits.MAX_REMAINING_ERROR and (
                best is None or remaining < limits.MAX_REMAINING_ERROR * best[0]
            ):
                best = (remaining, text, candidate, c)
    if best is None:
        return None
    remaining, text, candidate, c = best
    old, new = _chosen_errors(seen, library, candidate, c)
    lowered = beyond_noise(new, noise[c], limits.NOISE_MARGIN)
    clear = lowered <= limits.MAX_REMAINING_ERROR * beyond_noise(old, noise[c], limits.NOISE_MARGIN)
    if not clear or new > limits.MAX_REMAINING_ERROR_WITH_NOISE * old:
        return None
    name = seen.labels[c]
    errors = percent(new), percent(old)
    if errors[0] == errors[1]:
        errors = number(new), number(old)
    advice = Advice(
        "larger-library",
        f"Try the library {text}: with the best of its terms, the held-out error of "
        f"{left_side(name)} is {errors[0]}, compared with {errors[1]} for the best terms of the "
        f"present library.",
    )
    return LargerLibrary(text, c, old, new, remaining, advice)


def candidates(library: AbstractLibrary) -> list[tuple[str, AbstractLibrary]]:
    """Return larger libraries as (text, library): with higher degrees, more frequencies, or
    both.
    """
    parts = _parts(library)
    if any(library_text(part) is None for part in parts):
        return []
    degree = max((p.degree for p in parts if isinstance(p, Polynomial)), default=0)
    frequencies = max((p.n_frequencies for p in parts if isinstance(p, Fourier)), default=0)
    remainder = [part for part in parts if not isinstance(part, Polynomial | Fourier)]
    sizes = [(degree + 1, frequencies), (degree, frequencies + 1), (degree + 1, frequencies + 1),
             (degree, frequencies + 2), (degree + 2, frequencies)]  # fmt: skip
    result = []
    for powers, waves in sizes:
        families: list[AbstractLibrary] = [Polynomial(powers)] if powers else []
        families += [Fourier(waves)] if waves else []
        joined, *others = families + remainder
        for other in others:
            joined = joined + other
        result.append((str(library_text(joined)), joined))
    return result


def library_text(library: AbstractLibrary) -> str | None:
    """Return the library as text for the command line, or None if it cannot be written as text."""
    match library:
        case Polynomial():
            return f"poly({library.degree})"
        case Fourier():
            return f"fourier({library.n_frequencies})"
        case Terms():
            return "+".join(library.formulas)
        case Joined():
            sides = [library_text(side) for side in (library.first, library.second)]
            return None if None in sides else "+".join(str(side) for side in sides)
        case Products():
            sides = [library_text(side) for side in (library.first, library.second)]
            single = all(side is not None and "+" not in side for side in sides)
            return "*".join(str(side) for side in sides) if single else None
        case _:
            return None


def _parts(library: AbstractLibrary) -> list[AbstractLibrary]:
    if isinstance(library, Joined):
        return _parts(library.first) + _parts(library.second)
    return [library]


def _terms(library: AbstractLibrary, seen: Observations) -> np.ndarray | None:
    """Return the values of the terms, or None if there are too many terms or values are not
    finite.
    """
    samples = seen.samples
    if len(library.terms(samples.names)) > limits.MAX_TERMS_TRIED:
        return None
    features = seen.bind(library, samples.names, samples.outputs, samples.given)
    values = features(samples.variables)
    return values if np.isfinite(values).all() else None


def _chosen_errors(
    seen: Observations, present: AbstractLibrary, larger: AbstractLibrary, equation: int
) -> tuple[float, float]:
    """Return the held-out errors of the terms that cross-validation chooses from each library."""
    samples = seen.samples
    alone = replace(
        samples,
        targets=samples.targets[:, [equation]],
        target_mse=samples.target_mse[[equation]],
        outputs=(samples.outputs[equation],),
        given={},
    )
    errors = []
    for library in (present, larger):
        features = seen.bind(library, alone.names, alone.outputs)
        if len(features.terms) > limits.MAX_TERMS_SELECTED:
            terms = features(alone.variables)
            errors.append(
                float(held_out_errors(terms, alone.targets, folds(alone, limits.FOLDS))[0])
            )
            continue
        rule = CrossValidation()
        cells = gather_partitioned(features, alone, rule.divide(alone))
        path = rule.choose(cells, features.mask).paths[0]
        errors.append(float(np.sqrt(path.outer[path.chosen])))
    return errors[0], errors[1]
