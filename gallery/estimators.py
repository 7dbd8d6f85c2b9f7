"""
Estimators on real tables
=========================

Gradient flow from three starts, stopped at any time, beside Ridge and Lasso; largest margins in
four norms beside SVC.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import biasflow as bf
from pictures import keep

folds = KFold(3, shuffle=True, random_state=0)


def scores(model, X, y, *before):
    """Mean over the folds, and its standard error."""
    line = make_pipeline(StandardScaler(), *before, model)
    found = cross_val_score(line, X, y, cv=folds, error_score="raise")
    return found.mean(), found.std(ddof=1) / np.sqrt(len(found))


# %%
# Regression: the time at which the flow stops takes the place of a penalty, and its scale chooses
# between the shapes of Ridge and of Lasso.
X, y = load_diabetes(return_X_y=True)
y = (y - y.mean()) / y.std()
squares = PolynomialFeatures(2, include_bias=False), StandardScaler()
times = np.geomspace(0.1, 50, 6)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for scale, colour in ((1.0, "#4477aa"), (0.03, "#aa7733"), (0.001, "#bb3344")):
    flows = [bf.estimators.GradientFlowRegressor(scale=scale, t=t) for t in times]
    curve = [scores(flow, X, y, *squares)[0] for flow in flows]
    left.plot(times, curve, "o-", color=colour, label=f"gradient flow, α = {scale:g}")
kernel = [scores(bf.estimators.TangentKernelRegressor(t=t), X, y)[0] for t in times]
left.plot(times, kernel, "s-", color="#888888", label="tangent kernel of a ReLU network")

penalties = {"Ridge": np.geomspace(1, 1e3, 9), "Lasso": np.geomspace(3e-3, 0.3, 9)}
rivals = {"Ridge": Ridge(), "Lasso": Lasso(max_iter=10**5)}
for name, dash in (("Ridge", "--"), ("Lasso", ":")):
    best = max(
        scores(rivals[name].set_params(alpha=alpha), X, y, *squares)[0] for alpha in penalties[name]
    )
    left.axhline(best, color="black", linestyle=dash, label=f"best {name}")
    print(f"best {name}: R² = {best:.3f}")
left.set(xscale="log", xlabel="time t", ylabel="R², cross-validated", ylim=(-0.03, 0.72))
left.set_title("diabetes, with squares and products of its columns")
left.legend(frameon=False, loc="upper center", ncols=2, fontsize=8.5)

# %%
# Classification: each norm has its largest margin, with a certificate for every pair of classes.
classifiers = {
    f"largest margin, {norm}": bf.estimators.MaxMarginClassifier(norm)
    for norm in ("l1", "l2", "f2", "rbf")
}
classifiers |= {"SVC, linear": SVC(kernel="linear"), "SVC, rbf": SVC()}
digits = load_digits(n_class=5, return_X_y=True)
tables = {
    "wine": load_wine(return_X_y=True),
    "breast cancer": load_breast_cancer(return_X_y=True),
    "five digits": (digits[0][:250], digits[1][:250]),
}
rows = np.arange(len(classifiers))
for (table, (X, y)), marker, shift in zip(tables.items(), "os^", (-0.16, 0, 0.16), strict=True):
    found = [scores(classifier, X, y) for classifier in classifiers.values()]
    means, errors = np.transpose(found)
    right.errorbar(means, rows + shift, xerr=errors, fmt=marker, capsize=2, label=table)
    fit = bf.estimators.MaxMarginClassifier("f2").fit(StandardScaler().fit_transform(X), y)
    proofs = fit.certificate_ if isinstance(fit.certificate_, tuple) else (fit.certificate_,)
    print(f"{table}: γ₂ =", ", ".join(f"{proof.lower:.4g} ({proof.kind})" for proof in proofs))
right.set_yticks(rows, list(classifiers))
right.invert_yaxis()
right.set(xlabel="accuracy, cross-validated", title="no parameter set in any row")
right.legend(frameon=False, loc="lower left", fontsize=8.5)
keep(figure)
