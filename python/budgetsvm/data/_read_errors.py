"""Errors in reading a file, which name the file whatever library reads it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def errors_with_path(path: str) -> Iterator[None]:
    """Errors inside the block, which reads the file and does nothing else, name the file.

    For a truncated or altered file, libraries raise errors of a dozen types (zipfile, zlib, lzma,
    tokenize, csv, struct, pyarrow); they become a ValueError.
    """
    try:
        with memory_errors(path):
            yield
    except ImportError:
        raise
    except OSError as error:
        if error.errno is None:  # of a decompressor, not of the system
            raise _damaged_file_error(path, error) from error
        if error.filename is not None or path in str(error):
            raise
        raise OSError(error.errno, error.strerror, path) from None
    except (MemoryError, ValueError) as error:
        if path in str(error):
            raise
        kind = MemoryError if isinstance(error, MemoryError) else ValueError
        raise kind(f"{path}: {error}") from None
    except Exception as error:
        raise _damaged_file_error(path, error) from error


def _damaged_file_error(path: str, error: Exception) -> ValueError:
    told = str(error) or type(error).__name__
    return ValueError(f"{path}: the file is damaged, or of another kind: {told}")


@contextmanager
def memory_errors(what: str) -> Iterator[None]:
    """An OSError inside the block that means "out of memory" becomes a MemoryError."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise MemoryError(f"{what}: {error.strerror}") from None
