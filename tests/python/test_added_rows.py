"""Rows that are added do not make a machine on a budget worse (benches/python/added_rows.py)."""

import numpy as np

from budgetsvm import BudgetSVC


def rows(n, seed):
    """Normal rows, of which five features matter, by a product and sines."""
    X = np.random.default_rng(seed).normal(size=(n, 10)).astype(np.float32)
    return X, np.sign(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] * np.sin(X[:, 4]))


X, Y = rows(700_000, 0)


def test_rows_that_are_added_are_no_loss():
    X_test, y_test = rows(20_000, 1)
    score = {}
    for n in (5_000, 60_000, 300_000):
        fits = [BudgetSVC(20, random_state=seed).fit(X[:n], Y[:n]) for seed in range(5)]
        score[n] = np.median([model.score(X_test, y_test) for model in fits])
    assert score[60_000] > score[5_000] + 0.02, score
    assert score[300_000] > score[60_000] - 0.015, score


def test_terms_stay_where_rows_are():
    """What made it worse: a merge takes the mean of two terms, and terms that are merged again and
    again come to the middle of the rows. A pass in the order of the rows visits all of them; a
    shuffled one only as many as choose terms well."""

    def norm(n, order):
        model = BudgetSVC(20, order=order, random_state=0).fit(X[:n], Y[:n])
        return np.linalg.norm(model.support_vectors_, axis=1).mean()

    few = norm(60_000, "shuffled")
    assert norm(len(Y), "shuffled") > 0.96 * few
    assert norm(len(Y), "sequential") < 0.94 * few
