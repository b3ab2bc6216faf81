"""The experiments of the MPD paper: Figure 1's toy and Figure 2's semi-parametric regression.

Figure 1: a C-SVC on two Gaussians of 20 points, both thresholds 0.01: dual variable and both
violations over the iterations, by the paper's update and by the default. The paper's C = 1000
bounds the sum of all α (its Table 1 has the box C/m), so it is 1000/40 a row here. Figure 2:
seconds against the number of samples m for C = 0.1, 1, 10 (a row's is C/m), once with all of H in
memory and beside a general QP solver (Clarabel, if it is installed, in the place of the paper's
LOQO), once with a kernel cache of 2 GB. Thresholds are the paper's, as they stand
(`constraint_atol`). The paper gives no kernel width for its Figure 2: γ = 0.5.

    python benches/python/mpd_paper.py [--quick] [--sizes M ...]
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import common
from budgetsvm import SemiparametricSVC, SemiparametricSVR
from record import Record

SIZES = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
QUICK = [50, 100, 200, 500]
#: As far as each way is taken: all of H in memory, the QP solver, the paper's own update.
IN_MEMORY, BY_QP, BY_NEWTON = 5000, 2000, 5000
THRESHOLDS = {"tol": 0.01, "constraint_tol": 1e-12, "constraint_atol": 0.01}
#: update, working set.
MODES = {"newton, the paper's": ("newton", 1), "augmented, sets of 1": ("augmented", 1),
         "augmented": ("augmented", 512)}  # fmt: skip
CS = (0.1, 1.0, 10.0)


def toy(seed: int):
    """Two Gaussians, 20 points each, standard deviation 1, means sqrt(2) apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    X[20:, 0] += np.sqrt(2)
    return X, np.repeat([0, 1], 20)


def regression(m: int, seed: int = 0):
    """Section 6: sin x + sinc(2π(x - 5)) with sinc z = sin z / z, noise of deviation 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (m, 1))
    noise = rng.uniform(-0.2 * np.sqrt(3), 0.2 * np.sqrt(3), m)
    return X, np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5)) + noise


def functions(X) -> np.ndarray:
    """φ: the two functions of the target."""
    return np.column_stack([np.sin(X[:, 0]), np.sinc(2 * (X[:, 0] - 5))])


def settings(C: float, m: int, mode: str) -> dict:
    """Hyperparameters of Figure 2's machine."""
    update, size = MODES[mode]
    return {"C": C / m, "epsilon": 0.05, "fit_intercept": False, "update": update,
            "working_set": size, **THRESHOLDS}  # fmt: skip


def figure_1(record: Record, seeds: int) -> None:
    """Iterations of the three modes over several draws of the points; histories of the first."""
    rows, histories = [], {}
    for mode, (update, size) in MODES.items():
        steps, updates, last = [], [], []
        for seed in range(seeds):
            X, y = toy(seed)
            model = SemiparametricSVC(
                C=1000 / 40, gamma=0.5, update=update, working_set=size, record_history=True,
                **THRESHOLDS,
            ).fit(X, y)  # fmt: skip
            histories.setdefault(mode, model.history_)
            moves = np.flatnonzero(np.diff(model.history_["multiplier_0"])) + 1
            steps.append(model.n_iter_[0])
            updates.append(model.n_updates_[0])
            last.append(moves[0] / len(model.history_["violation"]) if len(moves) else np.nan)
        low, middle, high = np.percentile(steps, [10, 50, 90])
        few, median, many = np.percentile(updates, [10, 50, 90])
        newton = update == "newton"
        about = f"{middle:.0f} ({low:.0f} to {high:.0f})", f"{median:.0f} ({few:.0f} to {many:.0f})"
        rows.append([f"{mode}: steps", 630 if newton else None, about[0], None])
        rows.append([f"{mode}: dual updates", 4 if newton else None, about[1], None])
        if newton:
            begun = np.nanmedian(last)
            rows.append([f"{mode}: share of the run before the first", 532 / 630, begun, None])
    title = f"Figure 1. C-SVC, C = 1000/40 a row: median (10 to 90 %) of {seeds} draws"
    record.compare("figure_1", title, rows)
    draw_1(record, title, histories)


def draw_1(record: Record, title: str, histories: dict) -> None:
    """Violations and the dual variable over the iterations."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(3, len(histories), figsize=(11, 7), sharex="col")
    for column, (name, history) in zip(axes.T, histories.items(), strict=True):
        for axis, key in zip(column, ("violation", "constraint", "multiplier_0"), strict=True):
            axis.plot(history[key])
            axis.set_ylabel(key)
        column[0].set_title(name)
        column[0].set_yscale("symlog", linthresh=1e-3)
        column[2].set_xlabel("iterations" if "sets" in name or "paper" in name else "working sets")
    figure.tight_layout()
    record.picture("figure_1", title, figure)


def objective(beta, K, y) -> float:
    """The dual objective of a regression machine, in float64."""
    return float(0.5 * beta @ K @ beta - y @ beta + 0.05 * np.abs(beta).sum())


def by_qp(K, y, phi, C: float):
    """(seconds, β) of the same problem by Clarabel; None where that is not installed.

    min ½ βᵀKβ - yᵀβ + ε 1ᵀt,  -t ≤ β ≤ t,  t ≤ C,  φᵀβ = 0.
    """
    try:
        import clarabel
    except ImportError:
        return None
    m = len(y)
    identity, zero = sp.identity(m), sp.csc_matrix((m, m))
    P = sp.block_diag([sp.csc_matrix(np.triu(K)), zero], format="csc")
    A = sp.vstack([
        sp.hstack([sp.csc_matrix(phi.T), sp.csc_matrix((phi.shape[1], m))]),
        sp.hstack([identity, -identity]), sp.hstack([-identity, -identity]),
        sp.hstack([zero, identity]),
    ], format="csc")  # fmt: skip
    q = np.r_[-y, np.full(m, 0.05)]
    b = np.r_[np.zeros(phi.shape[1] + 2 * m), np.full(m, C)]
    cones = [clarabel.ZeroConeT(phi.shape[1]), clarabel.NonnegativeConeT(3 * m)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    found, seconds = common.timed(
        lambda: clarabel.DefaultSolver(P, q, A, b, cones, options).solve()
    )
    return seconds, np.array(found.x[:m])


def in_memory(record: Record, sizes: list[int]) -> dict:
    """The left panel: all of H beforehand; seconds, and objectives beside the QP solver's."""
    table, curves = [], {}
    for C in CS:
        for m in (m for m in sizes if m <= IN_MEMORY):
            X, y = regression(m)
            K, phi = rbf_kernel(X, gamma=0.5), functions(X)
            peer = by_qp(K, y, phi, C / m) if m <= BY_QP else None
            for mode in MODES:
                model = SemiparametricSVR(phi, kernel="precomputed", **settings(C, m, mode))
                _, seconds = common.timed(fit, model, K, y)
                beta = np.zeros(m)
                beta[model.support_] = model.dual_coef_[0]
                gap = None
                if peer is not None:
                    best = objective(peer[1], K, y)
                    gap = (objective(beta, K, y) - best) / abs(best)
                table.append([C, m, mode, seconds, model.n_iter_, model.n_updates_[0],
                              model.stop_reason_, gap])  # fmt: skip
                curves.setdefault((C, mode), []).append((m, seconds))
            if peer is not None:
                table.append([C, m, "Clarabel", peer[0], None, None, None, 0.0])
                curves.setdefault((C, "Clarabel"), []).append((m, peer[0]))
    header = ["C of the paper", "m", "by", "seconds", "steps", "dual updates", "ended by",
              "objective above Clarabel's, relative"]  # fmt: skip
    record.table("figure_2_left", "Figure 2, left. H in memory: seconds", header, table)
    return curves


def fit(model, X, y):
    """Fits; where it ends is in the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def one(job):
    """A row of the right panel, in a process of its own: its peak memory is that of this fit."""
    C, m, mode = job
    X, y = regression(m)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = SemiparametricSVR(functions, gamma=0.5, cache_size=2048, **settings(C, m, mode))
    _, seconds = common.timed(fit, model, X, y)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / unit
    a, b = model.parametric_coef_
    return [C, m, mode, seconds, model.n_iter_, model.n_updates_[0], a, b, len(model.support_),
            model.stop_reason_, peak]  # fmt: skip


def cached(record: Record, sizes: list[int]) -> dict:
    """The right panel: rows of H as they are needed, in a cache of 2 GB."""
    table, curves = [], {}
    header = ["C of the paper", "m", "by", "seconds", "steps", "dual updates", "sin", "sinc", "SVs",
              "ended by", "MB on top"]  # fmt: skip
    for C in CS:
        for m in sizes:
            for mode in MODES:
                if m > BY_NEWTON and mode != "augmented":
                    continue
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    row = pool.map(one, [(C, m, mode)])[0]
                table.append(row)
                curves.setdefault((C, mode), []).append((m, row[3]))
                print(*row, flush=True)
    title = "Figure 2, right. A cache of 2 GB: seconds and memory"
    record.table("figure_2_right", title, header, table)
    largest = [row for row in table if row[1] == max(sizes) and row[2] == "augmented"]
    each = "; ".join(f"{s:.3g} s, {row[-1]:,.0f} MB at C = {C:g}" for C, _, _, s, *row in largest)
    most = max(sizes)
    whole = f"the cache among them; H whole is {8e-6 * most**2:,.0f} MB"
    record.text("largest", f"{most:,} samples: {each} ({whole}).")
    return curves


def draw_2(record: Record, panels: dict) -> None:
    """Seconds against m, both panels."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(11, 4.5), sharey=True)
    styles = {"newton, the paper's": ":", "augmented, sets of 1": "--", "augmented": "-",
              "Clarabel": "-."}  # fmt: skip
    for axis, (name, curves) in zip(axes, panels.items(), strict=True):
        for (C, mode), points in curves.items():
            axis.loglog(*zip(*points, strict=True), styles[mode], marker=".",
                        color=f"C{CS.index(C)}", label=f"{mode}, C = {C:g}")  # fmt: skip
        axis.set(title=name, xlabel="m", ylabel="seconds")
    axes[0].legend(fontsize=6)
    figure.tight_layout()
    record.picture("figure_2", "Figure 2. Seconds against m", figure)


def main() -> None:
    """Measure, print, draw."""
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int)
    options = parser.parse_args()
    sizes = options.sizes or (QUICK if options.quick else SIZES)
    with Record(options, "mpd_paper", seeds="0 (Figure 1: 0 to 19)") as record:
        figure_1(record, 5 if options.quick else 20)
        panels = {"H in memory": in_memory(record, sizes), "cache of 2 GB": cached(record, sizes)}
        draw_2(record, panels)
        record.text(
            "loqo",
            "Clarabel (an interior point solver, `pip install --group peers`) stands in the place "
            "of the paper's LOQO; without it its rows are missing.",
        )


if __name__ == "__main__":
    main()
