"""What a running fit shows and whom it asks: the progress line and the user's callback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

Progress = dict[str, Any]


def make_notify(
    verbose: Any, callback: Any, max_iter: int
) -> Callable[[Progress], bool] | None:
    """The one function that a fit calls: at most ten times a second, and after every pass.

    Returns
    -------
    callable or None
        Takes the progress as a dictionary, returns True to stop. None when nobody watches.

    Raises
    ------
    TypeError
        If `callback` cannot be called.
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a callable or None, got {callback!r}")
    line = ProgressLine(max_iter) if verbose else None
    if line is None and callback is None:
        return None

    def notify(progress: Progress) -> bool:
        if line is not None:
            line.show(progress)
        return callback is not None and bool(callback(progress))

    return notify


class ProgressLine:
    """One line on standard error, rewritten on a terminal, else a line a pass.

    Parameters
    ----------
    max_iter : int
        Passes over the data, for the time left.
    stream : text stream, default=sys.stderr
        Where to write.
    """

    def __init__(self, max_iter: int, stream: TextIO | None = None) -> None:
        self.max_iter = max_iter
        self.stream = sys.stderr if stream is None else stream
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())

    def show(self, progress: Progress) -> None:
        """Write the line, if there is something to tell."""
        finished = progress["phase"] == "end"
        if not self.live and not (finished or progress["phase"] == "end_of_pass"):
            return
        text = self.describe(progress)
        if self.live:
            self.stream.write(f"\r\x1b[K{text}" + ("\n" if finished else ""))
        else:
            self.stream.write(text + "\n")
        self.stream.flush()

    def describe(self, progress: Progress) -> str:
        """The progress in words."""
        elapsed = progress["time"]
        parts = []
        if progress["phase"] == "polish":
            parts.append(f"polish step {progress['iteration']}")
        elif progress["phase"] == "end":
            parts.append(f"done: {progress['stop_reason']}")
        else:
            done = progress["iteration"] + progress["seen"] / max(progress["n_samples"], 1)
            if progress["phase"] == "end_of_pass":
                done = float(progress["iteration"])
            parts.append(f"pass {done:.2f}/{self.max_iter}")
            if 0 < done < self.max_iter:
                parts.append(f"{elapsed * (self.max_iter - done) / done:.1f} s left at most")
        parts.append(f"{progress['n_sv']} SVs")
        if progress.get("objective") is not None:
            parts.append(f"objective {progress['objective']:.6g}")
        if progress.get("validation_score") is not None:
            parts.append(f"validation score {progress['validation_score']:.4f}")
        parts.append(f"{elapsed:.1f} s")
        return "budgetsvm: " + ", ".join(parts)
