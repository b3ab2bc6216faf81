"""Hyperparameters as attributes of classes: from them come `__init__` and the page."""

from __future__ import annotations

from dataclasses import Field, field, make_dataclass
from inspect import get_annotations, signature
from typing import Any, TypeVar, dataclass_transform

from ._docs import page

Declared = TypeVar("Declared", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def hyperparameters(cls: Declared) -> Declared:
    """A class whose hyperparameters are its attributes with a type and a default.

    Those of its bases are inherited, each with its paragraph on the page, and come after its own;
    only those that say ``kw_only=False`` may be given by position. The standard library makes
    `__init__` of them, but the class is no dataclass to others, who would take its hyperparameters
    for all that it holds.
    """
    own: dict[str, Field] = {}
    for name, kind in get_annotations(cls, eval_str=True).items():
        if name in vars(cls) and not name.startswith("_"):
            given = vars(cls)[name]
            own[name] = given if isinstance(given, Field) else field(default=given)
            own[name].type = kind
            setattr(cls, name, own[name].default)
    setattr(cls, "_declared", own)  # noqa: B010  (no attribute that types know of)
    fields = gathered(cls, "_declared")
    listed = [(name, declared.type, declared) for name, declared in fields.items()]
    made = make_dataclass(
        cls.__name__, listed, namespace={"__doc__": cls.__doc__}, kw_only=True, eq=False, repr=False
    )
    cls.__init__ = made.__init__  # type: ignore[misc]
    cls.__doc__ = page(cls, signature(made).parameters)
    return cls


def gathered(cls: type, table: str) -> dict[str, Any]:
    """The entries of a table that a class and its bases each have a part of; the nearest counts."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, entry in vars(base).get(table, {}).items():
            found.setdefault(name, entry)
    return found
