"""What docs/benchmarks.md is made of: scripts, what is said of them, what stands elsewhere."""

from __future__ import annotations

from common import markdown
from report import Document, Part, Section

BUDGETED = Section(
    "Budgeted machines",
    """
Test accuracy (R² for values), beside the exact machines of the same run; Adult's rows are CSR, the
others dense. On protein with C and γ chosen by a grid 500 terms are too few.
""",
    (Part("flagship", "flagship.py"),),
)
EXACT = Section(
    "Exact machines",
    """
Dense float64 rows, for which scikit-learn takes longer on Adult than for the CSR rows above. Ratios
are times over ours. scikit-learn-intelex is beside them where it is installed. Then problems of 50
to 2,000 rows: ratios below one are in our favour.
""",
    (Part("exact", "exact.py"), Part("small_exact", "small_exact.py")),
)
OTHERS = Section(
    "Feature maps and primal machines",
    """
`AssetSVC` beside LIBLINEAR run to its tolerance on the same features; `PrimalSVC(tune=True)` beside
a five-fold grid search of 25 places.
""",
    (
        Part("asset", "asset.py --only table3 --sets ijcnn1 --sizes 512 --seeds 3"),
        Part("primal", "primal.py --only tune --draws 1"),
    ),
)
PREDICTION = Section(
    "Prediction and kernel rows",
    """
How long one row waits for its class, and what share of the multiply-add peak kernel rows and
predictions reach (one thread, float32, the exponential included).
""",
    (
        Part("latency", "latency.py"),
        Part("engine_bars", "engine_bars.py --only kernel prediction"),
    ),
)
ELSEWHERE = [
    (
        "accuracy against the time of a prediction, ours and others'",
        "the README's figure, `docs/figures/accuracy.csv`",
        "`figure.py`",
    ),
    (
        "the advice of the guide on data of each shape",
        "[guide](guide.md#by-the-shape-of-the-data)",
        "`guide.py`",
    ),
    (
        "`AutoSVC`, `AutoSVR` beside boosted trees",
        "[tune nothing](auto.md)",
        "`auto.py`",
    ),
    (
        'the grid\'s price, and what "tune" finds',
        "[tune nothing](auto.md)",
        "`tuning.py`",
    ),
    (
        "streams, drift",
        "[streams](streams.md)",
        "`streams.py`, `prequential.py`",
    ),
    (
        "novelty",
        "[novelty](novelty.md)",
        "`novelty.py`",
    ),
    (
        "what the defaults rest on",
        "[defaults](defaults.md)",
        "`defaults.py` and those it names",
    ),
    (
        "probabilities",
        "[probabilities](probabilities.md)",
        "`calibration.py`",
    ),
    (
        "intervals and several targets",
        "[intervals](intervals.md)",
        "`quantiles.py`",
    ),
    (
        "sizes and speed of what leaves the house",
        "[deploy](deploy.md)",
        "`deploy_c.py`, `serving.py`, `svmlight.py`",
    ),
    (
        "rows that do not fit into memory",
        "[larger than memory](larger-than-memory.md)",
        "`larger_than_memory.py`",
    ),
    (
        "the five papers, with online learners and local machines",
        "[reproduction](reproduction.md)",
        "`make reproduce`",
    ),
    (
        "the engine: passes, polish, threads, memory",
        "",
        "`engine_bars.py`, `scaling.py`, `roofline.py`",
    ),
]
DOCUMENT = Document(
    "benchmarks",
    "Benchmarks",
    """
Written by `make benchmarks` (`benches/python/benchmarks.py`), not by hand; `make benchmarks
ONLY=NAME` runs one script again. `BUDGETSVM_DATA` names the folder of the data, which
`benches/python/fetch.py` fills. Times are the machine's that is named; compare them within a table.
""",
    (BUDGETED, EXACT, OTHERS, PREDICTION),
    "## What stands elsewhere\n\n" + markdown(["what", "where", "script"], ELSEWHERE),
)
