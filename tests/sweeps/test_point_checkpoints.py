"""Points that keep how far they are, and say in which precision they computed."""

import numpy as np
import pytest
import xarray

from biasflow.sweeps import Grid, Store, sweep
from biasflow.sweeps.checkpoints import current_checkpoint

STOPPED = {"at": None}


def counting(start: int) -> xarray.Dataset:
    """Counts to ten, keeping where it is; stops once on the way."""
    kept = current_checkpoint()
    saved = kept.load({"start": start}) if kept is not None else None
    count, begun = (saved.state["count"], saved.state["begun"]) if saved else (start, 0)
    begun += 1
    while count < 10:
        count += 1
        if kept is not None:
            kept.save(
                {"count": np.array(count)}, {"count": count, "begun": begun}, {"start": start}
            )
        if count == STOPPED["at"]:
            raise RuntimeError("stopped on the way")
    used = "float32" if start else "tensorfloat32"
    return xarray.Dataset({"count": count, "begun": begun}, attrs={"dtype": used})


def test_a_point_goes_on_and_its_checkpoint_goes_when_it_is_stored(tmp_path, monkeypatch):
    store, grid = Store(tmp_path), Grid({"start": (0, 7)})
    monkeypatch.setitem(STOPPED, "at", 5)
    with pytest.warns(RuntimeWarning, match="1 of 2 points failed"):
        sweep(counting, grid, store=store)
    assert len(list(tmp_path.rglob("checkpoint.json"))) == 1
    monkeypatch.setitem(STOPPED, "at", None)
    data = sweep(counting, grid, store=store, retry_failed=True)
    assert data["count"].values.tolist() == [10, 10] and data["begun"].values.tolist() == [2, 1]
    assert not list(tmp_path.rglob("checkpoint.json"))
    assert data.attrs["dtype"] == "float32; tensorfloat32"


def test_without_a_store_nothing_is_kept():
    assert current_checkpoint() is None
    assert sweep(counting, Grid({"start": (7,)}))["begun"].values.tolist() == [1]
