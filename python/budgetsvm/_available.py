"""Methods that depend on hyperparameters: the AttributeError says how to get the method."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any, cast


class _ConditionalMethod:
    """A method that exists only where a check of the estimator raises no AttributeError.

    Unlike `sklearn.utils.metaestimators.available_if`, the message itself gives the reason.
    """

    def __init__(self, method: Callable[..., Any], check: Callable[[Any], Any]) -> None:
        self.method, self.check = method, check
        update_wrapper(cast(Any, self), method)

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is not None:
            self._ask(estimator)
            return MethodType(self.method, estimator)

        @wraps(self.method)
        def asked(estimator: Any, *given: Any, **named: Any) -> Any:
            self._ask(estimator)
            return self.method(estimator, *given, **named)

        return asked

    def _ask(self, estimator: Any) -> None:
        try:
            self.check(estimator)
        except AttributeError as reason:
            owner, name = type(estimator).__name__, self.method.__name__
            raise AttributeError(f"This {owner!r} has no attribute {name!r}: {reason}") from reason


def available_if(check: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: the method is available unless the check raises an AttributeError, the reason."""
    return lambda method: _ConditionalMethod(method, check)
