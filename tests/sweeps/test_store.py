import errno
import functools
import os

import numpy as np
import pytest
import xarray
from hypothesis import given, strategies as st

from biasflow.errors import BiasflowError, InputError
from biasflow.sweeps import Store, StoreError, default_store, files, shards, store as store_module
from biasflow.sweeps.blocks import stacked
from biasflow.sweeps.encoding import decode, encode, read_trailer


def point(scale: float) -> xarray.Dataset:
    return xarray.Dataset({"twice": 2 * scale})


def put(store: Store, *points: xarray.Dataset) -> str:
    """One shard that holds these points; its name."""
    (stack,) = stacked(list(enumerate(points)))
    keys = [f"key{row}" for row in range(len(points))]
    settings = [{"scale": row} for row in range(len(points))]
    return store.shelf(point).put(
        "chunk", keys, settings, shards.shard_bytes(keys, settings, "cpu", stack)
    )


def rich_dataset() -> xarray.Dataset:
    return xarray.Dataset(
        {
            "loss": ("t", [1.0, np.nan, -np.inf]),
            "mask": ("t", [True, False, True]),
            "label": ("t", ["rich", "κernel", ""]),
            "count": ("t", np.array([1, -(2**53), 2**53])),
            "small": ("t", np.array([0.1, 1, 2], dtype=np.float32), {"unit": "none"}),
            "empty": ("nothing", np.zeros(0)),
            "one": 1.5,
            "word": "hello",
        },
        coords={"t": [0, 1, 2], "name": ("t", ["a", "bb", "ccc"])},
        attrs={
            "number": 0.1,
            "text": "é",
            "flag": True,
            "none": None,
            "list": [1, 2.5],
            "inf": np.inf,
        },
    )


def test_round_trip_keeps_values_types_order_and_attributes():
    dataset = rich_dataset()
    data = encode(dataset, {"keys": ["é"]})
    back = decode(data)
    xarray.testing.assert_identical(back, dataset)
    assert list(back.variables) == list(dataset.variables)
    assert {name: v.dtype.kind for name, v in back.variables.items()} == {
        name: v.dtype.kind for name, v in dataset.variables.items()
    }
    assert back.small.dtype == np.float32 and back["count"].dtype == np.int64
    assert read_trailer(data) == {"keys": ["é"]}


def test_a_shard_is_netcdf_that_other_tools_open(tmp_path):
    name = put(Store(tmp_path), point(1.0), point(2.0))
    with xarray.open_dataset(Store(tmp_path).shelf(point).folder / name, engine="scipy") as raw:
        assert raw.twice.values.tolist() == [2.0, 4.0]


def test_points_of_different_shapes_go_to_different_stacks():
    ragged = [
        (k, xarray.Dataset({"v": ("t", np.zeros(k % 2 + 1))}, attrs={"k": k})) for k in range(4)
    ]
    assert [stack.rows for stack in stacked(ragged)] == [(0, 2), (1, 3)]
    assert [stack.attrs for stack in stacked(ragged)] == [
        ({"k": 0}, {"k": 2}),
        ({"k": 1}, {"k": 3}),
    ]


@given(st.lists(st.floats(), min_size=1, max_size=8))
def test_floats_come_back_bit_for_bit(values):
    array = np.array(values)
    assert decode(encode(xarray.Dataset({"v": ("x", array)}))).v.values.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "values, word",
    [
        (np.array([1j]), "complex128"),
        (np.array([2**60]), "2\\^53"),
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), "datetime64"),
        (np.array([object()]), "object"),
    ],
)
def test_what_cannot_come_back_is_refused(values, word):
    with pytest.raises(InputError, match=f"'v'.*{word}"):
        encode(xarray.Dataset({"v": ("x", values)}))


def test_names_beyond_ascii_and_odd_attributes_are_refused():
    with pytest.raises(InputError, match="'β'"):
        encode(xarray.Dataset({"β": 1.0}))
    with pytest.raises(InputError, match=r"attrs.*set"):
        encode(xarray.Dataset(attrs={"odd": {1, 2}}))


def test_the_key_depends_on_function_setting_and_code(tmp_path, monkeypatch):
    store = Store(tmp_path)
    key = store.key(point, {"scale": 0.1, "n": 3})
    assert key == store.key(point, {"n": np.int64(3), "scale": np.float64(0.1)})
    assert key != store.key(point, {"scale": 0.1, "n": 4})
    assert key != store.key(rich_dataset, {"scale": 0.1, "n": 3})
    monkeypatch.setattr(store_module, "function_version", lambda function: "other")
    assert key != store.key(point, {"scale": 0.1, "n": 3})


def test_a_function_outside_the_package_is_keyed_by_its_source_too(tmp_path, monkeypatch):
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    source = tmp_path / "outside_points.py"
    source.write_text("def f(x):\n    return x\n")
    module = importlib.import_module("outside_points")
    before = Store(tmp_path).key(module.f, {"x": 1})
    source.write_text("def f(x):\n    return x + 100\n")
    # the old code would be stored under the new name
    with pytest.raises(InputError, match="changed since it was imported"):
        Store(tmp_path).key(module.f, {"x": 1})
    importlib.invalidate_caches()
    assert Store(tmp_path).key(importlib.reload(module).f, {"x": 1}) != before


class Machine:
    def __init__(self, factor):
        self.factor = factor

    def run(self, x):
        return self.factor * x


def test_what_a_name_does_not_pin_down_is_refused(tmp_path):
    """Two bound methods, or two wrapped closures, share a name and would share results."""

    def times(factor):
        @functools.wraps(Machine)
        def product(x):
            return factor * x

        return product

    for function in (Machine(2).run, times(3)):
        with pytest.raises(InputError, match="top of a module"):
            Store(tmp_path).key(function, {"x": 1})


def test_functions_and_settings_without_a_name_are_refused(tmp_path):
    with pytest.raises(InputError, match="top of a module"):
        Store(tmp_path).key(lambda x: x, {})
    with pytest.raises(InputError, match=r"setting.*object"):
        Store(tmp_path).key(point, {"scale": object()})


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_shard_is_set_aside_and_counts_as_missing(tmp_path, damage):
    store = Store(tmp_path)
    name = put(store, rich_dataset())
    (path,) = tmp_path.rglob(name)
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
    path.write_bytes({"truncate": data[:-5], "flip": data, "empty": b""}[damage])
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert store.shelf(point).read(name) is None
    assert path.with_suffix(".damaged").exists() and not path.exists()
    put(store, rich_dataset())
    assert store.shelf(point).read(name) is not None


def test_the_index_is_what_the_files_say(tmp_path):
    store = Store(tmp_path)
    name = put(store, point(1.0), point(2.0))
    index = shards.Index(store.shelf(point))
    index.refresh()
    assert index.where == {"key0": name, "key1": name} and index.devices == {"cpu"}
    (store.shelf(point).folder / name).unlink()
    index.refresh()
    assert index.where == {}


def test_records_round_trip_and_damage_is_noticed(tmp_path):
    store = Store(tmp_path)
    address = {
        "kind": "verdict",
        "roots": ("biasflow.theory.judgement",),
        "claim": "W/thm1",
        "key": 0,
    }
    assert store.read_record(**address) is None and not list(tmp_path.iterdir())
    store.write_record(
        {"measured": np.float64(0.1), "bound": float("inf"), "failures": [None, "é"]}, **address
    )
    assert store.read_record(**address) == {
        "measured": 0.1,
        "bound": float("inf"),
        "failures": [None, "é"],
    }
    assert store.read_record(**{**address, "key": 1}) is None
    (path,) = tmp_path.rglob("records/*.json")
    path.write_text("{")
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert store.read_record(**address) is None


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path, monkeypatch):
    files.write_whole(tmp_path / "k", b"old")

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match=r"No space left on device.*BIASFLOW_CACHE"):
            files.write_whole(tmp_path / "k", b"new")
    assert (tmp_path / "k").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["k"]


def test_an_interrupt_while_writing_leaves_nothing_half_written(tmp_path, monkeypatch):
    def interrupt(*names):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.write_whole(tmp_path / "k", b"new")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_a_clear_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"cannot write to .*file"):
        Store(tmp_path / "file").shelf(point)

    def read_only(*args, **options):
        raise PermissionError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.tempfile, "mkstemp", read_only)
    with pytest.raises(BiasflowError, match="Read-only file system"):
        Store(tmp_path).shelf(point)


def test_the_default_store_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BIASFLOW_CACHE", raising=False)
    assert default_store().folder.absolute() == tmp_path / ".biasflow"
    monkeypatch.setenv("BIASFLOW_CACHE", str(tmp_path / "elsewhere"))
    assert default_store().folder == tmp_path / "elsewhere"
