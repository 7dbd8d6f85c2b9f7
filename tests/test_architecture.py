"""docs/architecture.md shows the house as it is."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "biasflow"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)


def test_every_room_has_its_line():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    files = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert set(ROOMS) == folders | files and len(ROOMS) == len(set(ROOMS))


def test_rooms_stand_in_the_order_that_imports_may_take():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ][0]
    layers = [set(re.findall(r"\w+", layer)) for layer in reversed(contract["layers"])]
    height = {room: level for level, layer in enumerate(layers) for room in layer}
    heights = [height[room] for room in ROOMS]
    assert heights == sorted(heights)


def test_what_the_page_names_exists():
    for name in re.findall(rf"`((?:{'|'.join(ROOMS)})/\w+)`", PAGE):
        assert (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file(), name


def test_no_two_files_have_one_name():
    names = [path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__")]
    assert sorted(names) == sorted(set(names))
