"""How many features do I need?

Accuracy against number of features on the breast cancer data of scikit-learn, with the rankings of
an F-test and of a random forest on the same axes.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import kernelpath as kp

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
sizes = [1, 2, 3, 5, 8, 12, 20, 30]
model = kp.PathCV(
    kp.LpKTASelector(), predictor="joint_rbf", n_features=sizes, baselines=("f_test", "forest")
)
model.fit(X_train, y_train)
axes = model.plot()  # axes.figure.savefig("how_many_features.png") keeps the picture

for rule, options in {"best": {}, "one_se": {}, "budget": {"budget": 5}}.items():
    point = model.choose(rule, **options)
    held_out = (model.predict(X_test, n_features=point.n_features) == y_test).mean()
    print(
        f"{rule:<7} {point.n_features:>2} features, cross-validated {point.score:.3f}, "
        f"rows held out {held_out:.3f}"
    )
print("in every fold among the best five:", ", ".join(model.stability_.core(n_features=5)))
