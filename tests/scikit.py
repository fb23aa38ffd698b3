"""Checks of scikit-learn for estimators that satisfy its contract without its base class."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

NOT_INHERITED = "Estimator .* does not inherit from `sklearn.base.BaseEstimator`"


def checks_of(models):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOT_INHERITED)
        return parametrize_with_checks(models)
