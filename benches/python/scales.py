"""Whether the warning of features that drown the others is true: every data set, scaled in several
ways.

The share of the squared distance between rows that the half of the features which owns less owns:
as published, standardised, between 0 and 1 (CSR: by the largest), and with a part of the
standardised features scaled by 50. `budgetsvm` warns below 4 % (`src/estimator/scales.rs`);
whether it does is asked of `budgetsvm` itself.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from budgetsvm import Nystroem
from common import load, machine, markdown, parser, require, write

PAIRS = 1024


def least_half(X):
    """The share of the half of the features that owns less."""
    rng = np.random.default_rng(0)
    i, j = rng.integers(X.shape[0], size=(2, PAIRS))
    difference = X[i] - X[j]
    if sp.issparse(X):
        sums = np.asarray(difference.multiply(difference).sum(axis=0)).ravel()
    else:
        sums = (difference.astype(float) ** 2).sum(axis=0)
    sums = np.sort(sums[sums > 0])
    return sums[: len(sums) - len(sums) // 2].sum() / sums.sum()


def warned(X):
    """Whether a fit warns of its features."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        Nystroem(n_components=2).fit(X)
    return any("make up" in str(warning.message) for warning in found)


def ways(X):
    """Name and rows, scaled in each way."""
    yield "as published", X
    standard = StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X)
    yield "standardised", standard
    yield "0 to 1", (MaxAbsScaler() if sp.issparse(X) else MinMaxScaler()).fit_transform(X)
    d = X.shape[1]
    order = np.random.default_rng(1).permutation(d)
    for name, most in (
        ("one by 50", 1),
        ("a tenth by 50", max(1, d // 10)),
        ("half by 50", d // 2),
    ):
        factors = np.ones(d)
        factors[order[:most]] = 50
        scaled = standard @ sp.diags(factors) if sp.issparse(X) else standard * factors
        yield name, scaled


def main():
    options = parser(__doc__).parse_args()
    require(options.data, ["adult"])
    rows, header = [], []
    for path in sorted(options.data.glob("*.npz")):
        X = load(options.data, path.stem)[0]
        X = X if X.dtype.kind == "f" else X.astype(np.float32)
        X = X[np.random.default_rng(0).permutation(X.shape[0])[:20_000]]
        row = [f"{path.stem}, {X.shape[1]} features"]
        for name, scaled in ways(X):
            header = header if name in header else [*header, name]
            row.append(f"{100 * least_half(scaled):.1f}{' warns' if warned(scaled) else ''}")
        print(" | ".join(row), flush=True)
        rows.append(row)
    text = markdown(["share of the lesser half, %", *header], rows)
    write(options.out / "scales.md", f"{text}\n\n{machine()}.")


if __name__ == "__main__":
    main()
