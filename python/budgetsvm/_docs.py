"""Pages of the estimators: what several of them share is written once.

The page of a class is put together from its own and those of its bases (`page`); a line ``@name@``
stands for a paragraph of `COMMON`.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable
from functools import cache
from inspect import cleandoc
from textwrap import dedent, indent, wrap
from typing import TypeVar

from ._groups import said
from ._names import CLASS_LOSSES, DISTANCES, KERNELS, LEAST_SQUARES, LOSS_PARAMETERS, VALUE_LOSSES

Documented = TypeVar("Documented", bound=Callable)

_MARK = re.compile(r"^( *)@([\w-]+)@$", re.MULTILINE)
_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def documented(method: Documented) -> Documented:
    """A method (or a class) whose page's marks are filled."""
    method.__doc__ = _filled(method.__doc__ or "")
    return method


def page(cls: type, hyperparameters: Iterable[str]) -> str:
    """The page of a class: its own, with what its bases say of its parameters and attributes.

    Where several say something the nearest counts; notes and references too are those of the
    nearest.
    """
    pages = [_sections(base) for base in cls.__mro__ if base.__module__.startswith("budgetsvm.")]
    nearest = ChainMap(*pages)
    parameters, attributes = _entries(pages, "Parameters"), _entries(pages, "Attributes")
    whole = {
        "Parameters": [parameters[name] for name in hyperparameters if name in parameters],
        "Attributes": list(dict.fromkeys(attributes.values())),
        "Notes": [_notes(nearest.get("Notes", ""), hyperparameters)],
        "References": [nearest.get("References", "")],
        "Examples": [pages[0].get("Examples", "")],
    }
    text = pages[0][""]
    for heading, entries in whole.items():
        if any(entries):
            text += "\n".join([f"\n\n{heading}", "-" * len(heading), *entries])
    return text


def _notes(notes: str, hyperparameters: Iterable[str]) -> str:
    """What a class says of its method and cost, and what its hyperparameters are about."""
    groups = "\n".join(wrap(said(hyperparameters), 88, break_on_hyphens=False))
    return f"{notes}\n\n{groups}" if notes else ""


@cache
def _sections(cls: type) -> dict[str, str]:
    """A page as it was written, by its headings; what comes before the first one is ""."""
    parts = _HEADING.split(cleandoc(_filled(re.sub(r"\\\n *", "", cls.__doc__ or ""))))
    return dict(zip(["", *parts[1::2]], map(str.rstrip, parts[::2]), strict=True))


def _entries(pages: Iterable[dict[str, str]], section: str) -> dict[str, str]:
    """What pages say of each name in a section, the first that says something."""
    told: dict[str, str] = {}
    for sections in pages:
        for entry in filter(None, _ENTRY.split(sections.get(section, ""))):
            for name in entry.partition("\n")[0].partition(" : ")[0].split(", "):
                told.setdefault(name, entry.rstrip())
    return told


def _filled(text: str) -> str:
    """Every mark replaced by its paragraph, moved to where the mark begins."""
    while _MARK.search(text):
        text = _MARK.sub(lambda mark: indent(dedent(COMMON[mark[2]]).strip("\n"), mark[1]), text)
    return text


def _choice(parameter: str, formulas: dict[str, str], default: str) -> str:
    """The paragraph of a hyperparameter that is one of these names: a formula for every name."""
    names = ", ".join(f'"{name}"' for name in formulas)
    lines = ";\n    ".join(f'"{name}": {formula}' for name, formula in formulas.items())
    return f'{parameter} : {{{names}}}, default="{default}"\n    {lines}.'


COMMON = {
    "kernels": _choice("kernel", KERNELS, "rbf"),
    "tuned-gamma": """
        gamma : {"scale", "auto", "tune"} or float, default="scale"
            γ > 0. "scale" is ``1 / (n_features * variance of X)``, with the weights of the rows
            where there are some; "auto" is ``1 / n_features``; "tune" finds it (`gamma_`) on at
            most 2,000 rows: by factors of 2 from "scale" on while the exact leave-one-out error of
            least squares on 200 of them as terms falls.
""",
    "tuned-exact-C": """
        C : float or "tune", default=1.0
            Cost of a violation, in (0, inf]. "tune" finds it (`C_`), on at most 2,000 rows: the
            best of three for this loss, about the one that goes with the regularisation that least
            squares likes best. Needs 10 rows at least, and a kernel by its name.
""",
    "tuned-C": """
        C : float or "tune", default=1.0
            Cost of a violation, > 0: a sample costs C times its weight. "tune" finds it (`C_`) on
            those rows: the best of three for the machine's own loss, about the one that goes with
            the regularisation that least squares likes best. Needs 10 rows at least.
""",
    "kernels-of-a-distance": _choice("kernel", {name: KERNELS[name] for name in DISTANCES}, "rbf"),
    "class-losses": _choice("loss", CLASS_LOSSES, "hinge"),
    "value-losses": _choice("loss", VALUE_LOSSES, "epsilon_insensitive"),
    "primal-class-losses": _choice("loss", CLASS_LOSSES | LEAST_SQUARES, "squared_hinge"),
    "primal-value-losses": _choice("loss", VALUE_LOSSES | LEAST_SQUARES, "epsilon_insensitive"),
    "loss-parameters": "\n".join(
        f"{name} : float, default={default}\n    {page}"
        for name, (_, default, page) in LOSS_PARAMETERS.items()
    ),
    "rows": """
        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows, finite.
""",
    "rows-or-source": """
        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            Rows, finite; those of a source (`budgetsvm.data.open`) are taken block by block.
        out : path-like or None, default=None
            An .npy file that the answers are written to as they come, whole or not at all; what is
            returned is then mapped from it.
""",
    "rows-or-values": """
        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features) or (n_samples, n_train)
            Rows, finite; kernel values against the training rows for ``kernel="precomputed"``.
""",
    "functions": """
        functions : array-like of shape (n_samples, n_functions), default=None
            Values of the functions, where the estimator was made with a matrix of them.
""",
    "new-rows": """
        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or Source
            New rows, finite; those of a source (`budgetsvm.data.open`, with its own targets) are
            learnt block after block, and none is kept.
        y : array-like of shape (n_samples,)
            Their labels, or finite numbers for regression.
""",
    "classes": """
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever come; needed in the first call.
""",
    "checkpoint": """
        checkpoint : path-like or None, default=None
            For rows from a source: a file (".safetensors") that is written every so often. A call
            that was killed goes on from it when it is made again, on an estimator with the same
            hyperparameters and the same rows, and ends with the bits of one that was not; the file
            is then deleted. Wants an integer as `random_state`.
        every : float, default=60
            Seconds between two of them, >= 0.
""",
    "weights": """
        sample_weight : array-like of shape (n_samples,), default=None
            Weights >= 0, not all zero: they multiply C.
""",
    "values": """
        Returns
        -------
        ndarray of shape (n_samples,)
            Values.
""",
    "labels": """
        Returns
        -------
        ndarray of shape (n_samples,)
            Labels out of `classes_`.
""",
    "unless-fitted": """
        Raises
        ------
        NotFittedError, ValueError
            If the estimator is not fitted; if an argument is not finite or does not fit.
""",
    "axes": """
        ax : matplotlib axes, default=None
            Where to draw; None makes new ones.
""",
    "drawn-on": """
        ax_, figure_ : matplotlib axes and figure
            Where it is drawn.
""",
    "unless-rows-fit": """
        Raises
        ------
        ValueError
            If rows are not finite or not of this many features.
""",
    "fitted": """
        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If an argument or a hyperparameter is out of its range, or does not suffice; the
            message names it.
        MemoryError
            If what the method has to hold does not fit.
        KeyboardInterrupt
            On Ctrl-C, within half a second. After any exception the estimator is as before.
""",
    "polished": """
        Returns
        -------
        self : object
            The estimator with new coefficients.

        Raises
        ------
        NotFittedError
            If there are no support vectors yet.
        ValueError, KeyboardInterrupt
            As in `fit`; the estimator is then as before.
""",
    "trained-on": """
        Returns
        -------
        self : object
            The estimator, trained on.

        Raises
        ------
        ValueError
            If an argument is out of its range, or a label is not known.
        KeyboardInterrupt
            On Ctrl-C; after any exception the estimator is as before the call.
""",
}
