"""W/fig4e, fig4f and fig6: the kernel and the rich regime on MNIST, Fashion-MNIST and CIFAR-10.

The quick preset draws results that were computed at paper size on a GPU and travel with the package
(`shipped/`, netCDF with settings, versions and device inside). The presets 'reduced' and 'paper'
train, from local images (`biasflow data fetch`).
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.arguments import one_of
from ...errors import InputError
from ...images.training_points import RULES, STARTS, vgg_point, wide_point
from ...sweeps.grids import Grid
from ..experiment import Experiment, Reading, Reported
from ..told_numbers import told
from .image_drawing import draw_curves, draw_vgg, draw_wide

if TYPE_CHECKING:
    import xarray

WIDE_RESULTS, VGG_RESULTS = "fig4e-1.nc", "fig4f-1.nc"
"""Files in `shipped/`; another content has another name, since stores remember points by their
settings."""
SMALL, LARGE = 2.0, 50.0
"""W's two plateaus: α ≤ 2 and α ≥ 50."""
PAPER_EPOCHS = 2000
RICH = "MNIST test error in % for alpha <= 2"
LAZY = "MNIST test error in % for alpha >= 50"
READOUT = "MNIST test error in % of the output layer alone"
CIFAR_READOUT = "CIFAR-10 training accuracy in % of the output layer alone"
BIASED = (
    "At large α the network computes a large random function at its start. Without it, from f(w) "
    "− f(w₀) as W's theory has it,"
    " ours is 2.5% at α = 50 (three seeds, 2.45 to 2.54); whether W subtracted it is not said."
)
FEW_EPOCHS = "W trained 2000 epochs; ours ran for 40, once."


def shipped(name: str) -> xarray.Dataset:
    """Results that travel with the package; nothing else can be named."""
    return _read_shipped(one_of("shipped_in", name, (WIDE_RESULTS, VGG_RESULTS)))


@functools.lru_cache(maxsize=2)
def _read_shipped(name: str) -> xarray.Dataset:
    import xarray

    content = resources.files(__package__).joinpath("shipped", name).read_bytes()
    with xarray.open_dataset(io.BytesIO(content), engine="scipy") as dataset:
        return dataset.load()


def wide(data: str, shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every scale, from the shipped results; or one scale, trained."""
    if not _is_shipped(shipped_in, WIDE_RESULTS, setting):
        return wide_point(data=data, **setting)
    results = shipped(WIDE_RESULTS)
    return results.sel(data=one_of("data", data, results["data"].values.tolist()), drop=True)


def vgg(shipped_in: str = "", **setting: Any) -> xarray.Dataset:
    """Every run, from the shipped results; or one run, trained."""
    return (
        shipped(VGG_RESULTS)
        if _is_shipped(shipped_in, VGG_RESULTS, setting)
        else vgg_point(**setting)
    )


def _is_shipped(name: Any, results: str, setting: Mapping[str, Any]) -> bool:
    """Whether the results that came with the package are asked for; with them no other setting has
    a meaning."""
    if not one_of("shipped_in", name, ("", results)):
        return False
    if setting:
        raise InputError(
            f"{next(iter(setting))}: has no effect on shipped results; give shipped_in or the "
            "settings of a training"
        )
    return True


def origin(data: xarray.Dataset) -> dict[str, str]:
    """Where the numbers come from: settings and device of the shipped results, or of this sweep."""
    settings, device = data.attrs.get("settings", "{}"), data.attrs.get("device", "cpu")
    name = json.loads(settings).get("shipped_in")
    if name:
        return {key: value for key, value in shipped(name).attrs.items() if key.startswith("run_")}
    return {"run_settings": settings, "run_device": device}


def best_step(data: xarray.Dataset, by: str) -> xarray.DataArray:
    """The index of the step size with the least mean of the variable `by` over seeds, for each
    scale.

    Among the steps at which every seed reached 100% training accuracy, where there are any; else
    among all that did not diverge.
    """
    score = data[by].where(data["diverged"] == 0).mean("seed", skipna=False)
    fitted = (data["train_error"] == 0).all("seed") & score.notnull()
    score = score.where(fitted | ~fitted.any("step"))
    return score.fillna(np.inf).argmin("step").where(score.notnull().any("step"), -1)


def at_step(data: xarray.Dataset, index: xarray.DataArray) -> xarray.Dataset:
    """The runs at these step sizes; NaN where a scale was not run."""
    found = data.isel(step=index.clip(min=0))
    return found.assign(step_size=found["step"]).drop_vars("step").where(index >= 0)


def summarise_wide(data: xarray.Dataset) -> xarray.Dataset:
    """Runs at the step with the best test error (W's choice) and, beside it, at that with the least
    training loss."""
    runs = data[[name for name in data.data_vars if {"step", "seed"} <= set(data[name].dims)]]
    chosen, by_loss = (
        at_step(runs, best_step(runs, "test_error")),
        at_step(runs, best_step(runs, "train_loss")),
    )
    mnist = chosen.sel(data="mnist", start="as drawn")
    readouts = data["readout_test_error"].sel(data="mnist", start="as drawn")
    readout = readouts.isel(
        readout_step=readouts.mean("seed").fillna(np.inf).argmin("readout_step")
    )
    drawn = chosen.sel(start="as drawn")
    shares = {}
    for name in data["data"].values:
        fitted = drawn["train_error"].sel(data=name)
        shares[f"{name}: share with 100% training accuracy"] = float(
            (fitted == 0).sum() / fitted.count()
        )
        shares[f"{name}: share with training loss below 1e-5"] = _mean(
            drawn["converged"].sel(data=name)
        )
    attributes = {
        **told(RICH, 100 * _by_seed(mnist["test_error"], mnist["alpha"] <= SMALL), np.mean),
        **told(LAZY, 100 * _by_seed(mnist["test_error"], mnist["alpha"] >= LARGE), np.mean),
        **told(READOUT, 100 * _by_seed(readout), np.mean),
        **shares,
    }
    found = {f"chosen_{name}": chosen[name] for name in chosen.data_vars} | {
        "test_error_by_loss": by_loss["test_error"]
    }
    return data.assign(found).assign_attrs({**data.attrs, **origin(data), **attributes})


def _mean(values: xarray.DataArray, where: Any = True) -> float:
    return float(values.where(where).mean())


def _by_seed(values: xarray.DataArray, where: Any = True) -> np.ndarray:
    """Means over the scales, one a seed."""
    means: np.ndarray = (
        values.where(where)
        .mean([dim for dim in values.dims if dim != "seed"])
        .dropna("seed")
        .values
    )
    return means


def summarise_vgg(data: xarray.Dataset) -> xarray.Dataset:
    """The numbers that W gives for CIFAR-10, and how far our runs went."""
    known = data.where(data["diverged"] == 0)
    full = known.sel(rule=[rule for rule in data["rule"].values if rule != "output layer"])
    readout = known.sel(rule="output layer", alpha=1.0)
    attributes = {
        **told(CIFAR_READOUT, 100 * (1 - readout["train_error"].dropna("seed").values), np.mean),
        "share of runs with 100% training accuracy": float(
            (full["train_error"] == 0).sum() / full["train_error"].count()
        ),
        "most epochs": float(full["epochs_used"].max()),
        "runs that diverged": float((data["diverged"] == 1).sum()),
    }
    return known.assign(diverged=data["diverged"], step_size=data["step_size"]).assign_attrs(
        {**data.attrs, **origin(data), **attributes}
    )


PAPER_STEPS = {"steps": [1.0, 0.5, 0.1, 0.02], "readout_steps": [0.5, 0.2, 0.1, 0.02]}
ALPHAS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
WIDE_GRIDS = {
    "quick": Grid({"data": ("mnist", "fashion-mnist")}, {"shipped_in": WIDE_RESULTS}),
    "reduced": Grid(
        {"data": ("mnist", "fashion-mnist"), "start": STARTS, "alpha": (0.2, 1.0, 5.0, 20.0)},
        {
            **{
                "width": 500,
                "train": 2000,
                "test": 2000,
                "steps": [0.5, 0.1, 0.02],
                "seeds": [0, 1],
                "probes": 16,
                "batch": 64,
            },
            **{
                "readout_steps": [0.5, 0.1],
                "readout_epochs": 50,
                "epochs": 80,
                "every": 20,
                "precision": "float32",
            },
        },
    ),
    "paper": Grid(
        {"data": ("mnist", "fashion-mnist"), "start": STARTS, "alpha": ALPHAS},
        {
            **{
                "width": 5000,
                "train": 0,
                "test": 0,
                **PAPER_STEPS,
                "seeds": [0, 1, 2],
                "probes": 16,
                "batch": 256,
            },
            **{"readout_epochs": 100, "epochs": 5000, "every": 10, "precision": "tensorfloat32"},
        },
    ),
}

VGG_ALPHAS = (0.7, 1.0, 1.5, 2.0, 3.0)
VGG_GRIDS = {
    "quick": Grid({}, {"shipped_in": VGG_RESULTS}),
    "reduced": Grid(
        {"alpha": (0.7, 1.0, 2.0), "rule": RULES, "seed": (0,)},
        {
            **{
                "blocks": [[8], [16], [16, 16], [32, 32]],
                "train": 500,
                "test": 500,
                "probes": 8,
                "batch": 16,
            },
            **{"epochs": 30, "every": 5, "loss": 1e-3, "precision": "float32"},
        },
    ),
    "paper": Grid(
        {"alpha": VGG_ALPHAS, "rule": RULES, "seed": (0, 1, 2)},
        {
            **{
                "blocks": [[64], [128], [256, 256], [512, 512]],
                "train": 0,
                "test": 0,
                "probes": 8,
                "batch": 128,
            },
            **{"epochs": PAPER_EPOCHS, "every": 5, "loss": 1e-3, "precision": "tensorfloat32"},
        },
    ),
}

HOW = (
    " All this is of the quick preset, which draws results computed on a GPU that travel with the "
    "package; with the images on this machine (`biasflow data fetch`), `--preset reduced` trains "
    "small networks on subsets on a CPU, and `--preset paper` everything at full size."
)

fig4e = Experiment(
    "W/fig4e",
    "Test error of a wide two-layer network against the scale α of its start (5000 units, SGD with "
    "batches of 256, cross-entropy, 50 epochs at most; step size chosen for each α by test error, "
    "as in the paper, and by training loss). (a) MNIST; (b) Fashion-MNIST, which the paper did not "
    "use. Small scales generalise better on both. Two things qualify the paper's reading: "
    "subtracting the random function that the network computes at its start (f(w) − f(w₀)) removes "
    "part of the gap at large α, and the exact least-squares interpolators of the network's "
    "expected kernels beat every network here, so that it is not the kernels themselves that "
    "generalise badly. The paper's 2.4% at α ≥ 50 is not reproduced: we find 3.3%, and on average "
    "over seeds no step size tried came below 3.2%. (c) Cosine distance of tangent features and "
    "kernels between start and end (16 test images; gradients of each of the ten outputs, "
    "averaged). (d) MNIST for every step size. Chosen runs are at 100% training accuracy on MNIST, "
    "but only those at large scales are below the loss of 1e-5 that the paper trained to; on "
    "Fashion-MNIST none fits all images in 50 epochs. The search for steps ends too early: on "
    "MNIST the largest tried is the best for α ≤ 5, and for most α where only the output layer is "
    "trained. That layer's number is a mean over all α; it fits all images for α ≥ 5." + HOW,
    WIDE_GRIDS,
    wide,
    summarise_wide,
    draw_wide,
    (
        Reported(RICH, Reading.printed("1.4"), "Appendix E, on Figure 4e"),
        Reported(LAZY, Reading.printed("2.4"), "Appendix E, on Figure 4e", why=BIASED),
        Reported(READOUT, Reading.printed("2.7"), "Appendix E, on Figure 4e"),
    ),
    alt=(
        "On MNIST the test error of the whole network rises from 1.6% at small α to 3.3% at large "
        "α; with the start's function subtracted it reaches 2.5%; the output layer alone has about "
        "2.7%; exact kernel interpolators have 1.3%. Fashion-MNIST looks the same at 10 to 15%. "
        "Below: tangent features move less at large α; errors by step size."
    ),
)

fig4f = Experiment(
    "W/fig4f",
    "VGG11-like network without biases on CIFAR-10, uniform He start times α, SGD with batches of "
    "128, no augmentation, 40 epochs at most where the paper had 2000. (a) Error against α for "
    "several step sizes, and with only the output layer trained. Crosses: training images are "
    "still misclassified, so that these are not the errors of interpolating networks; larger "
    "scales need smaller steps, which 40 epochs are too few for. (b) Cosine distance of tangent "
    "features and kernels between start and end (8 test images; gradients of each of the ten "
    "outputs, averaged). Runs that were stopped at 40 epochs are at different stages, so that a "
    "line across them is no transition: only α = 0.7 and 1 interpolate, both in the rich "
    "regime." + HOW,
    VGG_GRIDS,
    vgg,
    summarise_vgg,
    draw_vgg,
    (Reported(CIFAR_READOUT, Reading.printed("50.38"), "Appendix E", incomparable=FEW_EPOCHS),),
    alt=(
        "Test errors on CIFAR-10: 23 and 24% where the training error is zero, at α = 0.7 and 1; "
        "40 to 64% for larger α, where training errors are left. The output layer alone errs on "
        "half of the images. Right: cosine distances of gradients near one, of kernels without a "
        "clear trend."
    ),
)

fig6 = Experiment(
    "W/fig6",
    "Training curves of the VGG11-like network on CIFAR-10: training error, training loss and test "
    "error, for every scale α and step size that did not diverge. 40 epochs at most, where the "
    "paper had 2000 at step 1e-4. W's figure shows how smaller α is harder to optimise; that is "
    "not seen here: α = 0.7, the smallest, is still too large for it, and the slow curves are "
    "those of large α, whose stable steps are small." + HOW,
    VGG_GRIDS,
    vgg,
    summarise_vgg,
    draw_curves,
    alt=(
        "Training error, training loss and test error against epochs. Two scales, 0.7 and 1, with "
        "large steps reach zero training error within 25 epochs; all others, at larger scales or "
        "with small steps, fall slowly and end at 10 to 60% training error after 40 epochs."
    ),
)
