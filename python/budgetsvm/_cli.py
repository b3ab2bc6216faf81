"""The command ``budgetsvm``: train, predict, cv, tune, convert, info, and LIBSVM's two."""

from __future__ import annotations

import argparse
import ast
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.utils import get_tags

from . import _cli_libsvm, _core
from ._archive import estimators
from ._cli_files import ENDS, Table, expect_finite, read_model, read_table
from ._cli_streams import complain, is_terminal, say, show_warning
from ._columns import Layout, layout_of, note
from ._files import check_writable, write_atomically

#: Commands of LIBSVM's own flags.
LIBSVM = {"svm-train": _cli_libsvm.train, "svm-predict": _cli_libsvm.predict}
#: What `tune` tries where nothing is said: powers of 2, as LIBSVM's grid.py in larger steps.
GRID = {"C": [2.0**k for k in range(-3, 13, 3)], "gamma": [2.0**k for k in range(-9, 4, 3)]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code: 0, 1 for what went wrong, 2 for usage, 130 for Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    called = os.path.basename(sys.argv[0])
    if arguments is None and called in LIBSVM:
        given = [called, *given]  # by a link of this name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.showwarning = show_warning
            if given and given[0] in LIBSVM:
                return LIBSVM[given[0]](given[1:])
            options = _options(given)
            options.run(options)
    except KeyboardInterrupt:
        complain("budgetsvm: interrupted")
        return 130
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        complain(f"budgetsvm: error: {' '.join(str(error).split())}")
        return 1
    except Exception as error:  # nobody foresaw it: its type is what a report of it needs
        complain(f"budgetsvm: error: {type(error).__name__}: {' '.join(str(error).split())}")
        return 1
    return 0


def _options(given: Sequence[str]) -> argparse.Namespace:
    try:
        return _parser().parse_args(given)
    except SystemExit:
        say("")  # what a page of help could not be written to is found out here
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="budgetsvm",
        description="Kernel support vector machines on a budget.",
        epilog="Tables: svmlight rows, .csv, .npy, .npz, .parquet. `budgetsvm svm-train` and "
        "`svm-predict` take LIBSVM's flags.",
    )
    parser.add_argument("--version", action="version", version=f"budgetsvm {_core.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    train = _command(commands, "train", _train, "fit a machine and save it")
    _of_data(train)
    train.add_argument("model", help="the .safetensors file to write")
    _of_estimator(train)

    predict = _command(commands, "predict", _predict, "labels or values of rows, a line each")
    predict.add_argument("model", help="a file of `train` or `save`, or LIBSVM's model text")
    _of_data(predict)
    predict.add_argument("out", nargs="?", help="where to write (default: standard output)")
    what = predict.add_mutually_exclusive_group()
    what.add_argument("--decision", action="store_true", help="decision values instead")
    what.add_argument("--proba", action="store_true", help="probabilities instead")

    cv = _command(commands, "cv", _cv, "score by cross-validation")
    _of_data(cv)
    _of_estimator(cv)
    _of_folds(cv)

    tune = _command(commands, "tune", _tune, "the best of a grid by cross-validation")
    _of_data(tune)
    tune.add_argument("model", nargs="?", help="where to save the best, fitted to all rows")
    _of_estimator(tune)
    _of_folds(tune)
    tune.add_argument("--grid", action="append", default=[], metavar="NAME=A,B,...",
                      help="values to try (default: C and gamma, powers of 2)")  # fmt: skip

    convert = _command(commands, "convert", _convert, "another form: .onnx, .h, .model")
    convert.add_argument("model")
    convert.add_argument("out", help="the end of its name says the form: .onnx, .h (C), "
                         ".safetensors, other (LIBSVM's text)")  # fmt: skip
    convert.add_argument("--dtype", help="float32 or float64 (ONNX), float32 or int16 (C)")
    convert.add_argument("--name", default="model", help="what names in C begin with")

    info = _command(commands, "info", _info, "what a model file holds")
    info.add_argument("model")
    return parser


def _command(commands: Any, name: str, run: Any, page: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=page, description=page)
    command.set_defaults(run=run)
    return command


def _of_data(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", help="the table")
    command.add_argument("--format", default="auto", choices=["auto", "svmlight", *ENDS])
    command.add_argument(
        "--label",
        help="the column of the label, by name or place (default: last; of rows to predict, the "
        "one of the training rows, where it is there)",
    )
    command.add_argument("--zero-based", action=argparse.BooleanOptionalAction, default=None,
                         help="whether the indices of svmlight rows begin with 0 (default: those "
                         "of the training rows; of these, 1 unless an index is 0)")  # fmt: skip


def _of_estimator(command: argparse.ArgumentParser) -> None:
    command.add_argument("--estimator", default="BudgetSVC", metavar="NAME",
                         help="one of the package (default: BudgetSVC)")  # fmt: skip
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE",
                         help="a hyperparameter, such as C=10")  # fmt: skip
    command.add_argument("--quiet", action="store_true", help="no progress on a terminal")


def _of_folds(command: argparse.ArgumentParser) -> None:
    command.add_argument("--folds", type=int, default=5)
    command.add_argument("--scoring", help="one of scikit-learn's scores (default: accuracy or R²)")


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _named(pairs: Sequence[str], option: str) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise ValueError(f"{option} takes NAME=VALUE, got {pair!r}")
        found[name] = value
    return found


def _estimator(options: argparse.Namespace) -> Any:
    cls = estimators().get(options.estimator)
    if cls is None or not hasattr(cls, "predict"):
        known = sorted(name for name, cls in estimators().items() if hasattr(cls, "predict"))
        raise ValueError(f"--estimator must be one of {', '.join(known)}")
    params = {name: _value(text) for name, text in _named(options.set, "--set").items()}
    unknown = set(params) - set(cls._get_param_names())  # type: ignore[attr-defined]
    if unknown:
        raise ValueError(f"{options.estimator} has no hyperparameter {', '.join(sorted(unknown))}")
    names = cls._get_param_names()  # type: ignore[attr-defined]
    if "random_state" in names:
        params.setdefault("random_state", 0)
    if "verbose" in names and is_terminal() and not options.quiet:
        params.setdefault("verbose", 1)
    return cls(**params)


def _table(options: argparse.Namespace, estimator: Any, fitted: Layout | None = None) -> Table:
    table = read_table(options.data, options.format, options.label, options.zero_based, fitted)
    if table.y is None and fitted is None:
        raise ValueError(f"{options.data}: no labels")
    expect_finite(options.data, table, get_tags(estimator).input_tags.allow_nan)
    return table


def _train(options: argparse.Namespace) -> None:
    estimator = _estimator(options)
    if not options.model.endswith(".safetensors"):
        raise ValueError(f"a model file's name ends in .safetensors, got {options.model!r}")
    check_writable(options.model)
    X, y, layout = _table(options, estimator)
    estimator.fit(X, y)
    note(estimator, layout)
    estimator.save(options.model)


def _predict(options: argparse.Namespace) -> None:
    if options.out is not None:
        check_writable(options.out)
    model = read_model(options.model)
    X, y, _ = _table(options, model, layout_of(model))
    if X.shape[1] > model.n_features_in_:
        model = read_model(options.model, X.shape[1])
    # The names of the columns were looked at when the table was read.
    model.__dict__.pop("feature_names_in_", None)
    if options.proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"this {type(model).__name__} gives no probabilities: leave --proba out")
    if options.decision and not hasattr(model, "decision_function"):
        raise ValueError(f"{type(model).__name__} has no decision values: leave --decision out")
    told = model.predict(X)
    said = told
    if options.proba:
        said = model.predict_proba(X)
    elif options.decision:
        said = model.decision_function(X)
    rows = said[:, None] if said.ndim == 1 else said
    text = "".join(" ".join(map(_shown, row)) + "\n" for row in rows)
    if options.out is None:
        say(text)
    else:
        with write_atomically(options.out) as file:
            file.write(text.encode())
    if y is not None and options.out is not None:
        say(f"{_quality(model, y, told)}\n")


def _shown(value: Any) -> str:
    return repr(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def _quality(model: Any, y: Any, told: Any) -> str:
    if is_regressor(model):
        error = float(np.mean((np.asarray(y, dtype=np.float64) - told) ** 2))
        return f"mean squared error {error:.6g}"
    same = np.asarray(y).astype(str) == np.asarray(told).astype(str)
    return f"accuracy {100 * same.mean():.2f} % ({same.sum()} of {len(same)})"


def _folds(estimator: Any, folds: int) -> Any:
    if folds < 2:
        raise ValueError(f"--folds must be >= 2, got {folds}")
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(folds, shuffle=True, random_state=0)


def _cv(options: argparse.Namespace) -> None:
    estimator = _estimator(options)
    X, y, _ = _table(options, estimator)
    scores = cross_val_score(
        estimator, X, y, cv=_folds(estimator, options.folds), scoring=options.scoring,
        error_score="raise",
    )  # fmt: skip
    each = ", ".join(f"{score:.6g}" for score in scores)
    say(f"{scores.mean():.6g} +- {scores.std():.3g} ({each})\n")


def _tune(options: argparse.Namespace) -> None:
    if options.model is not None:
        if not options.model.endswith(".safetensors"):
            raise ValueError(f"a model file's name ends in .safetensors, got {options.model!r}")
        check_writable(options.model)
    estimator = _estimator(options)
    own = estimator.get_params()
    grid = {name: [_value(text) for text in texts.split(",")]
            for name, texts in _named(options.grid, "--grid").items()}  # fmt: skip
    grid = grid or {name: values for name, values in GRID.items() if name in own}
    unknown = set(grid) - set(own)
    if unknown or not grid:
        raise ValueError(f"--grid: {options.estimator} has no {', '.join(sorted(unknown)) or 'C'}")
    X, y, layout = _table(options, estimator)
    estimator.set_params(**({"verbose": 0} if "verbose" in own else {}))
    search = GridSearchCV(
        estimator, grid, cv=_folds(estimator, options.folds), scoring=options.scoring,
        refit=options.model is not None, error_score="raise",
    ).fit(X, y)  # fmt: skip
    order = np.argsort(-search.cv_results_["mean_test_score"], kind="stable")
    for at in order:
        params = search.cv_results_["params"][at]
        shown = " ".join(f"{name}={value}" for name, value in params.items())
        say(f"{search.cv_results_['mean_test_score'][at]:.6g}  {shown}\n")
    if options.model is not None:
        note(search.best_estimator_, layout)
        search.best_estimator_.save(options.model)


def _convert(options: argparse.Namespace) -> None:
    model, end = read_model(options.model), os.path.splitext(options.out)[1].lower()
    if options.dtype is not None and end not in (".onnx", ".h"):
        raise ValueError("--dtype is for .onnx and .h")
    if end == ".onnx":
        from .onnx import to_onnx

        to_onnx(model, options.out, dtype=np.dtype(options.dtype or "float32"))
    elif end == ".h":
        from ._c import to_c

        to_c(model, options.out, name=options.name, dtype=options.dtype or "float32")
    elif end == ".safetensors":
        model.save(options.out)
    else:
        from ._libsvm import to_libsvm

        to_libsvm(model, options.out)


def _info(options: argparse.Namespace) -> None:
    model = read_model(options.model)
    lines = {"estimator": type(model).__name__, "features": model.n_features_in_}
    machine = getattr(model, "_machine", None)
    if machine is not None:
        lines |= {"model": machine.kind, "terms": machine.n_terms, "outputs": machine.n_outputs,
                  "dtype": machine.dtype, "kernel": machine.kernel}  # fmt: skip
    if hasattr(model, "classes_"):
        shown = ", ".join(map(str, model.classes_[:10]))
        lines["classes"] = f"{len(model.classes_)} ({shown})"
    given = {n: v for n, v in model.get_params(deep=False).items() if v is not None}
    lines["hyperparameters"] = " ".join(f"{name}={value}" for name, value in given.items())
    layout = layout_of(model)
    if layout.names is not None:
        more = " ..." if len(layout.names) > 10 else ""
        lines["columns"] = ", ".join(layout.names[:10]) + more
    if layout.label is not None or layout.place is not None:
        lines["label"] = layout.place if layout.label is None else layout.label
    if layout.zero_based is not None:
        lines["first index"] = int(not layout.zero_based)
    say("".join(f"{name}: {value}\n" for name, value in lines.items()))
