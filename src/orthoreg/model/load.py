"""`load`: read models from files."""

import os

from .._common.errors import MissingExtraError, ModelFileError, shortened
from .._common.typed import printable
from .._persistence import read_model
from .baselines import PINN, STLSQ, UniversalODE
from .estimator import OrthoReg
from .model import AbstractModel

_MODELS = {kind.__name__: kind for kind in (OrthoReg, STLSQ, PINN, UniversalODE)}


def load(path: str | os.PathLike[str]) -> AbstractModel:
    """Load a model file written by `save`. No code from the file is run.

    Parameters
    ----------
    path
        path of an `.orthoreg` file written by this version or an earlier one.

    Returns
    -------
    model
        the saved model, with identical predictions.

    Examples
    --------
    >>> import numpy as np, orthoreg as og
    >>> t = np.linspace(0, 6, 121)
    >>> model = og.OrthoReg("poly(1)", og.Zero()).fit(np.exp(-t)[:, None], t=t)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/decay.orthoreg")
    ...     og.load(f"{folder}/decay.orthoreg").predict([[2.0]]) == model.predict([[2.0]])
    array([[ True]])
    """
    manifest, arrays = read_model(path)
    try:
        return _MODELS[manifest["estimator"]]._loaded(manifest, arrays)
    except (ModelFileError, MissingExtraError):
        raise
    except Exception as error:  # of many types, if parts contradict each other
        text = shortened(printable(f"{error}" or type(error).__name__), 200)
        raise ModelFileError(
            f"'{os.path.basename(path)}' is not a complete orthoreg model file: "
            f"its parts are inconsistent ({text})."
        ) from None
