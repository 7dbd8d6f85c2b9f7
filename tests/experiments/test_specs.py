"""Sweeps described in TOML: what they may name, and what is said of what they may not."""

import inspect

import numpy as np
import pytest

import biasflow as bf
from biasflow._core.former_names import FORMER_NAMES
from biasflow.errors import InputError, UnknownNameError
from biasflow.experiments import experiment
from biasflow.experiments.library import LIBRARY
from biasflow.experiments.specs import parse_spec, read_spec
from biasflow.sweeps import sweep

LIMIT = {
    "function": "limit",
    "axes": {"scale": [0.1, 1.0], "seed": [0]},
    "settings": {"n": 8, "d": 20, "sparsity": 2},
}


def test_a_figure_with_a_preset_is_its_grid():
    spec = parse_spec({"function": "W/fig2", "preset": "quick"})
    assert (
        spec.point is experiment("W/fig2").point
        and spec.grid == experiment("W/fig2").grids["quick"]
    )


@pytest.mark.parametrize("name", bf.figures())
def test_every_figure_works_by_name_with_its_presets(name):
    for preset, grid in experiment(name).grids.items():
        spec = parse_spec({"function": name, "preset": preset})
        assert spec.point is experiment(name).point and spec.grid == grid


def test_shipped_results_come_out_of_a_spec():
    spec = parse_spec({"function": "W/fig4f", "preset": "quick"})
    assert "test_error" in sweep(spec.point, spec.grid)
    spec = parse_spec({"function": "W/fig4f", "settings": {"shipped_in": "fig4f-3.nc"}})
    assert "test_error" in sweep(spec.point, spec.grid)


@pytest.mark.parametrize("name", ["W/fig4e", "W/fig4f", "W/fig6", "W/scales"])
@pytest.mark.parametrize(
    "place", ["/dev/zero", "../__init__.py", "sub/fig4f-3.nc", ["fig4f-3.nc"], 3]
)
def test_a_spec_reads_nothing_but_what_travels_with_the_package(tmp_path, name, place):
    """The name of a file of results was joined to a folder: '/any/path.nc' left it."""
    spec = parse_spec({"function": name, "preset": "quick", "settings": {"shipped_in": place}})
    with pytest.raises(InputError, match="shipped_in: expected one of"):
        sweep(spec.point, spec.grid)


def test_a_file_of_the_users_is_not_read_for_a_spec(tmp_path):
    import xarray

    (tmp_path / "secret.nc").write_bytes(
        bytes(xarray.Dataset({"v": 1.0}).to_netcdf(None, engine="scipy"))
    )
    spec = parse_spec(
        {"function": "W/fig4f", "settings": {"shipped_in": str(tmp_path / "secret.nc")}}
    )
    with pytest.raises(InputError, match="shipped_in: expected one of"):
        sweep(spec.point, spec.grid)


def test_settings_that_shipped_results_do_not_heed_are_refused():
    spec = parse_spec({"function": "W/fig4f", "preset": "quick", "settings": {"epochs": 3}})
    with pytest.raises(InputError, match="epochs: has no effect on shipped results"):
        sweep(spec.point, spec.grid)


def test_what_is_given_replaces_the_preset():
    spec = parse_spec(
        {"function": "W/fig2", "preset": "quick", "axes": {"d": [50, 60]}, "settings": {"seed": 1}}
    )
    assert spec.grid.axes == {"depth": (2, 3, 5, 10), "n": (50, 60, 70, 80, 120), "d": (50, 60)}
    assert spec.grid.settings == {"sparsity": 5, "noise_var": 0.01, "seed": 1}


def test_axes_can_be_counted(tmp_path):
    (tmp_path / "spec.toml").write_text(
        'function = "limit"\nchunk = 7\n[axes]\nscale = { geomspace = [1e-2, 1.0, 3] }\nseed = { '
        "range = [0, 6, 2] }\n"
        "noise_var = { linspace = [0.0, 1.0, 3] }\n[settings]\nn = 8\nd = 20\n[units]\nscale = "
        '"1"\n[slurm]\nqueue = "short"\n'
    )
    spec = read_spec(tmp_path / "spec.toml")
    assert spec.grid.axes["scale"] == pytest.approx((0.01, 0.1, 1.0)) and tuple(
        spec.grid.axes["seed"]
    ) == (0, 2, 4)
    assert spec.grid.axes["noise_var"] == (0.0, 0.5, 1.0) and spec.grid.units == {"scale": "1"}
    assert spec.chunk == 7 and spec.slurm == {"queue": "short"}


@pytest.mark.parametrize(
    "changes, error, word",
    [
        ({"function": "limt"}, UnknownNameError, "did you mean limit"),
        ({"function": "W/fig11"}, UnknownNameError, "W/fig1"),
        ({"function": "os.system"}, UnknownNameError, "no figure or function"),
        ({"function": "Hypentropy"}, UnknownNameError, "no figure or function"),
        ({"function": 3}, InputError, "found 3"),
        ({"axes": {"scal": [1.0]}}, UnknownNameError, "did you mean scale"),
        ({"settings": {"sparsit": 1}}, UnknownNameError, "did you mean sparsity"),
        ({"axis": {}}, UnknownNameError, "did you mean axes"),
        ({"preset": "quick"}, InputError, "only figures have presets"),
        (
            {"function": "W/fig1", "preset": "quik", "axes": {}, "settings": {}},
            UnknownNameError,
            "quick",
        ),
        (
            {"function": "W/fig1", "axes": {}, "settings": {}},
            InputError,
            "needs n, seed, d.*preset",
        ),
        ({"settings": {"n": 8}}, InputError, "limit needs d"),
        (
            {"function": "W/fig1", "preset": ["quick"], "axes": {}, "settings": {}},
            UnknownNameError,
            "preset",
        ),
        (
            {"function": "W/fig4f", "axes": {}, "settings": {}},
            InputError,
            "W/fig4f needs shipped_in",
        ),
        (
            {"function": "W/fig4f", "axes": {}, "settings": {"setting": 1}},
            UnknownNameError,
            "axis or setting of W/fig4f",
        ),
        (
            {"function": "C/fig2", "axes": {"seed": [0]}, "settings": {}},
            InputError,
            "C/fig2 needs curve, preset, n",
        ),
        ({"axes": {"scale": 1.0}}, InputError, "expected a list"),
        ({"axes": {"scale": {"logspace": [0, 1, 2]}}}, UnknownNameError, "geomspace"),
        ({"axes": {"scale": {"geomspace": [0.0, 1.0, 2]}}}, InputError, "geomspace"),
        ({"axes": {"scale": {"range": [0, 1, 0]}}}, InputError, "range"),
        ({"axes": []}, InputError, "expected a table"),
        ({"chunk": 0}, InputError, "chunk"),
        ({"axes": {"scale": [1.0], "n": [5]}}, InputError, "both an axis and a setting"),
    ],
)
def test_mistakes_are_named(changes, error, word):
    with pytest.raises(error, match=word):
        parse_spec({**LIMIT, **changes})


def test_files_that_are_no_specs(tmp_path):
    with pytest.raises(InputError, match="no file"):
        read_spec(tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("function = ")
    with pytest.raises(InputError, match="cannot read"):
        read_spec(tmp_path / "bad.toml")


def test_values_that_are_no_plain_data_are_refused():
    import datetime

    spec = parse_spec(
        {**LIMIT, "settings": {**LIMIT["settings"], "noise_var": datetime.date(2020, 1, 1)}}
    )
    with pytest.raises(InputError, match="found date"):
        sweep(spec.point, spec.grid)


EXTRA = {"stepsize": 1e-3, "steps": 10}


@pytest.mark.parametrize("name", sorted(set(LIBRARY) - {"margin_ascent"}))
def test_every_adapter_gives_what_the_public_function_gives(name):
    room = next((room for room, names in FORMER_NAMES.items() if name in names), None)
    public = getattr(bf if room is None else getattr(bf, room), name)
    assert callable(public)
    given = {"n": 8, "d": 20, "seed": 1, "scale": 0.5, "sparsity": 2, **EXTRA}
    point = LIBRARY[name](
        **{
            key: value
            for key, value in given.items()
            if key in inspect.signature(LIBRARY[name]).parameters
        }
    )
    data, model, loss = (
        bf.data.sparse_regression(8, 20, 2, 0.01, key=1),
        bf.DiagonalNetwork(2),
        bf.SquareLoss("half"),
    )
    start = model.init(0.5, dim=20)
    expected = {
        "limit": lambda: bf.limit(model, data, scale=0.5).value,
        "min_l1": lambda: bf.limits.min_l1(data.X, data.y).value,
        "min_l2": lambda: bf.limits.min_l2(data.X, data.y).value,
        "gradient_flow": lambda: model.effective(bf.gradient_flow(model, data, loss, start).final),
        "gradient_descent": lambda: model.effective(
            bf.training.gradient_descent(model, data, loss, start, 1e-3, 10, key=1).final
        ),
        "saddle_path": lambda: bf.saddle_path(data.X, data.y).final,
    }[name]()
    np.testing.assert_array_equal(point.beta.values, expected)


@pytest.mark.parametrize(("preset", "columns"), [("paper", 4), ("code", 3)])
def test_the_adapter_of_margin_ascent_gives_what_the_function_gives(preset, columns):
    point = LIBRARY["margin_ascent"](n=12, d=3, m=6, seed=2, steps=30, k=2, preset=preset)
    ds = bf.data.with_bias(bf.data.clusters(12, 3, 2, key=2, preset=preset))
    assert ds.d == columns
    run = bf.training.margin_ascent(ds, bf.TwoLayer(6, columns).init(1 / np.sqrt(6), key=2), 30)
    assert float(point.best_margin) == run.stats["best_margin"][-1]
    assert 0 <= float(point.test_error) <= 1
