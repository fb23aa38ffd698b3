"""Habits of the code base that a machine can watch over."""

import importlib
import inspect
import pkgutil

import orthoreg

FRONT_DOOR = {
    "MLP", "PINN", "STLSQ", "Adam", "Automatic", "CrossValidation", "Dataset", "Exact",
    "Extrapolation", "FiniteDifference", "Fourier", "Gate", "InformationCriterion",
    "LocalPolynomial", "MultiStep", "OneStep", "OrthoReg", "OrthoregError", "PerState",
    "Polynomial", "RandomFeatures", "SavitzkyGolay", "SmoothedFiniteDifference",
    "SmoothingSpline", "StabilitySelection", "Terms", "UniversalODE", "VectorField", "Zero",
    "bootstrap", "fit_together", "load", "read_table", "tune",
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
    public = {
        name
        for name, item in vars(orthoreg).items()
        if not name.startswith("_") and not inspect.ismodule(item)
    }
    assert public == FRONT_DOOR


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert orthoreg.__version__ == version("orthoreg")
