"""scikit-learn's contract for estimators, without importing scikit-learn.

`sklearn.base` imports scipy.stats and, if installed, pandas. This takes longer than all other
imports of a default fit. Estimators therefore implement the contract in scikit-learn's developer
documentation themselves. The tests run `sklearn.utils.estimator_checks` on them.
"""

import inspect
from typing import Any, Self

from .imports import import_cleanly


class AbstractEstimator:
    """Parameters, representation and tags, as required by `clone`, pipelines and searches.

    The constructor stores all its arguments unchanged, under their own names.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments.

        Parameters
        ----------
        deep
            ignored; required by scikit-learn.

        Returns
        -------
        parameters
            values by name.
        """
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments.

        Parameters
        ----------
        params
            new values by name.

        Returns
        -------
        model
            this model.
        """
        known = self._get_param_names()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {known!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Return the constructor call, with the arguments that differ from their defaults."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        import_cleanly("sklearn.utils")
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=True),
            transformer_tags=None,
            classifier_tags=None,
            regressor_tags=RegressorTags(),
            input_tags=InputTags(),
        )


def clone(model: Any) -> Any:
    """Return an unfitted copy of the model."""
    if hasattr(model, "__sklearn_clone__"):
        return model.__sklearn_clone__()
    return type(model)(**model.get_params(deep=False))


def check_is_fitted(model: Any) -> None:
    """Raise scikit-learn's `NotFittedError` if the model is not fitted."""
    if any(name.endswith("_") and not name.startswith("__") for name in vars(model)):
        return
    import_cleanly("sklearn.exceptions")
    from sklearn.exceptions import NotFittedError

    raise NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate "
        "arguments before using this estimator."
    )


def validate_data(model: Any, *arrays: Any, **options: Any) -> Any:
    """Check arrays and frames with scikit-learn's function of the same name.

    The function sets `n_features_in_` and, for a frame, `feature_names_in_`.
    """
    import_cleanly("sklearn.utils.validation")
    from sklearn.utils.validation import validate_data

    result: Any = validate_data(model, *arrays, **options)
    return result
