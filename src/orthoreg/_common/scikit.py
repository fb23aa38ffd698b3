"""scikit-learn's contract for estimators, without importing scikit-learn.

`sklearn.base` loads scipy.stats and, where it is installed, pandas: more CPU than all else that a
default fit loads. So estimators here keep the contract themselves, as scikit-learn's documentation
for developers describes it, and `sklearn.utils.estimator_checks` is run on them in the tests.
"""

import inspect
from typing import Any, Self


class AbstractEstimator:
    """Parameters by name, a printed form and tags: what `clone`, pipelines and searches ask for.

    The constructor names all parameters and stores them as they are.
    """

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments.

        Parameters
        ----------
        deep
            for scikit-learn; parts of a model have no parameters of their own here.

        Returns
        -------
        parameters
            by name.
        """
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor.

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
        """The call that makes the model: arguments that are not the default ones."""
        defaults = inspect.signature(type(self).__init__).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
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
    """The same model, not fitted."""
    if hasattr(model, "__sklearn_clone__"):
        return model.__sklearn_clone__()
    return type(model)(**model.get_params(deep=False))


def check_is_fitted(model: Any) -> None:
    """Raise scikit-learn's `NotFittedError` if the model is not fitted."""
    if any(name.endswith("_") and not name.startswith("__") for name in vars(model)):
        return
    from sklearn.exceptions import NotFittedError

    raise NotFittedError(
        f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate "
        "arguments before using this estimator."
    )


def validate_data(model: Any, *arrays: Any, **options: Any) -> Any:
    """scikit-learn's checks of arrays and frames, which set `n_features_in_` and, for a frame,
    `feature_names_in_`."""
    from sklearn.utils.validation import validate_data

    found: Any = validate_data(model, *arrays, **options)
    return found


__all__ = ["AbstractEstimator", "check_is_fitted", "clone", "validate_data"]
