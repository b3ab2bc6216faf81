"""The five papers, the scripts that run their tables and figures, and what cannot be had."""

from __future__ import annotations

from report import Document, Part, Section

BSCA = Section(
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
    """
- *Table 1.* The exact machine is LIBSVM's, so what differs from the paper's figures are the data:
  COD-RNA is scaled to [0, 1] and split otherwise here, and needs far fewer support vectors. The
  sample of COVTYPE beats the paper's figure for all of COVTYPE with 1/65 of the rows, so the
  paper's features cannot have been scaled as here ([0, 1]).
- *Theorem 1.* As our copy prints equation 5 the bound does not hold: on the sample of COVTYPE, the
  one set whose κ is not tiny, the true gap passes the bound with both budgets. Elsewhere it says
  nothing, as nC²/2 is far above D(α*). With the average in place of the maximum there is a bound
  that can be proved (`benches/python/bsca_theorem.py`), and it holds until the average step loses
  more than it gains (E > 1), which the table dates. The paper's conclusion stands: progress ends
  there, and it ends the sooner the smaller the budget is.
- *Figure 1.* BSGD's dual, with the α of equation 4, stays negative on the sample of COVTYPE, as
  the paper says of two of its sets, and is a smooth curve on all. BSCA begins far nearer to its
  end.
- *Figures 2 to 5 and 7.* BSCA is ahead in the first pass or two, as the paper has it. It is not
  the steadier of the two here: at B = 500 both swing, BSCA on ADULT and COD-RNA the more. It is
  not the budget alone: without one (Figure 4) SCA swings on ADULT as much, since at C = 32 it
  takes many passes until the α of hard samples are at their bound, and each of its steps takes its
  row's decision value all the way to the margin. Polishing (the stars) ends the swinging for
  both, at or above the best of either curve but for the smallest budgets.
- *Figure 6.* The drift that the paper describes at B = 200 is there at B = 50 on IJCNN1 and
  COVTYPE: the dual falls and the primal rises.
- *Figure 8.* BSGD is near Lemma 2 but on the sample of COVTYPE. BSCA is still far above it, and
  falling, after 15 passes, for the reason just given; without a budget the shares
  are the lemma's (a test of the package runs that long).
- *Table 2.* The last iterates swing from order to order, as the ranges tell, so a single figure,
  the paper's or ours, means little; means of the iterates are nearer to each other. The paper's
  Projectron (25.65 and 33.31 %) and its FOGD and NOGD on IJCNN (90.50 %, the share of the larger
  class) are numerical accidents that do not happen here.
""",
)
PRIMAL = Section(
    "Training a support vector machine in the primal [PRIMAL]",
    """
Figures 2 and 3 are drawings of the losses. LIBSVM is scikit-learn's, which makes kernel values as
it needs them and fits an offset; the paper gave it the whole matrix. Not here: the joint
optimisation of hyperparameters on the training cost (section 6.3), and the losses of section 4.3
other than the logistic one ([primal.md](primal.md), "Out of scope").
""",
    (Part("primal_paper", "primal_paper.py"),),
    """
- *Figure 1* and Appendix A are as in the paper, and the primal is never above the dual for any
  number of steps, not for one alone: the dual's iterate lies in the Krylov space in which the
  primal's is the best.
- *Figure 4.* Newton's time grows more slowly than n at these sizes (reading the rows is part of
  it), LIBSVM's as in the paper, in the paper's number of Newton steps.
- *Figure 5.* Steps are those on all samples, after a beginning on fewer. LIBSVM was of 2004 there:
  today's is faster than the factor of K at a hard margin.
- *Figure 6.* The error falls as h grows, to the last h = 1, where the paper has the opposite: with
  so few samples and flipped labels a loss nearer to least squares is the better one here, and
  other samples are another curve. The zones of Figure 7 and the number of steps are as in the
  paper; the time hardly depends on h at this size.
- *Figure 9.* On the published split of USPS the full fit errs more at σ = 4 (last column; LIBSVM
  too) than the paper after 256 steps *without* the preconditioner, 1.84 %, which therefore cannot
  be of this test set. What it shows holds: without the preconditioner 256 steps are not enough,
  with it far fewer are.
""",
)
DCONLINE = Section(
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
    """
- Accuracies are about the paper's or above, by another coding into two classes, which the paper
  does not give. With cells that learn from their neighbours' rows (`overlap=16`, not in the paper)
  they are about the exact machine's.
- COVTYPE's figures in the paper (94.80, 78.95, 64.35 %) are of 522,000 rows. The sample of 8,966
  suffices for the two smaller machines, above the paper's; `covtype-2v3` is an easier problem,
  and stands for throughput alone.
- Samples a second are beside those of one thread of Java at 2.3 GHz, 2018; `covtype-2v3` has 10
  features in place of 54.
""",
)
ASSET = Section(
    "Approximate stochastic subgradient estimation training [ASSET]",
    """
Not to be had: CCAT (`reuters-money-fx`, 7,770 texts, in its place), COVTYPE whole, MNIST-E
(`covtype-2v3` and `skin` in its place), the programs CPSP, CPNY, LASVM and SVM-Light (LIBLINEAR on
features of the same kind, and the exact machine).
""",
    (
        Part("asset_paper", "asset_paper.py --only figure1 figure2 --seeds 1"),
        Part(
            "asset_table_3",
            "asset_paper.py --only table3 --kinds nystroem --sets adult mnist ijcnn1 --seeds 1 "
            "--most 300",
        ),
    ),
    """
- *Figure 1.* As in the paper: Nyström features below Fourier features, both down to the exact
  machine at small s where γ is small (ADULT), and not yet at s = 1024 on MNIST.
- *Table 3.* Errors are after 50 passes; the averages of ASSET are of the second half of all
  iterates, not of the last 100, which still swing at these C. LIBLINEAR
  and our dual are at 300 passes where the table says so, which at ADULT's C = 1000 is far from
  their end.
- *Figure 2.* On these data ASSET is ahead at the beginning and ASSET* at the end of the pass; the
  paper has ASSET below throughout, on MNIST-E, which is not at hand. The
  paper's pass over a million rows took 7 hours.
""",
)
MPD = Section(
    "Training support vector machines with multiple equality constraints [MPD]",
    """
Not to be had: LOQO, the interior point program that the paper compares itself with. The paper
gives no kernel width for section 6; γ = 0.5 is ours.
""",
    (Part("mpd_paper", "mpd_paper.py"),),
    """
- *Figure 1.* The paper's points are not given; its 630 iterations are beside what other draws of
  the same two Gaussians take. The course of the three curves is its own.
- *Figure 2.* With thresholds of 0.01, taken as they stand, answers differ visibly from a QP
  solver's: the constraints are of size 1 and missed by up to 0.01, and the objective lies below
  the minimum. The paper's own update then needs thousands of dual updates at C = 1; the augmented
  one, our default, few. General QP solvers end where H no longer fits.
""",
)
DOCUMENT = Document(
    "reproduction",
    "The papers' tables and figures, run again",
    """
Written by `make reproduce` (`benches/python/reproduce.py`), not by hand; `make reproduce ONLY=NAME`
runs one script again. Beside each of the papers' numbers stands ours and, where one is at hand, a
peer's. Times are each machine's own: the papers' machines are of 2004 to 2018. The data are those
of `benches/python/fetch.py`, which says where each set is published.
""",
    (BSCA, PRIMAL, DCONLINE, ASSET, MPD),
)
