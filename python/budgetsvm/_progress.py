"""What a running fit shows and whom it asks: the progress line and the user's callback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self, TextIO

from ._callbacks import FitTasks

Progress = dict[str, Any]


class Watcher:
    """Whom a fit tells its progress, at most ten times a second and after every pass.

    A line if `verbose`, the user's `callback`, which returns True to stop, and scikit-learn's
    callbacks (`tasks`). `max_iter` passes over the data are for the time left.
    """

    def __init__(
        self, verbose: Any, callback: Any, max_iter: Any, tasks: FitTasks | None = None
    ) -> None:
        self._line = ProgressLine(max_iter) if verbose else None
        self._callback = callback
        self._tasks = tasks if tasks is not None and tasks.watched else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._line is not None:
            self._line.close()

    @property
    def notify(self) -> Callable[[Progress], bool] | None:
        """The function to call, or None when nobody watches."""
        if self._line is None and self._callback is None and self._tasks is None:
            return None
        return self._tell

    def _tell(self, progress: Progress) -> bool:
        if self._line is not None:
            self._line.show(progress)
        stop = self._tasks is not None and self._tasks.progress(progress)
        return (self._callback is not None and bool(self._callback(progress))) or stop

    def finish(self, n_terms: int, report: dict[str, Any]) -> None:
        """Show how the fit ended."""
        if self._line is not None:
            time = report["history"]["time"]
            self._line.show(
                {
                    "phase": "end",
                    "stop_reason": report["stop_reason"],
                    "n_sv": n_terms,
                    "objective": report["objective"]["primal"],
                    "time": float(time[-1]) if len(time) else 0.0,
                }
            )


class ProgressLine:
    """One line on standard error, rewritten on a terminal, else a line a pass."""

    def __init__(self, max_iter: int, stream: TextIO | None = None) -> None:
        self.max_iter = max_iter
        self.stream = sys.stderr if stream is None else stream
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())
        self._open = False

    def show(self, progress: Progress) -> None:
        """Write the line, if there is something to tell."""
        if self.live:
            self.stream.write(f"\r\x1b[K{self.describe(progress)}")
            self._open = True
        elif progress["phase"] in ("end_of_pass", "end"):
            self.stream.write(self.describe(progress) + "\n")
        self.stream.flush()

    def close(self) -> None:
        """End a line that was rewritten."""
        if self._open:
            self.stream.write("\n")
            self.stream.flush()
            self._open = False

    def describe(self, progress: Progress) -> str:
        """The progress in words."""
        elapsed = progress["time"]
        parts = []
        if progress["phase"] in ("polish", "refine"):
            parts.append(f"{progress['phase']} step {progress['iteration']}")
        elif progress["phase"] == "step":
            parts.append(f"step {progress['iteration']}")
        elif progress["phase"] == "end":
            parts.append(f"done ({progress['stop_reason']})")
        else:
            done = float(progress["iteration"])
            if progress["phase"] == "pass":
                done += progress["seen"] / max(progress["n_samples"], 1)
            parts.append(f"pass {done:.2f} of {self.max_iter}")
            if 0 < done < self.max_iter:
                parts.append(f"at most {elapsed * (self.max_iter - done) / done:.1f} s left")
        parts.append(f"{progress['n_sv']} SVs")
        if progress["objective"] is not None:
            parts.append(f"objective {progress['objective']:.6g}")
        score = progress.get("validation_score")
        if score is not None:
            parts.append(f"validation score {score:.4f}")
        parts.append(f"{elapsed:.1f} s")
        return "budgetsvm: " + ", ".join(parts)
