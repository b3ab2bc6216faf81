"""Machines that tune themselves: what they are invariant to, take in, keep within, and find."""

from __future__ import annotations

import json
import pickle
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

import budgetsvm
from budgetsvm import AutoSVC, AutoSVR

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def classes():
    """600 rows of three classes."""
    return make_classification(
        900, 8, n_informative=4, n_redundant=1, n_classes=3, class_sep=1.2, random_state=3
    )


@pytest.fixture(scope="module")
def values():
    return make_friedman1(900, 10, noise=0.5, random_state=1)


def test_it_is_better_than_a_plain_machine(classes, values):
    X, y = classes
    clf = AutoSVC(random_state=0).fit(X[:600], y[:600])
    plain = budgetsvm.SVC().fit(X[:600], y[:600])
    assert clf.score(X[600:], y[600:]) >= plain.score(X[600:], y[600:]) - 0.02
    X, y = values
    assert AutoSVR(random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:]) > 0.95
    # Half of its features are noise: no machine of one width comes near.
    assert budgetsvm.SVR(C=100, gamma="scale").fit(X[:600], y[:600]).score(X[600:], y[600:]) < 0.93


def test_what_the_machine_looks_at(values):
    X, y = values
    clf = AutoSVR(random_state=0).fit(X, y)
    scales = clf.feature_scales_
    assert scales.shape == (10,)
    assert scales.max() == 1.0
    # Friedman's function is one of the first five.
    assert scales[:5].min() > 3 * scales[5:].max(), scales
    np.testing.assert_allclose(clf.feature_importances_.sum(), 1.0)
    assert abs(clf.weights_.sum() - 1.0) < 1e-12
    assert len(clf.kernels_) == len(clf.weights_)
    errors = [line["error"] for line in clf.leaderboard_]
    assert errors == sorted(errors)
    assert {"width", "descent"} <= {line["scales"] for line in clf.leaderboard_}
    flat = AutoSVR(random_state=0, learn_scales=False).fit(X, y)
    assert flat.score(X, y) != clf.score(X, y)
    assert np.ptp(flat.feature_scales_) < 1e-12


@pytest.mark.parametrize("power", [-20, 20])
def test_powers_of_two_change_no_bit(power, classes):
    X, y = classes
    factors = np.where(np.arange(8) % 2 == 0, 2.0**power, 1.0)
    one = AutoSVC(random_state=0).fit(X[:300], y[:300])
    other = AutoSVC(random_state=0).fit(X[:300] * factors, y[:300])
    np.testing.assert_array_equal(
        one.decision_function(X[300:]), other.decision_function(X[300:] * factors)
    )


def test_other_units_and_orders_of_columns_hardly_matter(classes):
    X, y = classes
    one = AutoSVC(random_state=0).fit(X[:600], y[:600])
    score = one.score(X[600:], y[600:])
    scaled = X * 10.0 ** np.array([6, -6, 3, 0, 1, -1, 2, -3])
    other = AutoSVC(random_state=0).fit(scaled[:600], y[:600])
    assert abs(other.score(scaled[600:], y[600:]) - score) <= 0.01
    turned = X[:, ::-1]
    other = AutoSVC(random_state=0).fit(turned[:600], y[:600])
    assert abs(other.score(turned[600:], y[600:]) - score) <= 0.02


def test_weights_are_repetitions_and_have_no_unit(classes):
    X, y = classes
    X, y = X[:60], y[:60]
    weights = np.arange(60) % 3
    one = AutoSVC(random_state=0).fit(X, y, weights)
    twice = AutoSVC(random_state=0).fit(X, y, 2.0 * weights)
    np.testing.assert_array_equal(one.decision_function(X), twice.decision_function(X))
    repeated = AutoSVC(random_state=0).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(
        one.decision_function(X), repeated.decision_function(X), rtol=0, atol=1e-9
    )
    plain = AutoSVC(random_state=0).fit(X, y)
    assert not np.allclose(one.decision_function(X), plain.decision_function(X))


def test_the_number_of_threads_changes_no_bit(values):
    X, y = values
    found = [AutoSVR(random_state=0, n_jobs=k).fit(X, y).predict(X) for k in (1, 2, 3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_probabilities(classes):
    X, y = classes
    clf = AutoSVC(random_state=0).fit(X[:600], y[:600])
    shares = clf.predict_proba(X[600:])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(clf.classes_[shares.argmax(axis=1)], clf.predict(X[600:]))
    np.testing.assert_allclose(clf.predict_log_proba(X[600:]), np.log(shares))
    base = np.bincount(y[:600]) / 600
    assert log_loss(y[600:], shares) < 0.6 * log_loss(y[600:], np.tile(base, (300, 1)))
    two = AutoSVC(random_state=0).fit(X[:600], y[:600] == 1)
    share = two.predict_proba(X[600:])[:, 1]
    np.testing.assert_array_equal(share > 0.5, two.predict(X[600:]))
    # As many as it says.
    assert abs(share.mean() - (y[600:] == 1).mean()) < 0.06


def test_a_budget_is_kept(values):
    X, y = values
    for budget in (1, 2, 40, 5000):
        model = AutoSVR(budget, random_state=0).fit(X, y)
        assert model.n_terms_ <= max(budget, 1) or budget > len(X)
        assert np.isfinite(model.predict(X)).all()
    assert AutoSVR(40, random_state=0).fit(X, y).score(X, y) > 0.7


def frame(n, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.choice([f"place {i}" for i in range(40)], n)
    colour = rng.choice(["red", "green", None], n)
    size = rng.normal(size=n)
    y = 2.0 * (colour == "red") + np.array([hash_of(p) for p in place]) + 0.5 * size
    size[rng.random(n) < 0.1] = np.nan
    table = pd.DataFrame({"size": size, "colour": pd.Categorical(colour), "place": place})
    table["flag"] = rng.random(n) < 0.5
    return table, y


def hash_of(text):
    return (int(text.split()[1]) * 7919 % 40) / 10.0


def test_frames_with_categories_and_missing_values(tmp_path):
    X, y = frame(1500)
    X_new, y_new = frame(400, seed=1)
    model = AutoSVR(random_state=0).fit(X, y)
    assert model.score(X_new, y_new) > 0.9
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.feature_scales_.shape == (4,)
    assert model.feature_scales_.argmin() == 3
    expected = model.predict(X_new)
    path = tmp_path / "model.safetensors"
    model.save(path)
    for again in (budgetsvm.load(path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X_new), expected)
    unseen = X_new.assign(place="elsewhere", colour="blue")
    assert np.isfinite(model.predict(unseen)).all()
    with pytest.raises(ValueError, match="data frame"):
        model.predict(X_new.to_numpy())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X_new[["colour", "size", "place", "flag"]])
    with pytest.raises(ValueError, match="times into numbers"):
        AutoSVR().fit(X.assign(size=pd.Timestamp("2020-01-01")), y)


def test_a_training_row_does_not_speak_for_itself():
    # A level a row: their own targets would explain everything.
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name": [f"row {i}" for i in range(400)], "x": rng.normal(size=400)})
    y = np.sin(2 * X["x"].to_numpy()) + 0.1 * rng.normal(size=400)
    X_new = X.assign(name=[f"new {i}" for i in range(400)])
    assert AutoSVR(random_state=0).fit(X, y).score(X_new, y) > 0.9


def test_missing_values_without_a_frame(classes):
    X, y = classes
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    clf = AutoSVC(random_state=0).fit(holes[:600], y[:600])
    assert clf.score(holes[600:], y[600:]) > 0.55
    # None was missing in training, one is now.
    whole = AutoSVC(random_state=0).fit(X[:600], y[:600])
    assert np.isfinite(whole.decision_function(holes[600:])).all()
    np.testing.assert_array_equal(
        whole.decision_function(X[600:]), whole.decision_function(pd.DataFrame(X[600:]))
    )
    with pytest.raises(ValueError, match="infinity"):
        whole.decision_function(np.where(np.isnan(holes), np.inf, holes))


@pytest.mark.parametrize("of", ["constant", "twice", "missing", "one", "sparse", "float32"])
def test_columns_of_every_kind(of, classes):
    X, y = classes
    X, y = X[:200], y[:200]
    X = {
        "constant": np.hstack([X, np.full((200, 1), 7.0)]),
        "twice": np.hstack([X, X]),
        "missing": np.hstack([X, np.full((200, 1), np.nan)]),
        "one": X[:, [0]],
        "sparse": sparse.csr_matrix(np.where(np.abs(X) < 0.5, 0.0, X)),
        "float32": X.astype(np.float32),
    }[of]
    clf = AutoSVC(random_state=0).fit(X, y)
    assert clf.score(X, y) > (0.4 if of == "one" else 0.7)
    assert np.isfinite(clf.feature_scales_).all()


def test_what_was_found_is_told(classes, tmp_path):
    X, y = classes
    clf = AutoSVC(random_state=0).fit(X[:300], y[:300])
    lines = [line for line in clf.leaderboard_ if line["weight"] > 0]
    assert clf.kernels_ == [line["kernel"] for line in lines]
    np.testing.assert_allclose(clf.weights_.sum(), 1.0)
    np.testing.assert_allclose(clf.C_, [1 / (2 * line["lambda"] * 300) for line in lines])
    assert clf.gamma_.shape == clf.C_.shape
    assert (clf.gamma_ > 0).all()
    np.testing.assert_allclose(clf.feature_importances_.sum(), 1.0)
    clf.save(tmp_path / "a.safetensors")
    again = budgetsvm.load(tmp_path / "a.safetensors")
    for name in ("C_", "gamma_", "weights_", "feature_scales_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(clf, name))


def test_scales_are_drawn(classes, monkeypatch):
    X, y = classes
    clf = AutoSVC(random_state=0)
    with pytest.raises(NotFittedError):
        clf.plot_scales()
    clf.fit(pd.DataFrame(X[:300], columns=[f"c{k}" for k in range(X.shape[1])]), y[:300])
    ax = clf.plot_scales(most=3)
    order = np.argsort(-clf.feature_scales_, kind="stable")[:3]
    assert [text.get_text() for text in ax.get_yticklabels()] == [f"c{k}" for k in order]
    np.testing.assert_array_equal(
        [bar.get_width() for bar in ax.patches], clf.feature_scales_[order]
    )
    assert clf.plot_scales(ax) is ax
    with pytest.raises(ValueError, match="most must be >= 1"):
        clf.plot_scales(most=0)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        clf.plot_scales()


def test_too_many_features_are_refused_with_what_takes_them():
    X = sparse.random(50, 700_000, 1e-5, format="csr", random_state=0)
    with pytest.raises(ValueError, match=r"X has 700000 features.*PrimalSVC or PrimalSVR"):
        AutoSVC().fit(X, np.arange(50) % 2)


def test_thousands_of_features_are_fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4000)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    X[:, :40] += 1.5 * y[:, None]
    clf = AutoSVC(random_state=0, learn_scales=False).fit(X[:80], y[:80])
    assert clf.score(X[80:], y[80:]) > 0.8


@pytest.mark.parametrize("n", [2, 3, 5, 9])
def test_very_few_rows(n):
    X = np.arange(2.0 * n).reshape(n, 2)
    clf = AutoSVC(random_state=0).fit(X, np.arange(n) % 2)
    assert np.isfinite(clf.predict_proba(X)).all()
    assert np.isfinite(AutoSVR(random_state=0).fit(X, np.arange(n)).predict(X)).all()


def test_many_classes_and_a_constant():
    """Each class has a place of its own; by chance it is one in a thousand."""
    y = np.arange(2000) % 1000
    X = np.column_stack([y % 40, y // 40]) + 0.1 * np.random.default_rng(0).normal(size=(2000, 2))
    assert AutoSVC(random_state=0, max_time=2).fit(X, y).score(X, y) > 0.2
    assert np.ptp(AutoSVR(random_state=0).fit(X[:50], np.ones(50)).predict(X)) < 1e-6


def test_more_classes_than_the_search_has_outputs():
    """It is told sums of them; probabilities are of all."""
    y = np.arange(800) % 100
    X = np.column_stack([y % 10, y // 10]) + 0.1 * np.random.default_rng(0).normal(size=(800, 2))
    clf = AutoSVC(random_state=0).fit(X[:600], y[:600])
    assert clf.score(X[600:], y[600:]) > 0.95
    shares = clf.predict_proba(X[600:])
    assert shares.shape == (200, 100)
    assert -np.log(shares[np.arange(200), y[600:]]).mean() < 0.2


def test_scales_are_descended_to_from_two_places(values):
    """What is judged for a kernel is what one of them leads to."""
    X, y = values

    def judged(**recipe):
        reg = AutoSVR(random_state=0)
        reg._recipe = json.dumps(recipe)
        lines = reg.fit(X, y).leaderboard_
        return {line["kernel"]: line["error"] for line in lines if line["scales"] == "descent"}

    both = judged()
    steep, flat = (judged(two_starts=False, outer_power=power) for power in (0.5, 0.25))
    assert both.keys() == steep.keys() == flat.keys() == {"rbf", "laplacian"}
    for kernel, error in both.items():
        assert steep[kernel] != flat[kernel]
        assert error in (steep[kernel], flat[kernel])


def told(X, y, **recipe):
    """A machine with another recipe."""
    reg = AutoSVR(random_state=0)
    reg._recipe = json.dumps(recipe)
    return reg.fit(X, y)


def test_the_coding_is_chosen_again_once_there_are_scales():
    """Two of twenty features matter: before that is known one coding is as good as the other."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(1000, 20))
    y = np.sin(4 * X[:, 0]) * X[:, 1]
    once, again = (told(X[:600], y[:600], recoded=recoded) for recoded in (False, True))
    assert once.leaderboard_[0]["coding"] == "ranks"
    assert again.leaderboard_[0]["coding"] == "standard"
    assert again.leaderboard_[0]["error"] < 0.1 * once.leaderboard_[0]["error"]
    assert again.score(X[600:], y[600:]) > once.score(X[600:], y[600:])


def test_more_rows_are_held_by_a_smaller_share(values):
    X, y = values
    falls, stays = (told(X[:600], y[:600], lambda_fall=power) for power in (1, 0))
    # The search has judged with 480 of the 600 rows.
    np.testing.assert_allclose(falls.C_, stays.C_ * 600 / 480)
    for reg in (falls, stays):
        found = [line["lambda"] for line in reg.leaderboard_ if line["weight"] > 0]
        np.testing.assert_allclose(reg.C_, [1 / (2 * 600 * each) for each in found])
    assert not np.allclose(falls.predict(X), stays.predict(X))


def test_a_limit_leaves_a_usable_machine(classes):
    X, y = classes
    clf = AutoSVC(random_state=0, max_time=0.01).fit(X, y)
    assert clf.stop_reason_ == "max_time"
    assert clf.score(X, y) > 0.6
    assert np.isfinite(clf.predict_proba(X)).all()
    assert len(clf.leaderboard_) >= 1
    told = []
    clf = AutoSVC(random_state=0, callback=lambda at: told.append(at) or True).fit(X, y)
    assert clf.stop_reason_ == "callback"
    assert told


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_a_class_its_probability_and_the_sign_of_its_value_agree(share):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300) > np.quantile(X[:, 0], 1 - share)
    clf = AutoSVC(random_state=0).fit(X, y)
    positive = clf.predict(X)
    assert np.array_equal(positive, clf.decision_function(X) > 0)
    assert np.array_equal(positive, clf.predict_proba(X)[:, 1] > 0.5)
