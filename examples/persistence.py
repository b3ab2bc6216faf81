"""Save a fitted classifier without pickle, load it elsewhere, and go on training.

A safetensors file holds numbers and text, no code: loading one from a stranger runs nothing.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import budgetsvm
from budgetsvm import BudgetSVC

X, y = load_digits(return_X_y=True)
X = (X / 16).astype(np.float32)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

clf = BudgetSVC(budget=200, C=10, gamma=0.1, random_state=0).fit(X_train, y_train)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.safetensors"
    clf.save(path)
    print(f"{path.stat().st_size / 1024:.0f} KB for {clf.n_terms_} terms and 10 classes")
    loaded = budgetsvm.load(path)

assert np.array_equal(loaded.decision_function(X_test), clf.decision_function(X_test))
print(f"accuracy {loaded.score(X_test, y_test):.3f}, the same numbers as before")
loaded.partial_fit(X_test[:100], y_test[:100])
print(f"trained on, {loaded.n_terms_} terms; the first model still scores", end=" ")
print(f"{clf.score(X_test, y_test):.3f}")
