"""The five papers, the scripts that run their tables and figures, and what cannot be had."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A script and its arguments; `name` is that of its record."""

    name: str
    command: str


class Paper(NamedTuple):
    """A section of the document."""

    title: str
    about: str
    parts: tuple[Part, ...]


PAPERS = (
    Paper("[BSCA] Dual SVM training on a budget", "", (
        Part("bsca_paper", "bsca_paper.py"),
        Part("online_table", "online_table.py"),
    )),
    Paper("[PRIMAL] Training a support vector machine in the primal", "", (
        Part("primal_paper", "primal_paper.py"),
    )),
    Paper("[DCONLINE] Very fast kernel SVM under budget constraints", "", (
        Part("local", "local.py"),
    )),
    Paper("[ASSET] Approximate stochastic subgradient estimation training", "", (
        Part("asset_paper", "asset_paper.py"),
    )),
    Paper("[MPD] Training support vector machines with multiple equality constraints", "", (
        Part("mpd_paper", "mpd_paper.py"),
    )),
)  # fmt: skip
