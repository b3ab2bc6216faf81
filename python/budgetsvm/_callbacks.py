"""scikit-learn's callbacks (from 1.9 on): a fit is a task, every pass a task within it."""

from __future__ import annotations

from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method as it is."""
        return method


class FitTasks:
    """The tasks of one fit, told to the callbacks of `set_callbacks`.

    Made of what `fit` was given before anything is checked: `with_callbacks` tears down what begins
    here, however the fit ends.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
        self._told: dict[str, Any] = {"estimator": estimator, "X": X, "y": y}
        if sample_weight is not None:
            self._told["metadata"] = {"sample_weight": sample_weight}
        self._context: Any = None
        if getattr(estimator, "_skl_callbacks", None):
            # A fit may end before `max_iter` passes, and a small problem has none.
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._told)

    @property
    def watched(self) -> bool:
        """Whether there are callbacks."""
        return self._context is not None

    def progress(self, progress: dict[str, Any]) -> bool:
        """Tell the end of a pass; True when a callback wants the fit to end."""
        if self._context is None or progress["phase"] != "end_of_pass":
            return False
        task = self._context.subcontext(task_name="pass")
        task.call_on_fit_task_begin(**self._told)
        return bool(task.call_on_fit_task_end(**self._told))

    def end(self) -> None:
        """Tell the end of the fit."""
        if self._context is not None:
            self._context.call_on_fit_task_end(**self._told)
