"""What goes wrong in reading a file, whatever reads it, as an error with the file's name."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Inside, a file is read and nothing else is done: what is wrong with it names the file.

    Libraries raise errors of a dozen types where a file is cut, or some of its bytes are others
    (zipfile, zlib, lzma, tokenize, csv, struct, pyarrow); these are a ValueError.
    """
    try:
        with memory(path):
            yield
    except ImportError:
        raise
    except OSError as error:
        if error.errno is None:  # of a decompressor, not of the system
            raise _damaged(path, error) from error
        if error.filename is not None or path in str(error):
            raise
        raise OSError(error.errno, error.strerror, path) from None
    except (MemoryError, ValueError) as error:
        if path in str(error):
            raise
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{path}: {error}") from None
    except Exception as error:
        raise _damaged(path, error) from error


def _damaged(path: str, error: Exception) -> ValueError:
    told = str(error) or type(error).__name__
    return ValueError(f"{path}: the file is damaged, or of another kind: {told}")


@contextmanager
def memory(what: str) -> Iterator[None]:
    """Inside, the system is asked for memory: that there is none is a MemoryError."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{what}: {error.strerror}") from None
