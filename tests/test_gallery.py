import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "gallery"
sys.path[:0] = [str(ROOT / "docs" / "_extensions")]

import gallery_scripts  # noqa: E402

SCRIPTS = sorted(path for path in GALLERY.glob("*.py") if path.stem != "pictures")
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_a_picture(script, tmp_path):
    needed = gallery_scripts.missing_framework(script.read_text(encoding="utf-8"))
    if needed is not None:
        pytest.skip(f"needs {needed}")
    picture = tmp_path / "folder" / "picture.png"
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "error::UserWarning", str(script), str(picture)]
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(PNG)


def test_every_script_has_its_line_in_the_readme():
    text = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert SCRIPTS
    assert [script.name for script in SCRIPTS if f"`{script.name}`" not in text] == []
