import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

GALLERY = Path(__file__).resolve().parents[1] / "gallery"
SCRIPTS = sorted(path for path in GALLERY.glob("*.py") if path.stem != "pictures")
PNG = b"\x89PNG\r\n\x1a\n"


OPTIONAL = {
    "probe_torch": "torch",
    "probe_layers": "torch",
    "probe_lora": "torch",
    "probe_flax": "flax",
    "probe_keras": "keras",
}
"""What a script needs beyond the development tools."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_draws_a_picture(script, tmp_path):
    needed = OPTIONAL.get(script.stem)
    if needed is not None and find_spec(needed) is None:
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
