"""`biasflow explore`: states from links and JSON, pages that are written, a server that stops."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from urllib.parse import quote

import pytest

from biasflow.cli.explore_command import read_state, write_page
from biasflow.errors import InputError, UnknownNameError
from biasflow.explore import SCENES


def test_a_state_is_a_link_or_json():
    state = {"depth": 3}
    link = f"http://127.0.0.1:1234/#sparse/{quote(json.dumps(state))}"
    for given in ((None, link), ("sparse", json.dumps(state)), ("sparse", link.partition("/#")[2])):
        if given[1].startswith("sparse"):
            given = (given[0], f"#{given[1]}")
        name, read = read_state(*given)
        assert name == "sparse" and read == {**SCENES["sparse"].start, "depth": 3}
    assert read_state(None, None) == (next(iter(SCENES)), next(iter(SCENES.values())).start)


def test_what_is_neither_is_refused():
    for scene, state, said in (
        ("sparse", "depth=3", "expected a copied link or JSON"),
        ("line", "#sparse/{}", "the link is of 'sparse'"),
        ("sparse", '{"depth": 99}', "from 2 to 5"),
    ):
        with pytest.raises(InputError, match=said):
            read_state(scene, state)
    with pytest.raises(UnknownNameError):
        read_state("lines", None)


def test_a_page_is_written(tmp_path):
    path = tmp_path / "scene.html"
    write_page(path, "sparse", '{"log10_alpha": 0.5, "truth": [[1], [0], [0]], "samples": 2}')
    text = path.read_text(encoding="utf-8")
    recording = re.search(r'id="recording">(.*?)</script>', text, re.DOTALL).group(1)
    told = json.loads(recording)
    assert told["state"]["log10_alpha"] == 0.5
    assert {"limit", "flow", "norms"} <= {name for name, _ in told["parts"]}
    assert "src=" not in text.partition("<body>")[0] and "token" not in text.partition("<body>")[0]
    with pytest.raises(InputError, match=r"ends in \.html"):
        write_page(tmp_path / "scene.txt", None, None)


def test_the_server_prints_its_address_and_stops_at_ctrl_c():
    process = subprocess.Popen(
        [sys.executable, "-m", "biasflow", "explore", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert re.search(r"http://127\.0\.0\.1:\d+/\?token=\S{40,}", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "stopped" in out and err == ""
