"""Conventions of the code that can be checked automatically."""

import ast
import importlib
import inspect
import pkgutil

import pytest

import orthoreg

FRONT_DOOR = {
    "Atom", "discover",
    "MLP", "PINN", "STLSQ", "Adam", "Automatic", "CrossValidation", "DataError", "DataWarning",
    "ChunkedDataset", "Dataset", "Even", "Exact", "Extrapolation", "FiniteDifference", "Fourier",
    "Gate",
    "Auto", "InformationCriterion", "InputError", "LocalPolynomial", "Measured", "ModelFileError",
    "MultiStep", "Neighbors", "NextState", "Odd", "Reflection",
    "OneStep", "OrthoReg", "OrthoregError", "PerState", "Periodic", "Physics",
    "Polynomial", "RandomFeatures",
    "SavitzkyGolay", "SimulationError", "SmoothedFiniteDifference", "SmoothingSpline",
    "StabilitySelection", "Terms", "TrainingError", "TrainingWarning", "UniversalODE",
    "VectorField", "Weak", "Zero", "__version__", "bootstrap", "cluster", "fit_together",
    "from_pysindy",
    "load", "presets",
    "read_table", "report", "tune",
}  # fmt: skip


def own_classes() -> list[type]:
    found = {}
    for module in pkgutil.walk_packages(orthoreg.__path__, "orthoreg."):
        if module.name.endswith("__main__"):
            continue
        for _, item in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if item.__module__.startswith("orthoreg"):
                found[f"{item.__module__}.{item.__qualname__}"] = item
    return list(found.values())


def test_a_class_is_an_interface_or_final():
    open_classes = [
        cls.__qualname__
        for cls in own_classes()
        if not issubclass(cls, Exception)
        and not cls.__name__.lstrip("_").startswith("Abstract")
        and not getattr(cls, "__final__", False)
    ]
    assert open_classes == []


def test_only_interfaces_and_outside_classes_are_subclassed():
    for cls in own_classes():
        if issubclass(cls, Exception):
            continue
        for base in cls.__bases__:
            ours = base.__module__.startswith("orthoreg")
            assert not ours or base.__name__.startswith("Abstract"), (cls, base)


def test_the_front_door_is_frozen():
    assert set(orthoreg.__all__) == FRONT_DOOR
    assert set(dir(orthoreg)) >= FRONT_DOOR
    for name in FRONT_DOOR:
        getattr(orthoreg, name)
    public = {name for name in vars(orthoreg) if not name.startswith("_")}
    opened = {module.name for module in pkgutil.iter_modules(orthoreg.__path__)}
    assert public - opened - {"TYPE_CHECKING", "Any", "import_module", "warnings"} <= FRONT_DOOR


def test_type_checkers_and_the_interpreter_see_the_same_names():
    tree = ast.parse(inspect.getsource(orthoreg))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.asname: f".{statement.module or ''}"
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert declared == orthoreg._HOMES | {"presets": "."}


def test_a_public_folder_is_imported_when_it_is_named():
    assert orthoreg.plotting.__name__ == "orthoreg.plotting"
    with pytest.raises(AttributeError, match="no attribute 'polynomials'"):
        orthoreg.polynomials  # noqa: B018


def test_packages_with_former_names_are_deprecated():
    with pytest.warns(DeprecationWarning, match="orthoreg.libraries is now orthoreg.terms"):
        assert orthoreg.libraries.Polynomial is orthoreg.Polynomial
