"""What a running fit shows and whom it asks: the progress line and the user's callback."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar, Self, TextIO

from ._callbacks import FitTasks

Progress = dict[str, Any]


#: Where lines go that no terminal shows: at the level INFO, for those who set it.
LOGGER = logging.getLogger("budgetsvm")
#: Seconds between two lines where the last one cannot be rewritten.
INTERVAL = 5.0


class Watcher:
    """Whom a fit tells its progress, at most ten times a second and after every pass.

    A line if `verbose`, the logger "budgetsvm" where it is listened to, the user's `callback`,
    which returns True to stop, and scikit-learn's callbacks (`tasks`). `max_iter` passes over the
    data are for the time left; None are the steps of an exact machine.
    """

    def __init__(
        self, verbose: Any, callback: Any, max_iter: Any, tasks: FitTasks | None = None
    ) -> None:
        # A program without a console has no standard error.
        shown = verbose and sys.stderr is not None
        self._lines: list[ProgressLine] = [ProgressLine(max_iter)] if shown else []
        if LOGGER.isEnabledFor(logging.INFO):
            self._lines.append(LogLine(max_iter))
        self._callback = callback
        self._begun = self._told = time.monotonic()
        #: Whether training begins anew.
        self.is_fit = tasks is not None
        self._tasks = tasks if tasks is not None and tasks.watched else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self._lines:
            line.close()

    @property
    def notify(self) -> Callable[[Progress], bool] | None:
        """The function to call, or None when nobody watches."""
        if not self._lines and self._callback is None and self._tasks is None:
            return None
        return self._tell

    def _tell(self, progress: Progress) -> bool:
        for line in self._lines:
            line.show(progress)
        stop = self._tasks is not None and self._tasks.progress(progress)
        return (self._callback is not None and bool(self._callback(progress))) or stop

    def read(self, rows: int) -> None:
        """Show how many rows of a source were read so far."""
        now = time.monotonic()
        if now - self._told >= 0.1:
            self._told = now
            for line in self._lines:
                line.show({"phase": "read", "rows": rows, "time": now - self._begun})

    def finish(self, machine: Any, stop_reason: str, objective: float | None = None) -> None:
        """Show how the fit ended."""
        if not self._lines:
            return  # the terms of a stream are counted once its waiting rows are solved for
        last = {
            "phase": "end",
            "stop_reason": stop_reason,
            "n_sv": machine.n_terms,
            "objective": objective,
            "time": time.monotonic() - self._begun,
        }
        for line in self._lines:
            line.show(last)


class ProgressLine:
    """One line on standard error, rewritten on a terminal.

    Elsewhere a line a pass, and one every few seconds in between.
    """

    #: Phases that have a line however little time has passed.
    always: ClassVar[tuple[str, ...]] = ("end_of_pass", "end")

    def __init__(self, max_iter: int | None, stream: TextIO | None = None) -> None:
        self.max_iter = max_iter
        self.stream = sys.stderr if stream is None else stream
        self.live = bool(getattr(self.stream, "isatty", lambda: False)())
        self._open = False
        self._told = time.monotonic()

    def show(self, progress: Progress) -> None:
        """Write the line, if it is time."""
        if self.live:
            self.stream.write(f"\r\x1b[K{self.describe(progress)}")
            self.stream.flush()
            self._open = True
        elif self._due(progress):
            self.write(self.describe(progress))

    def _due(self, progress: Progress) -> bool:
        """Whether a line that stays is to be written."""
        now = time.monotonic()
        if progress["phase"] not in self.always and now - self._told < INTERVAL:
            return False
        self._told = now
        return True

    def write(self, text: str) -> None:
        """Write a line that stays."""
        self.stream.write(text + "\n")
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
        if progress["phase"] == "read":
            rows = progress["rows"]
            return f"budgetsvm: {rows} rows read, {rows / elapsed:.0f} rows/s"
        parts = []
        if self.max_iter is None and progress["phase"] == "pass":
            parts.append(f"{progress['iteration']} steps")
        elif progress["phase"] in ("polish", "refine"):
            parts.append(f"{progress['phase']} step {progress['iteration']}")
        elif progress["phase"] == "step":
            parts.append(f"step {progress['iteration']}")
        elif progress["phase"] == "end":
            parts.append(f"done ({progress['stop_reason']})")
        elif progress["phase"] == "search":
            return "budgetsvm: " + ", ".join([*_of_search(progress), f"{elapsed:.1f} s"])
        else:
            done = float(progress["iteration"])
            if progress["phase"] == "pass":
                done += progress["seen"] / max(progress["n_samples"], 1)
            parts.append(f"pass {done:.2f} of {self.max_iter}")
            if elapsed > 0:
                parts.append(f"{done * progress['n_samples'] / elapsed:.0f} rows/s")
            if self.max_iter is not None and 0 < done < self.max_iter:
                parts.append(f"at most {elapsed * (self.max_iter - done) / done:.1f} s left")
        parts.append(f"{progress['n_sv']} SVs")
        if progress["objective"] is not None:
            parts.append(f"objective {progress['objective']:.6g}")
        score = progress.get("validation_score")
        if score is not None:
            parts.append(f"validation score {score:.4f}")
        parts.append(f"{elapsed:.1f} s")
        return "budgetsvm: " + ", ".join(parts)


def _of_search(progress: Progress) -> list[str]:
    """How far a search is, in words."""
    parts = [
        f"search step {progress['iteration']} of at most {progress['planned']}",
        f"{progress['candidates']} candidates",
    ]
    if progress["error"] is not None:
        parts.append(f"best error {progress['error']:.4g}")
    if progress["time_left"] is not None:
        parts.append(f"about {progress['time_left']:.1f} s left")
    return parts


class LogLine(ProgressLine):
    """The same lines as records of the logger: one every few seconds, and the last.

    Of a fit without a line before it the last is no news: it has the level DEBUG.
    """

    always = ("end",)

    def __init__(self, max_iter: int | None) -> None:
        super().__init__(max_iter)
        self.live, self._level = False, logging.DEBUG

    def show(self, progress: Progress) -> None:
        """Log the line, if it is time."""
        if self._due(progress):
            self._level = logging.INFO if progress["phase"] != "end" else self._level
            LOGGER.log(self._level, self.describe(progress).removeprefix("budgetsvm: "))
