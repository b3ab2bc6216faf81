"""Rows from files: sources that may be larger than memory, and the text of SVM-light and LIBSVM."""

from ._open import open
from ._pieces import Block as Block
from ._source import Source as Source
from ._svmlight import dump_svmlight_file, load_svmlight_file
from ._svmlight import source_of as source_of

__all__ = ["dump_svmlight_file", "load_svmlight_file", "open"]
