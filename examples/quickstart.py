"""Train on real data, score, and see how small the model is: python examples/quickstart.py"""

from budgetsvm import BudgetSVC
from budgetsvm.datasets import load_adult

X, y, X_test, y_test = load_adult()  # sparse rows; dense arrays work just as well
clf = BudgetSVC(budget=100, C=32, gamma=2**-7, random_state=0).fit(X, y)

print(f"{X.shape[0]:,} training rows, {clf.n_terms_} support vectors")
print(f"accuracy {clf.score(X_test, y_test):.4f} on {X_test.shape[0]:,} test rows")
print(f"stopped by {clf.stop_reason_} after {clf.n_iter_} pass of {clf.history_['time'][0]:.2f} s")
