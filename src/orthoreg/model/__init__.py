"""Fitted models: estimators, the scikit-learn contract, and operations on a fit."""
