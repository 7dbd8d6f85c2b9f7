import importlib
import multiprocessing
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
import xarray

from biasflow.errors import InputError
from biasflow.sweeps import Store, engines, resumable as sweeping, sweep
from biasflow.sweeps.grids import Grid

calls: list[tuple] = []
GRID = Grid({"scale": (1.0, 2.5, 0.5), "kind": ("rich", "kernel")}, {"n": 4})


def point(scale: float, kind: str, n: int) -> xarray.Dataset:
    calls.append((scale, kind))
    return xarray.Dataset(
        {
            "path": ("t", scale * np.arange(float(n))),
            "kind_length": len(kind),
            "good": scale > 0.7,
            "tag": kind.upper(),
        },
        coords={"t": np.arange(n)},
        attrs={"unit": "none", "scale": scale},
    )


def bare(**setting) -> xarray.Dataset:
    return xarray.Dataset({"v": 1.0})


@pytest.fixture(autouse=True)
def forget_calls():
    calls.clear()


def test_axes_come_first_in_order_with_their_coordinates():
    result = sweep(point, GRID)
    assert result.path.dims == ("scale", "kind", "t") and result.kind_length.dims == (
        "scale",
        "kind",
    )
    assert result.scale.values.tolist() == [1.0, 2.5, 0.5] and result.kind.values.tolist() == [
        "rich",
        "kernel",
    ]
    assert result.t.dims == ("t",)
    assert calls == [(scale, kind) for scale in (1.0, 2.5, 0.5) for kind in ("rich", "kernel")]
    np.testing.assert_array_equal(result.path.sel(scale=2.5, kind="kernel"), 2.5 * np.arange(4.0))
    assert (
        result.good.dtype == bool and str(result.tag.sel(scale=0.5, kind="rich").values) == "RICH"
    )


def test_attributes_say_where_the_result_comes_from():
    attrs = sweep(point, GRID).attrs
    assert attrs["numpy_version"] == np.__version__
    assert {"biasflow_version", "code_version", "python_version", "scipy_version"} <= set(attrs)
    assert attrs["settings"] == '{"n":4}' and attrs["dtype"] == "float64"
    assert attrs["unit"] == "none" and "scale" not in attrs


def test_a_float32_result_does_not_claim_to_be_float64():
    single = sweep(lambda: xarray.Dataset({"v": np.float32(1)}), Grid())
    assert single.attrs["dtype"] == "float32"


def test_no_axes_give_the_dataset_of_the_point():
    result = sweep(point, Grid(settings={"scale": 2.0, "kind": "rich", "n": 3}))
    xarray.testing.assert_equal(result, point(2.0, "rich", 3))
    assert "code_version" in result.attrs


def test_a_sweep_resumes_where_it_stopped(tmp_path):
    store = Store(tmp_path)

    def interrupt(done, total, label):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(point, GRID, store=store, progress=interrupt)
    assert len(calls) == 2
    resumed = sweep(point, GRID, store=store)
    assert len(calls) == 6
    again = sweep(point, GRID, store=store)
    assert len(calls) == 6
    for result in (resumed, again):
        xarray.testing.assert_identical(result, sweep(point, GRID))


def test_a_larger_grid_reuses_the_points_of_a_smaller_one(tmp_path):
    sweep(point, GRID, store=Store(tmp_path))
    calls.clear()
    sweep(
        point,
        Grid({"kind": ("kernel", "rich"), "scale": (1.0, 3.0)}, {"n": 4}),
        store=Store(tmp_path),
    )
    assert calls == [(3.0, "kernel"), (3.0, "rich")]


def test_progress_counts_up_to_the_number_of_points(tmp_path):
    told = []
    sweep(
        point,
        GRID,
        store=Store(tmp_path),
        progress=lambda done, total, label: told.append((done, total, label)),
    )
    assert told == [(done, 6, "point") for done in range(7)]


@pytest.mark.parametrize("most_chunks", [1000, 2])
def test_threads_give_what_the_serial_sweep_gives(tmp_path, monkeypatch, most_chunks):
    monkeypatch.setattr(sweeping, "MOST_CHUNKS", most_chunks)
    with ThreadPoolExecutor(3) as executor:
        parallel = sweep(point, GRID, executor, Store(tmp_path))
    assert len(calls) == 6
    xarray.testing.assert_identical(parallel, sweep(point, GRID))


def test_spawned_processes_give_what_the_serial_sweep_gives(tmp_path, monkeypatch):
    (tmp_path / "spawned_points.py").write_text(
        "import xarray\n\ndef square(x):\n    return xarray.Dataset({'square': x * x, 'half': x / "
        "2})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    square = importlib.import_module("spawned_points").square
    grid = Grid({"x": (3.0, 1.0, 2.0)})
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        parallel = sweep(square, grid, executor)
    xarray.testing.assert_identical(parallel, sweep(square, grid))


class Recorder(Executor):
    """Runs nothing but the first task, at once."""

    def __init__(self):
        self.futures, self.sizes = [], []

    def submit(self, function, /, *args, **kwargs):
        future = Future()
        if not self.futures:
            future.set_result(function(*args, **kwargs))
        self.futures.append(future)
        self.sizes.append(len(args[-1].settings))
        return future


def test_an_interrupt_cancels_what_is_pending_and_keeps_what_is_done(tmp_path):
    executor, store = Recorder(), Store(tmp_path)

    def interrupt(done, total, label):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(point, GRID, executor, store, interrupt)
    assert [future.cancelled() for future in executor.futures] == [False] + 5 * [True]
    calls.clear()
    sweep(point, GRID, store=store)
    assert calls == [(scale, kind) for scale in (1.0, 2.5, 0.5) for kind in ("rich", "kernel")][1:]


def test_large_grids_travel_in_chunks():
    executor = Recorder()

    def stop(done, total, label):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(bare, Grid({"x": tuple(range(2500))}), executor, progress=stop)
    assert set(executor.sizes) == {3}
    assert len(executor.sizes) <= engines.CHUNKS_IN_FLIGHT + 1, (
        "an executor holds a bounded number of chunks"
    )


def test_an_error_names_its_point():
    def fails(x):
        raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError) as caught:
        sweep(fails, Grid({"x": (1, 2)}))
    assert caught.value.__notes__ == ["at the point {'x': 1}"]


@pytest.mark.parametrize(
    "grid, word",
    [
        (Grid({"x": ()}), "no values"),
        (Grid({"x": (1, "a")}), "all numbers or all strings"),
        (Grid({"x": ((1, 2),)}), "all numbers or all strings"),
        (Grid({"x": (1,)}, {"x": 2}), "both an axis and a setting"),
        (Grid({"x": (1, 2, 1)}), "twice"),
        (Grid({"v": (1, 2)}), "'v' is an axis"),
    ],
)
def test_grids_that_make_no_coordinates_are_refused(grid, word):
    with pytest.raises(InputError, match=word):
        sweep(bare, grid)


def ragged(x):
    return xarray.Dataset({"v": ("t", np.zeros(x))})


def drifting(x):
    return xarray.Dataset({"v": ("t", np.zeros(2))}, coords={"t": [0.0, float(x)]})


def changing(x):
    return xarray.Dataset({f"v{x}": 1.0})


@pytest.mark.parametrize(
    "function, word",
    [(ragged, "'v' has dim"), (drifting, "coordinate 't' differs"), (changing, "variables are")],
)
def test_points_that_do_not_fit_together_are_refused(function, word):
    with pytest.raises(InputError, match=word):
        sweep(function, Grid({"x": (1, 2)}))


def product(a: float, b: float) -> float:
    return a * b


def several(a: float) -> dict[str, object]:
    return {"square": a**2, "powers": a ** np.arange(3.0), "word": "odd"}


def test_a_number_is_a_result():
    found = sweep(product, {"a": (2, 3), "b": np.array([0.5, 4.0])})
    np.testing.assert_array_equal(found.value, [[1.0, 8.0], [1.5, 12.0]])
    assert found.value.dims == ("a", "b")


def test_numbers_and_arrays_by_name_are_results(tmp_path):
    found = sweep(several, {"a": (2.0, 3.0)}, store=Store(tmp_path))
    np.testing.assert_array_equal(found.square, [4.0, 9.0])
    np.testing.assert_array_equal(found.powers, [[1.0, 2.0, 4.0], [1.0, 3.0, 9.0]])
    assert found.powers.dims == ("a", "powers_0") and list(found.word.values) == ["odd", "odd"]
    xarray.testing.assert_identical(sweep(several, {"a": (2.0, 3.0)}, store=Store(tmp_path)), found)


def objects(a: float) -> dict[str, object]:
    return {"thing": object()}


def listed(a: float) -> list[float]:
    return [a]


@pytest.mark.parametrize("function", [objects, listed])
def test_what_holds_no_numbers_is_refused(function):
    with pytest.raises(InputError, match=r"expected numbers in 'thing'|a dictionary of numbers"):
        sweep(function, {"a": (1.0,)})


def test_a_function_that_returns_something_else_is_refused():
    with pytest.raises(InputError, match=r"xarray\.Dataset at .* found str"):
        sweep(str, Grid({}, {}))


def test_astronomical_axes_are_refused_at_once():
    with pytest.raises(InputError, match="more than the limit"):
        sweep(abs, Grid({"x": range(10**12)}))


def test_nan_is_no_axis_value():
    with pytest.raises(InputError, match="NaN"):
        sweep(abs, Grid({"x": (float("nan"), float("nan"))}))


def test_numpy_scalars_name_points_as_plain_numbers():

    assert type(Grid({"x": (np.float32(0.1),)}).point(0)["x"]) is float
