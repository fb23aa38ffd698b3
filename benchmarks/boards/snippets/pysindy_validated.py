"""PySINDy with library, derivative or weak form, and optimizer chosen on a held-out run."""

import numpy as np
import pysindy as ps


def features(form, library, run, t):
    """Return the features of a run, and the derivatives that they should explain."""
    if form == "weak":
        run = ps.AxesArray(run, {"ax_time": 0, "ax_coord": 1})
        np.random.seed(0)  # noqa: NPY002 (PySINDy draws windows from the global generator)
        weak = ps.WeakPDELibrary(library, spatiotemporal_grid=t, K=200, is_uniform=True).fit([run])
        return np.asarray(weak.transform([run])[0]), np.asarray(weak.convert_u_dot_integral(run))
    smoothed = form == "smoothed"
    difference = ps.SmoothedFiniteDifference() if smoothed else ps.FiniteDifference()
    slopes = np.asarray(difference(run, t))
    points = np.asarray(difference.smoothed_x_) if smoothed else run
    return np.asarray(library.fit(points).transform(points)), slopes


def optimizers():
    for threshold in np.geomspace(0.005, 5, 13):
        yield lambda a=threshold: ps.STLSQ(threshold=a, alpha=1e-6)
        yield lambda a=threshold: ps.SR3(reg_weight_lam=a**2 / 2)
    for number in range(1, 9):
        yield lambda n=number: ps.FROLS(max_iter=n)
        yield lambda n=number: ps.SSR(max_iter=n)


def learn(runs, t):
    polynomials = [ps.PolynomialLibrary(degree) for degree in (2, 3)]
    sines = ps.FourierLibrary(n_frequencies=1)
    candidates = []
    for library in [*polynomials, ps.ConcatLibrary([polynomials[0], sines])]:
        held, integrals = features("weak", library, runs[-1], t)
        for form in ("plain", "smoothed", "weak"):
            blocks = [features(form, library, run, t) for run in runs]
            X, y = (np.concatenate(parts) for parts in zip(*blocks[:-1], strict=True))
            X_all, y_all = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
            for make in optimizers():
                coefficients = make().fit(X, y).coef_
                error = np.linalg.norm(held @ coefficients.T - integrals, axis=0)
                error = np.mean(error / np.linalg.norm(integrals, axis=0))
                terms = np.count_nonzero(coefficients)
                candidates.append((error, terms, library, make, X_all, y_all))
    limit = 1.05 * min(error for error, *_ in candidates)
    near = [candidate for candidate in candidates if candidate[0] <= limit]
    _, _, library, make, X, y = min(near, key=lambda candidate: candidate[1])
    coefficients = make().fit(X, y).coef_
    library.fit(runs[0])
    return lambda x: np.asarray(library.transform(x[None]))[0] @ coefficients.T
