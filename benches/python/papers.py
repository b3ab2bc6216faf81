"""The five papers, the scripts that run their tables and figures, and what cannot be had."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """A script with its arguments; `name` is that of its record."""

    name: str
    command: str


class Paper(NamedTuple):
    """A section of the document: what cannot be had and stands in its place, then its parts.

    `reading` is ours, of the run that is committed: what differs from the paper, and why.
    """

    title: str
    about: str
    parts: tuple[Part, ...]
    reading: str = ""


BSCA = Paper(
    "Dual SVM training on a budget [BSCA]",
    """
Not to be had: SUSY (4.5 million rows; nothing stands in its place), COVTYPE whole (a random sample
of 8,966 rows, `covtype-sample`, at the paper's C and γ), COD-RNA's own test set (the training set
is split 80/20), the authors' programs. Table 2's other methods are beside the figures of their
public C++ implementation (KOL), where it runs.
""",
    (
        Part("bsca_paper", "bsca_paper.py"),
        Part("online_table", "online_table.py --seeds 3 --tries 1 --choice 4000"),
    ),
)
PRIMAL = Paper(
    "Training a support vector machine in the primal [PRIMAL]",
    """
Figures 2 and 3 are drawings of the losses. LIBSVM is scikit-learn's, which makes kernel values as
it needs them and fits an offset; the paper gave it the whole matrix. Not here: the joint
optimisation of hyperparameters on the training cost (section 6.3), and the losses of section 4.3
other than the logistic one ([primal.md](primal.md), "Out of scope").
""",
    (Part("primal_paper", "primal_paper.py"),),
)
DCONLINE = Paper(
    "Very fast kernel SVM under budget constraints [DCONLINE]",
    """
Not to be had: COVTYPE whole (255,244 rows of two of its classes, `covtype-2v3`, and the sample of
8,966), the paper's coding of LETTER and USPS as two classes (A to M against N to Z, 0 to 4 against
5 to 9), its C and γ, and the program it compares itself with; the exact machine stands in its
place.
""",
    (
        Part(
            "local",
            "local.py --only accuracy throughput --seeds 1 --data-sets letter-halves "
            "usps-halves covtype-sample",
        ),
    ),
)
ASSET = Paper(
    "Approximate stochastic subgradient estimation training [ASSET]",
    """
Not to be had: CCAT (`reuters-money-fx`, 7,770 texts, in its place), COVTYPE whole, MNIST-E
(`covtype-2v3` and `skin` in its place), the programs CPSP, CPNY, LASVM and SVM-Light (LIBLINEAR on
features of the same kind, and the exact machine).
""",
    (Part("asset_paper", "asset_paper.py --seeds 1 --most 50 --kinds nystroem"),),
)
MPD = Paper(
    "Training support vector machines with multiple equality constraints [MPD]",
    """
Not to be had: LOQO, the interior point program that the paper compares itself with. The paper
gives no kernel width for section 6; γ = 0.5 is ours.
""",
    (Part("mpd_paper", "mpd_paper.py"),),
)
PAPERS = (BSCA, PRIMAL, DCONLINE, ASSET, MPD)
