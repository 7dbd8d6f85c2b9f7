"""scikit-learn estimators: the limits of training as regressors and classifiers, each with its
certificate. They need the extra `sklearn`, which is asked for when one is used, not before."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError

if TYPE_CHECKING:
    from .averaged_regressor import AveragedFlowRegressor
    from .gradient_flow_regressor import GradientFlowRegressor
    from .margin_classifier import MaxMarginClassifier
    from .relu_regressor import MinNormReLURegressor
    from .tangent_regressor import TangentKernelRegressor

__all__ = [
    "AveragedFlowRegressor",
    "GradientFlowRegressor",
    "MaxMarginClassifier",
    "MinNormReLURegressor",
    "TangentKernelRegressor",
]
HOMES = {
    "AveragedFlowRegressor": "averaged_regressor",
    "GradientFlowRegressor": "gradient_flow_regressor",
    "MaxMarginClassifier": "margin_classifier",
    "MinNormReLURegressor": "relu_regressor",
    "TangentKernelRegressor": "tangent_regressor",
}
"""The module of each, which imports scikit-learn."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{HOMES[name]}", __name__)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "sklearn":
            raise
        raise MissingExtraError(
            f"estimators.{name}: scikit-learn is not installed; pip install 'biasflow[sklearn]'"
        ) from None
    return getattr(module, name)


def __dir__() -> list[str]:
    return list(__all__)
