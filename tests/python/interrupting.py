"""Ctrl-C in the middle of a call, shared by the tests of every estimator."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# The promise is half a second. What is held against it is the computing of all cores, not a clock
# on the wall: a busy machine may leave a process waiting as long as it likes. One core gets slack.
PROMISE = 0.5 * max(2, os.cpu_count() or 1)


@contextlib.contextmanager
def ctrl_c(delay: float) -> Iterator[None]:
    """Ctrl-C arrives `delay` seconds from now and ends the block in time, by KeyboardInterrupt."""
    sent = []
    # On a busy machine a thread may take longer to start than the delay is.
    begun = threading.Event()

    def interrupt():
        begun.wait()
        time.sleep(delay)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Thread(target=interrupt)
    timer.start()
    try:
        begun.set()
        yield
    except KeyboardInterrupt:
        pass
    else:
        pytest.fail("the block has ended before Ctrl-C came")
    assert time.process_time() - sent[0] < PROMISE
    timer.join()
