"""A residual with a custom basis, of which orthoreg uses only the interface `AbstractBasis`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import orthoreg as og
from orthoreg._common.arrays import pytree
from orthoreg._common.errors import InputError, ModelFileError
from orthoreg._common.registry import part
from orthoreg.field import AbstractAugmentation, AbstractBasis
from orthoreg.simulation import _integrate

X = np.random.default_rng(0).uniform(-1.5, 1.5, (400, 2))
Y = np.column_stack([X[:, 1], -X[:, 0] + np.exp(-8 * (X[:, 0] - 0.5) ** 2)])


@part
@pytree()
@final
@dataclass(frozen=True, eq=False)
class GaussianBumps(AbstractBasis):
    """Return exp(-|rate (z - center_j)|^2)."""

    centers: Any
    rate: Any

    @property
    def size(self) -> int:
        return self.centers.shape[0]

    def __call__(self, variables: Any, xp: Any = np) -> Any:
        apart = (variables[:, None, :] - self.centers) * self.rate
        return xp.exp(-xp.sum(apart * apart, axis=-1))

    def mask_inputs(self, variables) -> "GaussianBumps":
        return replace(self, rate=np.where(variables, 0.0, self.rate))

    def arrays(self) -> dict[str, np.ndarray]:
        return {"centers": np.asarray(self.centers), "rate": np.asarray(self.rate)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "GaussianBumps":
        if arrays["centers"].shape[1:] != arrays["rate"].shape:
            raise InputError("The bumps' centers and rate do not fit together.")
        return cls(arrays["centers"], arrays["rate"])


@part
@final
@dataclass(frozen=True)
class Bumps(AbstractAugmentation):
    """Gaussian functions of one width around random points."""

    count: int = 60
    width: float = 0.4
    ridge: float | None = 1e-6
    learns_hidden = False

    def init(self, mean, scale, *, rng) -> GaussianBumps:
        centers = mean + 1.2 * scale * rng.standard_normal((self.count, len(mean)))
        return GaussianBumps(centers, 1 / (self.width * np.where(scale > 0, scale, 1.0)))


@pytest.fixture(scope="module")
def model() -> og.OrthoReg:
    return og.OrthoReg(og.Polynomial(1), Bumps(), solver=og.Exact(normalize=True)).fit(X, Y)


def test_it_learns_what_the_library_lacks(model):
    assert isinstance(model.field_.basis, GaussianBumps)
    alone = og.OrthoReg(og.Polynomial(1), og.Zero()).fit(X, Y)
    assert 1 - model.score(X, Y) < 0.05 * (1 - alone.score(X, Y))
    symbolic, neural = model.decompose(X)
    assert_array_equal(symbolic + neural, model.predict(X))
    basis = model.field_.basis(X)
    corrected = basis @ model.field_.weights - model.field_.features(X) @ model.field_.correction.T
    assert_allclose(neural, corrected, atol=1e-12)
    assert max(one.overlap for one in model.certificate_.equations) < 1e-8


def test_the_default_solver_shapes_it_as_well():
    model = og.OrthoReg(og.Polynomial(1), Bumps(ridge=None)).fit(X, Y)
    assert model.score(X, Y) > 0.99 and model.equations()[1].endswith("+ residual")


def test_both_routes_simulate_it(model, monkeypatch):
    times = np.linspace(0, 4, 21)
    monkeypatch.setattr(_integrate, "COMPILATION", np.inf)
    by_numpy = model.simulate([1.0, 0.0], times)
    monkeypatch.setattr(_integrate, "COMPILATION", 0.0)
    by_jax = model.simulate([1.0, 0.0], times)
    assert by_numpy.completed and by_jax.completed
    assert_allclose(by_jax.x, by_numpy.x, atol=1e-7)
    assert (by_jax.x != by_numpy.x).any()  # otherwise, one route was used twice


def test_a_file_keeps_it(model, tmp_path):
    model.save(tmp_path / "m.orthoreg")
    loaded = og.load(tmp_path / "m.orthoreg")
    assert loaded.augmentation == Bumps() and isinstance(loaded.field_.basis, GaussianBumps)
    assert_array_equal(loaded.predict(X), model.predict(X))
    loaded.save(tmp_path / "again.orthoreg")
    one, two = (tmp_path / name for name in ("m.orthoreg", "again.orthoreg"))
    assert one.read_bytes() == two.read_bytes()


def test_a_file_whose_arrays_do_not_fit_is_refused(model, tmp_path):
    from test_persistence import rewritten

    model.save(tmp_path / "m.orthoreg")

    def forge(manifest, arrays):
        arrays["basis.rate"] = arrays["basis.rate"][:1]

    with pytest.raises(ModelFileError, match="inconsistent: The bumps' centers and rate"):
        og.load(rewritten(tmp_path / "m.orthoreg", forge))


def test_a_basis_that_is_not_marked_cannot_be_saved(model, tmp_path):
    @final
    @dataclass(frozen=True, eq=False)
    class Unmarked(AbstractBasis):
        inner: GaussianBumps

        @property
        def size(self) -> int:
            return self.inner.size

        def __call__(self, variables: Any, xp: Any = np) -> Any:
            return self.inner(variables, xp)

        def mask_inputs(self, variables) -> "Unmarked":
            return replace(self, inner=self.inner.mask_inputs(variables))

        def arrays(self) -> dict[str, np.ndarray]:
            return self.inner.arrays()

        @classmethod
        def from_arrays(cls, arrays) -> "Unmarked":
            return cls(GaussianBumps.from_arrays(arrays))

    other = og.load(_saved(model, tmp_path))
    field = replace(other.field_, basis=Unmarked(other.field_.basis))
    other.fit_ = replace(other.fit_, field=field)
    with pytest.raises(InputError, match="cannot store the functions of Unmarked; mark the class"):
        other.save(tmp_path / "other.orthoreg")
    assert not (tmp_path / "other.orthoreg").exists()


def _saved(model, folder):
    model.save(folder / "m.orthoreg")
    return folder / "m.orthoreg"


@pytest.mark.parametrize("way", ["to_python", "to_c", "to_julia", "to_matlab", "to_modelica"])
def test_source_code_of_it_is_refused_in_a_sentence(model, way):
    with pytest.raises(InputError, match=r"GaussianBumps.*\.$"):
        getattr(model, way)()


def test_a_gradient_solver_takes_it_as_it_is():
    solver = og.Adam(epochs=3)
    model = og.OrthoReg(og.Polynomial(1), Bumps(10), sparsity=0.01, solver=solver).fit(X, Y)
    start = Bumps(10).init(X.mean(0), X.std(0), rng=np.random.default_rng(0))
    # computed from means and standard deviations with ten digits, which do not depend on chunks
    assert_allclose(model.field_.basis.centers, start.centers, rtol=1e-9)
    assert np.isfinite(model.predict(X)).all() and np.any(model.field_.weights)
