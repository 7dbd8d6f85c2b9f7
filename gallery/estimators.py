"""Real tables: gradient flow from three starts stopped at any time beside Ridge and Lasso, and
largest margins in four norms beside SVC."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import biasflow as bf

folds = KFold(3, shuffle=True, random_state=0)


def scores(model, X, y, *before):
    """Mean over the folds, and its standard error."""
    line = make_pipeline(StandardScaler(), *before, model)
    found = cross_val_score(line, X, y, cv=folds, error_score="raise")
    return found.mean(), found.std(ddof=1) / np.sqrt(len(found))


figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
X, y = load_diabetes(return_X_y=True)
y = (y - y.mean()) / y.std()
squares = PolynomialFeatures(2, include_bias=False), StandardScaler()
times = np.geomspace(0.1, 50, 6)
for scale, colour in ((1.0, "#4477aa"), (0.03, "#aa7733"), (0.001, "#bb3344")):
    flows = [bf.estimators.GradientFlowRegressor(scale=scale, t=t) for t in times]
    curve = [scores(flow, X, y, *squares)[0] for flow in flows]
    left.plot(times, curve, "o-", color=colour, label=f"gradient flow, α = {scale:g}")
kernel = [scores(bf.estimators.TangentKernelRegressor(t=t), X, y)[0] for t in times]
left.plot(times, kernel, "s-", color="#888888", label="tangent kernel of a ReLU network")
lasso, ridge = np.geomspace(3e-3, 0.3, 9), np.geomspace(1, 1e3, 9)
for model, grid, dash in ((Ridge(), ridge, "--"), (Lasso(max_iter=10**5), lasso, ":")):
    best = max(scores(model.set_params(alpha=alpha), X, y, *squares)[0] for alpha in grid)
    left.axhline(best, color="black", linestyle=dash, label=f"best {type(model).__name__}")
    print(f"best {type(model).__name__}: R² = {best:.3f}")
left.set(
    xscale="log", xlabel="time t", ylabel="R², cross-validated", ylim=(-0.03, 0.72),
    title="diabetes, with squares and products of its columns",
)  # fmt: skip
left.legend(frameon=False, loc="upper center", ncols=2, fontsize=8.5)

names = ("l1", "l2", "f2", "rbf")
rivals = {f"largest margin, {norm}": bf.estimators.MaxMarginClassifier(norm) for norm in names}
rivals |= {"SVC, linear": SVC(kernel="linear"), "SVC, rbf": SVC()}
markers = zip(("wine", "breast cancer", "five digits"), "os^", (-0.16, 0, 0.16), strict=True)
loads = load_wine, load_breast_cancer, lambda **how: load_digits(n_class=5, **how)
for (table, marker, shift), load in zip(markers, loads, strict=True):
    X, y = load(return_X_y=True)
    X, y = (X[:250], y[:250]) if table == "five digits" else (X, y)
    means, errors = np.transpose([scores(rival, X, y) for rival in rivals.values()])
    right.errorbar(
        means, np.arange(len(rivals)) + shift, xerr=errors, fmt=marker, capsize=2, label=table
    )
    fit = bf.estimators.MaxMarginClassifier("f2").fit(StandardScaler().fit_transform(X), y)
    proofs = fit.certificate_ if isinstance(fit.certificate_, tuple) else (fit.certificate_,)
    print(f"{table}: γ₂ =", ", ".join(f"{proof.lower:.4g} ({proof.kind})" for proof in proofs))
right.set_yticks(range(len(rivals)), list(rivals))
right.invert_yaxis()
right.set(xlabel="accuracy, cross-validated", title="no parameter set in any row")
right.legend(frameon=False, loc="lower left", fontsize=8.5)
out = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent / "out" / "estimators.png")
out.parent.mkdir(parents=True, exist_ok=True)
figure.savefig(out, dpi=150)
