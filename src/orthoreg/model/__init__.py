"""A fitted model: estimators, the scikit-learn contract, and what can be done with a fit."""
