"""One-class machines on real anomalies: average precision beside scikit-learn's.

Trained on the normal samples of the training part, scaled by it; the anomalies of the test part
are what is to be ranked first.

    python benches/python/one_class.py [--data FOLDER] [--nu NU ...]
"""

from __future__ import annotations

import numpy as np
import sklearn
import sklearn.svm
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler

import budgetsvm
import common

NAMES = ("anomaly-shuttle", "anomaly-mammography")


def main() -> None:
    """Measure and print."""
    parser = common.parser(__doc__)
    parser.add_argument("--nu", nargs="+", type=float, default=[0.01, 0.1, 0.5])
    parser.add_argument("--samples", type=int, default=None, help="training samples, at most")
    options = parser.parse_args()
    common.require(options.data, list(NAMES))
    table = []
    for name in NAMES:
        X, y, X_test, y_test = parts(options, name)
        for nu in options.nu:
            for label, cls in (
                (f"budgetsvm {budgetsvm.__version__}", budgetsvm.OneClassSVM),
                (f"scikit-learn {sklearn.__version__}", sklearn.svm.OneClassSVM),
            ):
                model = cls(nu=nu, gamma="scale")
                _, fit = common.timed(model.fit, X[y == 0][: options.samples])
                scores, predict = common.timed(model.decision_function, X_test)
                precision = average_precision_score(y_test, -np.asarray(scores).ravel())
                row = [name, f"{nu:g}", label, f"{fit:.2f}", f"{predict:.2f}", f"{precision:.4f}"]
                table.append([*row, str(len(model.support_))])
                print(" ".join(table[-1]), flush=True)
    header = ["data", "ν", "machine", "fit s", "predict s", "average precision", "SVs"]
    text = f"{common.machine()}\n\n{common.markdown(header, table)}\n"
    common.write(options.out / "one_class.md", text)


def parts(options, name):
    """Scaled rows; labels 1 for anomalies."""
    X, y, X_test, y_test = common.load(options.data, name)
    y, y_test = ((np.asarray(labels) == anomaly(y)).astype(int) for labels in (y, y_test))
    scaler = StandardScaler().fit(X[y == 0])
    return scaler.transform(X).astype(np.float64), y, scaler.transform(X_test), y_test


def anomaly(y) -> object:
    """The rarer label."""
    labels, counts = np.unique(y, return_counts=True)
    return labels[np.argmin(counts)]


if __name__ == "__main__":
    main()
