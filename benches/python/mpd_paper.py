"""The experiments of the MPD paper: Figure 1's toy and Figure 2's semi-parametric regression.

Figure 1: a C-SVC on two Gaussians of 20 points, C = 1000, both thresholds 0.01: dual variable and
both violations over the iterations, by the paper's update and by the default. Figure 2: seconds
against the number of samples for C = 0.1, 1, 10 (the paper bounds α by C/m, so its C is ours
divided by m), with a cache of 2 GB. The paper gives no kernel width: γ = 0.5.

    python benches/python/mpd_paper.py [--sizes M ...] [--reference M ...]
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

import common
from budgetsvm import SemiparametricSVC, SemiparametricSVR

SIZES = [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
THRESHOLDS = {"tol": 0.01, "constraint_tol": 0.01}
#: update, working set.
MODES = {"newton, the paper's": ("newton", 1), "augmented, sets of 1": ("augmented", 1),
         "augmented": ("augmented", 512)}  # fmt: skip


def toy(seed: int):
    """Two Gaussians, 20 points each, standard deviation 1, means sqrt(2) apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    X[20:, 0] += np.sqrt(2)
    return X, np.repeat([0, 1], 20)


def regression(m: int, seed: int):
    """Section 6: sin x + sinc(2π(x - 5)) with sinc z = sin z / z, noise of deviation 0.2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, (m, 1))
    noise = rng.uniform(-0.2 * np.sqrt(3), 0.2 * np.sqrt(3), m)
    return X, np.sin(X[:, 0]) + np.sinc(2 * (X[:, 0] - 5)) + noise


FUNCTIONS = [lambda X: np.sin(X[:, 0]), lambda X: np.sinc(2 * (X[:, 0] - 5))]


def figure_1(seed: int):
    """Histories of the three modes, and a table."""
    X, y = toy(seed)
    table, histories = [], {}
    for name, (update, size) in MODES.items():
        model = SemiparametricSVC(
            C=1000.0, gamma=0.5, update=update, working_set=size, record_history=True, **THRESHOLDS
        )
        _, seconds = common.timed(model.fit, X, y)
        histories[name] = model.history_
        row = [name, str(model.n_iter_[0]), str(model.n_updates_[0])]
        row += [f"{model.intercept_[0]:.4f}", model.stop_reason_, f"{1e3 * seconds:.1f}"]
        table.append(row)
    header = ["update", "steps", "dual updates", "η", "ended by", "ms"]
    return common.markdown(header, table), histories


def objective(model, X, y) -> float:
    """The dual objective of a regression machine, in float64."""
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    K = rbf_kernel(X, gamma=0.5)
    return float(0.5 * beta @ K @ beta - y @ beta + 0.05 * np.abs(beta).sum())


def figure_2(sizes: list[int], reference: list[int]):
    """A table of seconds, and the curves."""
    table, curves = [], {}
    for C in (0.1, 1.0, 10.0):
        for m in sizes:
            X, y = regression(m, 0)
            settings = {"C": C / m, "gamma": 0.5, "epsilon": 0.05, "fit_intercept": False}
            model = SemiparametricSVR(FUNCTIONS, cache_size=2048, **settings, **THRESHOLDS)
            _, seconds = common.timed(model.fit, X, y)
            gap = ""
            if m in reference:
                tight = SemiparametricSVR(
                    FUNCTIONS, tol=1e-7, constraint_tol=1e-9, cache_size=2048, **settings
                ).fit(X, y)
                best = objective(tight, X, y)
                gap = f"{(objective(model, X, y) - best) / abs(best):.1e}"
            a, b = model.parametric_coef_
            row = [f"{C:g}", str(m), f"{seconds:.3f}", str(model.n_iter_)]
            row += [str(model.n_updates_[0]), f"{a:.4f}", f"{b:.4f}", str(len(model.support_))]
            row += [model.stop_reason_, gap]
            table.append(row)
            curves.setdefault(C, []).append((m, seconds))
            print(" ".join(row), flush=True)
    header = ["C of the paper", "m", "seconds", "steps", "dual updates", "sin", "sinc", "SVs",
              "ended by", "objective above a tight fit's"]  # fmt: skip
    return common.markdown(header, table), curves


def draw(folder, histories, curves) -> None:
    """Both figures, if matplotlib is there."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(3, len(histories), figsize=(12, 8), sharex="col")
    for column, (name, history) in zip(axes.T, histories.items(), strict=True):
        for axis, key in zip(column, ("violation", "constraint", "multiplier_0"), strict=True):
            axis.plot(history[key])
            axis.set_ylabel(key)
        column[0].set_title(name)
        column[0].set_yscale("symlog", linthresh=1e-3)
    figure.savefig(folder / "mpd_figure_1.png", dpi=120)
    figure, axis = plt.subplots()
    for C, points in curves.items():
        axis.loglog(*zip(*points, strict=True), marker="o", label=f"C = {C:g}")
    axis.set(xlabel="m", ylabel="seconds")
    axis.legend()
    figure.savefig(folder / "mpd_figure_2.png", dpi=120)


def main() -> None:
    """Measure, print, draw."""
    parser = common.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--reference", nargs="*", type=int, default=[500])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    first, histories = figure_1(options.seed)
    print(first, flush=True)
    second, curves = figure_2(options.sizes, options.reference)
    draw(options.out, histories, curves)
    common.write(options.out / "mpd_paper.md", f"{common.machine()}\n\n{first}\n\n{second}")


if __name__ == "__main__":
    main()
