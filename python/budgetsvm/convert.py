"""Machines in the forms of others: LIBSVM's model text, C."""

from ._c import to_c
from ._libsvm import from_libsvm, to_libsvm

__all__ = ["from_libsvm", "to_c", "to_libsvm"]
