"""Names of methods and metrics in text."""

from ._evidence import LABELS

COMPARED = ("pure@0.001", "pure@0.003", "stlsq", "l2", "orthoreg", "validated", "projection")
"""The methods of the table of a system."""

SCORES = (
    "derivative.id", "rollout.id", "derivative.ext", "rollout.ext", "derivative.t2", "rollout.t2",
    "derivative.t3", "derivative.t3-adapted", "rollout.t3", "f1@0.001", "precision@0.001",
    "recall@0.001", "terms@0.001", "f1@0.045", "terms@0.045", "overlap", "cosine",
    "symbolic_share", "lambda", "mu",
)  # fmt: skip
"""The metrics of the table of a system."""

SPLITS = {"id": "ID", "ext": "ID,ext", "t2": "T2", "t3": "T3", "t3-adapted": "T3 adapted"}

_WORDS = {
    "derivative": "Derivative error",
    "rollout": "Rollout error",
    "diverged": "Diverged rollouts",
    "rollouts": "Rollouts",
    "f1": "F1",
    "precision": "Precision",
    "recall": "Recall",
    "terms": "Terms",
    "overlap": "Overlap",
    "cosine": "Cosine",
    "symbolic_share": "Symbolic share",
    "lambda": "λ",
    "mu": "μ",
    "epoch_ms": "Milliseconds an epoch",
    "overhead_percent": "Overhead, %",
    "named_percent": "Missing terms named, %",
    "spurious": "Spurious proposals",
    "top_percent": "Good forecasts of the best model, %",
    "list_percent": "Good forecasts of any model, %",
    "seconds": "Seconds of CPU",
}


def method_label(method: str) -> str:
    """Return the label of a method, or its name if it has no label.

    >>> method_label("orthoreg@lam=0.05")
    'λ = 0.05'
    """
    kind, _, value = method.partition("@lam=")
    return f"λ = {value}" if kind == "orthoreg" and value else LABELS.get(method, method)


def metric_label(metric: str) -> str:
    """Return the label of a metric, or its name if it has no label.

    >>> metric_label("derivative.t2"), metric_label("f1@0.001")
    ('Derivative error, T2', 'F1, threshold 0.001')
    """
    kind, _, split = metric.partition(".")
    if kind in _WORDS and split in SPLITS:
        return f"{_WORDS[kind]}, {SPLITS[split]}"
    kind, _, threshold = metric.partition("@")
    if kind in _WORDS and threshold:
        return f"{_WORDS[kind]}, threshold {threshold}"
    return _WORDS.get(metric, metric)
