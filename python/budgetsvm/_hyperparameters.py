"""Hyperparameters as attributes of classes: from them come `__init__` and the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import Field, field, make_dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import get_annotations, signature
from types import CellType, FunctionType
from typing import Any, TypeVar, dataclass_transform

from ._docs import page
from ._groups import place

Declared = TypeVar("Declared", bound=type)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def hyperparameters(cls: Declared) -> Declared:
    """A class whose hyperparameters are its attributes with a type and a default.

    Those of its bases are inherited, each with its paragraph on the page, and come after its own;
    only those that say ``kw_only=False`` may be given by position. The standard library makes
    `__init__` of them, but the class is no dataclass to others, who would take its hyperparameters
    for all that it holds. What `_without` names is no hyperparameter of the class.
    """
    own: dict[str, Field] = {}
    for name, kind in get_annotations(cls, eval_str=True).items():
        if name in vars(cls) and not name.startswith("_"):
            given = vars(cls)[name]
            own[name] = given if isinstance(given, Field) else field(default=given)
            own[name].type = kind
            setattr(cls, name, own[name].default)
    setattr(cls, "_declared", own)  # noqa: B010  (no attribute that types know of)
    without = getattr(cls, "_without", ())
    declared = sorted(gathered(cls, "_declared").items(), key=_order)
    fields = {name: found for name, found in declared if name not in without}
    listed = [(name, declared.type, declared) for name, declared in fields.items()]
    made = make_dataclass(
        cls.__name__, listed, namespace={"__doc__": cls.__doc__}, kw_only=True, eq=False, repr=False
    )
    cls.__init__ = _naming(made.__init__, cls.__qualname__)  # type: ignore[misc]
    cls.__doc__ = page(cls, signature(made).parameters)
    _name_methods(cls)
    return cls


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that names the known hyperparameter most like a wrong one; empty if none is."""
    by_case = {own.lower(): own for own in known}
    found = get_close_matches(name.lower(), by_case, n=1, cutoff=0.6)
    return f" Did you mean {by_case[found[0]]!r}?" if found else ""


def _naming(init: Callable[..., None], owner: str) -> Callable[..., None]:
    """`__init__` whose refusal of a hyperparameter that there is not names the nearest one."""
    known = tuple(signature(init).parameters)[1:]

    @wraps(init)
    def __init__(self: Any, *given: Any, **named: Any) -> None:
        try:
            init(self, *given, **named)
        except TypeError as error:
            wrong = re.search(r"unexpected keyword argument '(\w+)'", str(error))
            if wrong is None:
                raise
            raise TypeError(
                f"{owner}() has no hyperparameter {wrong[1]!r} (an unexpected keyword argument)."
                f"{nearest(wrong[1], known)}"
            ) from None

    return __init__


def _order(declared: tuple[str, Field]) -> int:
    """Those that may be given by position come first, as declared; the others by their groups."""
    name, own = declared
    return -1 if own.kw_only is False else place(name)


def _name_methods(cls: type) -> None:
    """Give a class copies of the methods that it inherits, by names that begin with its own.

    What Python says of a wrong argument then names the class that the user knows.
    """
    for base in cls.__mro__[1:]:
        if not base.__module__.startswith(__package__):
            continue
        for name, method in vars(base).items():
            plain = isinstance(method, FunctionType) and not name.startswith("_")
            if plain and getattr(cls, name) is method:
                setattr(cls, name, _renamed(method, f"{cls.__qualname__}.{name}"))


def _renamed(method: FunctionType, name: str) -> FunctionType:
    """A copy by another name, and of what it wraps."""
    cells = method.__closure__ or ()
    inner = getattr(method, "__wrapped__", None)
    if isinstance(inner, FunctionType):
        other = _renamed(inner, name)
        cells = tuple(CellType(other) if cell.cell_contents is inner else cell for cell in cells)
    copy = FunctionType(
        method.__code__, method.__globals__, method.__name__, method.__defaults__, cells
    )
    copy.__dict__.update(method.__dict__)
    if isinstance(inner, FunctionType):
        copy.__dict__["__wrapped__"] = other
    copy.__kwdefaults__, copy.__annotations__ = method.__kwdefaults__, method.__annotations__
    copy.__doc__, copy.__module__, copy.__qualname__ = method.__doc__, method.__module__, name
    return copy


def gathered(cls: type, table: str) -> dict[str, Any]:
    """The entries of a table that a class and its bases each have a part of; the nearest counts."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        for name, entry in vars(base).get(table, {}).items():
            found.setdefault(name, entry)
    return found
