"""Atomic writing: a file is written completely or not at all."""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

#: A file's name, or a file open for bytes.
Target = str | os.PathLike[str] | IO[bytes]


def _default_mode() -> int:
    """What a new file's permissions are."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading.

    A pipe or a device is refused: opening or reading one may take forever, and no second reading
    gives the same bytes. Whoever has one opens it and gives the open file.
    """
    kind = os.stat(path).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise OSError(errno.EINVAL, "not a regular file", os.fsdecode(path))
    return open(path, "rb")  # which refuses a folder by its own name


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written, before hours of work are lost."""
    name = os.fsdecode(path)
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if os.path.exists(name) and not os.path.isfile(name):
        return
    folder = os.path.dirname(name) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "no such folder", folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


@contextmanager
def _errors_with_path(path: str) -> Iterator[None]:
    """System errors inside the block name `path` and not the temporary file."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


class _NamedFile(io.FileIO):
    """A file for writing whose errors name `path` and not the temporary file."""

    def __init__(self, number: int, path: str) -> None:
        super().__init__(number, "wb")
        self._path = path

    def write(self, data: Any) -> int:
        with _errors_with_path(self._path):
            return super().write(data)


@contextmanager
def write_atomically(target: Target) -> Iterator[Any]:
    """A binary file that replaces `target` when the block ends; a failed block leaves no trace."""
    if hasattr(target, "write"):
        yield target
        return
    path = os.fsdecode(target)
    if os.path.exists(path) and not os.path.isfile(path):
        number = os.open(path, os.O_WRONLY)  # a pipe, or /dev/stdout
        with io.BufferedWriter(_NamedFile(number, path)) as device:
            yield device
        return
    folder = os.path.dirname(path) or "."
    with _errors_with_path(path):
        number, beside = tempfile.mkstemp(prefix=".budgetsvm-", suffix=".tmp", dir=folder)
    try:
        with io.BufferedWriter(_NamedFile(number, path)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _default_mode())
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise
