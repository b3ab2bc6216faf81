"""What the command line writes to standard output and to standard error."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import Any


def say(text: str) -> None:
    """Write lines to standard output at once, so that an error of writing is met here.

    Raises
    ------
    OSError
        If it is closed, a pipe that nobody reads any more, or a file on a full disk.
    """
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _drop_the_rest()
        raise OSError(error.errno, error.strerror, "standard output") from None


def complain(text: str) -> None:
    """Write a line to standard error, where there is one."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(text, file=sys.stderr)


def show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    """A warning as one line, without the line of a program that the user has not written."""
    complain(f"budgetsvm: warning: {message}")


def is_terminal() -> bool:
    """Whether somebody may watch standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def _drop_the_rest() -> None:
    """The interpreter writes what is left at its end, and would fail and say so once more."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
