"""The order of hyperparameters on a page: what belongs together stands together."""

from __future__ import annotations

from collections.abc import Iterable

#: What a group is about -> its hyperparameters, in the order of a page.
GROUPS: dict[str, tuple[str, ...]] = {
    "what is minimised": (
        "loss", "C", "nu", "epsilon", "quantile", "regularization", "smoothing", "functions",
        "class_weight", "fit_intercept", "intercept_penalty", "max_intercept",
    ),
    "the kernel": ("kernel", "gamma", "degree", "coef0", "feature_scales", "learn_scales"),
    "the size of the model": (
        "budget", "shared", "basis", "n_components", "n_landmarks", "n_frequencies", "features",
        "waves", "orthogonal", "eigenvalue_threshold", "maintenance", "merge_search", "merge_size",
        "threshold", "sampling", "sampling_numerator", "sampling_denominator", "max_coef",
        "n_clusters", "overlap", "local", "assign", "center_step", "pruning",
    ),
    "the search": (
        "tune", "tune_size", "leave_one_out", "Cs", "gammas", "cv", "scoring", "refit", "halving",
    ),
    "the solver": (
        "solver", "polishing", "refine", "refine_iter", "order", "learning_rate", "average",
        "averaging", "strongly_convex", "update", "relaxation", "working_set", "shrinking",
        "cache_size",
    ),
    "its end": (
        "max_iter", "tol", "constraint_tol", "constraint_atol", "max_time", "early_stopping",
        "validation_fraction", "n_iter_no_change",
    ),
    "training on": ("warm_start", "forgetting", "resumable", "n_expected"),
    "what is told": (
        "decision_function_shape", "break_ties", "probability", "record_objective",
        "record_history", "verbose", "callback",
    ),
    "the run": ("random_state", "n_jobs"),
}  # fmt: skip

_PLACES = {name: place for place, name in enumerate(sum(GROUPS.values(), ()))}


def place(name: str) -> int:
    """Where a hyperparameter stands on a page; behind all others where it is in no group."""
    return _PLACES.get(name, len(_PLACES))


def said(names: Iterable[str]) -> str:
    """The groups of these hyperparameters, as a page says them."""
    names = set(names)
    lines = ((about, [name for name in group if name in names]) for about, group in GROUPS.items())
    told = (f"{about} (`{'`, `'.join(own)}`)" for about, own in lines if own)
    return "The parameters are about " + "; ".join(told) + "."
