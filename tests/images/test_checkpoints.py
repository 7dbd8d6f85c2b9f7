"""Trainings that were killed go on to the same numbers; checkpoints of something else are refused;
a full disk costs a checkpoint and nothing else."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import biasflow as bf
from biasflow.images.classifier_training import Arrays, EpochSchedule, Run, train_classifiers
from biasflow.images.classifiers import WideNetwork
from biasflow.sweeps import checkpoints as checkpoint_module, files
from biasflow.sweeps.checkpoints import Checkpoint, CheckpointError

NETWORK = WideNetwork(12, 6)
RUNS = [Run(1.0, 0.3, 0), Run(5.0, 0.05, 1, unbiased=True), Run(1.0, 1e30, 2), Run(0.5, 0.2, 3)]
SCHEDULE = EpochSchedule(8, 24, 2, loss=1e-9, lanes=2)


def made(key=0, n=40):
    rng = np.random.default_rng(key)
    y = rng.integers(3, size=2 * n)
    x = (rng.normal(size=(3, 6))[y] + 0.3 * rng.normal(size=(2 * n, 6))).astype(np.float32)
    return Arrays(x[:n], y[:n], x[n:], y[n:])


def places(folder, every_s=0.0):
    return [Checkpoint(folder / f"{k}", every_s) for k in range(len(RUNS))]


def train(folder, network=NETWORK, arrays=None, schedule=SCHEDULE):
    kept = places(folder) if folder is not None else None
    return train_classifiers(network, arrays or made(), RUNS, schedule, checkpoints=kept)


def same(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert one.result == other.result
        assert np.array_equal(one.history, other.history, equal_nan=True)
        assert np.array_equal(one.params.hidden[0], other.params.hidden[0], equal_nan=True)
        assert np.array_equal(one.params.output, other.params.output, equal_nan=True)


@pytest.fixture(scope="module")
def uninterrupted():
    return train(None)


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import test_checkpoints as here
here.train(Path({folder!r}))
print("ended", flush=True)
"""


def test_a_killed_training_goes_on_to_the_same_numbers(tmp_path, uninterrupted):
    """Killed by the system while it writes a checkpoint at every tick; bit for bit."""
    script = DRIVER.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        until = time.monotonic() + 240
        record = tmp_path / "1" / "checkpoint.json"
        while not (
            record.exists() and json.loads(record.read_bytes())["content"]["state"]["epoch"]
        ):
            assert child.poll() is None and time.monotonic() < until
            time.sleep(0.002)
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.kill()
        out, _ = child.communicate()
    assert b"ended" not in out
    epoch = json.loads(record.read_bytes())["content"]["state"]["epoch"]
    assert 0 < epoch < SCHEDULE.epochs
    same(train(tmp_path), uninterrupted)


def test_a_diverging_step_ends_alone(uninterrupted):
    ended = [one.result.name for one in uninterrupted]
    assert ended == ["STEP_LIMIT", "STEP_LIMIT", "DIVERGED", "STEP_LIMIT"]


def saved(tmp_path):
    """Checkpoints of trainings that stopped half way."""
    from biasflow.images.classifier_training import Clock, trained_in_turn

    clock = Clock(until=time.monotonic() - 1)
    assert not list(trained_in_turn(NETWORK, made(), RUNS, SCHEDULE, None, places(tmp_path), clock))
    assert (tmp_path / "0" / "checkpoint.json").exists()


@pytest.mark.parametrize(
    "change, word",
    [
        ({"network": WideNetwork(13, 6)}, "network"),
        ({"arrays": made(key=1)}, "data set"),
        ({"schedule": EpochSchedule(10, 24, 2, lanes=2)}, "schedule"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(tmp_path, change, word):
    saved(tmp_path)
    with pytest.raises(CheckpointError, match=f"of another {word}: .* delete this one to begin"):
        train(tmp_path, **change)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    saved(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint_module, "FORMAT", 2)
        with pytest.raises(CheckpointError, match="of another format: 1, where 2"):
            train(tmp_path)
    monkeypatch.setattr("biasflow.images.classifier_training.NUMBERS", 0)
    with pytest.raises(CheckpointError, match="of another version"):
        train(tmp_path)


@pytest.mark.parametrize("what", ["part", "record", "missing"])
def test_a_damaged_checkpoint_is_told_of_and_begun_anew(tmp_path, what, uninterrupted):
    saved(tmp_path)
    folder = tmp_path / "0"
    part = next(folder.glob("*.npy"))
    damaged = folder / "checkpoint.json" if what == "record" else part
    if what == "missing":
        part.unlink()
    else:
        damaged.write_bytes(damaged.read_bytes()[:-7])
    with pytest.warns(RuntimeWarning, match="damaged"):
        same(train(tmp_path), uninterrupted)


def test_a_full_disk_costs_the_checkpoint_and_nothing_else(tmp_path, monkeypatch, uninterrupted):
    """What was saved before stays whole, the training goes on, and nothing is left half written."""
    saved(tmp_path)
    before = (tmp_path / "0" / "checkpoint.json").read_bytes()
    real, written = files._write, []

    def full(path, data, prefix):
        written.append(path)
        if len(written) % 2 == 0:  # the first part of a save fits, the second does not
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path, data, prefix)

    monkeypatch.setattr(files, "_write", full)
    with pytest.warns(RuntimeWarning, match="not written, .* goes on .*No space left"):
        same(train(tmp_path), uninterrupted)
    assert (tmp_path / "0" / "checkpoint.json").read_bytes() == before
    monkeypatch.undo()
    names = {part for held in json.loads(before)["content"]["arrays"] for part, _ in held["parts"]}
    assert {path.name for path in (tmp_path / "0").iterdir()} == {*names, "checkpoint.json"}
    same(train(tmp_path), uninterrupted)


def test_arrays_come_back_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_module, "MOST_PART_BYTES", 512)
    rng = np.random.default_rng(0)
    arrays = {
        "a": rng.normal(size=(31, 7)).astype(np.float32),
        "b": np.arange(5),
        "none": np.zeros((0, 3)),
        "one": np.float64(2.5),
    }
    kept = Checkpoint(tmp_path / "here")
    for _ in range(2):  # the second replaces the first
        kept.save(arrays, {"epoch": 3}, {"run": 1})
    found = kept.load({"run": 1})
    assert found.state == {"epoch": 3} and set(found.arrays) == set(arrays)
    for name, array in arrays.items():
        assert np.array_equal(found.arrays[name], array)
        assert found.arrays[name].dtype == array.dtype
    assert all(path.stat().st_size <= 512 for path in kept.folder.glob("*.npy"))
    assert len(list(kept.folder.glob("*.npy"))) == 6
    kept.forget()
    assert kept.load({"run": 1}) is None and not kept.folder.exists()


def test_nothing_is_unpickled(tmp_path):
    """A part that holds an object is refused, whatever its checksum."""
    import hashlib
    import io

    from biasflow.sweeps.encoding import sealed_json, unsealed_json

    kept = Checkpoint(tmp_path)
    kept.save({"a": np.zeros(3)}, {}, {})
    (part,) = tmp_path.glob("*.npy")
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"an": "object"}], dtype=object), allow_pickle=True)
    part.write_bytes(buffer.getvalue())
    record = unsealed_json((tmp_path / "checkpoint.json").read_bytes())
    record["arrays"][0]["parts"] = [[part.name, hashlib.sha256(part.read_bytes()).hexdigest()]]
    (tmp_path / "checkpoint.json").write_bytes(sealed_json("checkpoint", record))
    with pytest.warns(RuntimeWarning, match="damaged"):
        assert kept.load({}) is None


def test_errors_are_ours():
    assert issubclass(CheckpointError, bf.errors.BiasflowError)
