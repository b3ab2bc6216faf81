"""What is raised of a damaged file, whatever reads it, as one error with the file's name."""

from __future__ import annotations

import gzip
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

#: What the libraries that read files raise where these are cut, or some of their bytes others.
#: (An archive with a password, or packed in a way unknown, is a RuntimeError.)
_RAISED = (
    EOFError,
    RuntimeError,
    SyntaxError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Inside, a file is read: that it is damaged is a ValueError that names it."""
    try:
        yield
    except _RAISED as error:
        raise ValueError(f"{path}: the file is damaged, or of another kind: {error}") from None
