"""The server answers its own page on its own machine, to those who know the token, and nobody
else."""

from __future__ import annotations

import asyncio
import contextlib
import json
from concurrent.futures import CancelledError

import pytest
from starlette import testclient
from starlette.websockets import WebSocketDisconnect

from biasflow.explore.page_files import PAGE_FILES
from biasflow.explore.server import MOST_PAGES, MOST_UNREAD_B, Launch, Page

PORT = 4321
HOST = f"127.0.0.1:{PORT}"
ORIGIN = {"origin": f"http://{HOST}"}


class Nobody:
    """A crew without workers: it remembers what was asked, and answers at once."""

    def __init__(self):
        self.asked, self.cancelled = [], []

    async def start(self, first=None):
        pass

    async def stop(self):
        pass

    def ask(self, job):
        self.asked.append(job)
        job.deliver({"part": "limit"}, '{"x":1}')
        job.deliver({"end": ""}, None)

    def cancel(self, owner, keep_place=False):
        self.cancelled.append(owner)


@pytest.fixture
def launch():
    return Launch(PORT, crew=Nobody())


@pytest.fixture
def stranger(launch):
    """A browser without the cookie."""
    with testclient.TestClient(launch.app(), f"http://{HOST}", follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(launch, stranger):
    stranger.get(f"/?token={launch.token}")
    return stranger


@contextlib.contextmanager
def opened(client):
    """An open page. The client of tests ends what still says goodbye, and calls it cancelled."""
    with (
        contextlib.suppress(CancelledError),
        client.websocket_connect(f"ws://{HOST}/page", headers=ORIGIN) as socket,
    ):
        yield socket


def test_the_token_becomes_a_cookie_and_leaves_the_address(launch, stranger):
    answer = stranger.get(f"/?token={launch.token}")
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    page = stranger.get("/")
    assert page.status_code == 200 and launch.token not in page.text


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/main.js", "/page"])
def test_without_the_token_nothing_is_told(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403 and "biasflow explore" in answer.text


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "[::1]:1"])
def test_another_host_is_refused(client, host):
    assert client.get("/", headers={"host": host}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as caught,
        client.websocket_connect(f"ws://{HOST}/page", headers={"host": host, **ORIGIN}),
    ):
        pass
    assert caught.value.code == 4403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://" + HOST, None])
def test_another_origin_is_refused(client, origin):
    headers = {} if origin is None else {"origin": origin}
    if origin is not None:
        assert client.get("/", headers=headers).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect) as caught,
        client.websocket_connect(f"ws://{HOST}/page", headers=headers),
    ):
        pass
    assert caught.value.code == 4403


def test_a_socket_without_the_cookie_is_refused(stranger):
    with (
        pytest.raises(WebSocketDisconnect) as caught,
        stranger.websocket_connect(f"ws://{HOST}/page", headers=ORIGIN),
    ):
        pass
    assert caught.value.code == 4403


def test_every_file_of_the_page_is_served_with_its_type_and_nothing_else(client):
    for name, kind in PAGE_FILES.items():
        answer = client.get(f"/{name}")
        assert answer.status_code == 200 and answer.headers["content-type"] == kind
    for path in ("/../server.py", "/%2e%2e/server.py", "/server.py", "/scenes/", "//etc/passwd"):
        assert client.get(path).status_code == 404
    assert client.post("/").status_code == 403


def test_answers_carry_the_headers_that_keep_a_page_safe(client):
    headers = client.get("/").headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    refused = client.get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in refused.headers


def test_the_page_has_no_inline_code_and_no_outside_resources(client):
    for name in PAGE_FILES:
        text = client.get(f"/{name}").text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, name
        assert "innerHTML" not in text and "eval(" not in text, name
    page = client.get("/").text
    assert "<script>" not in page and "onclick" not in page and "style=" not in page


def test_a_page_asks_and_hears(client, launch):
    with opened(client) as socket:
        hello = socket.receive_json()
        assert hello["kind"] == "hello" and hello["scenes"][0]["name"] == "line"
        socket.send_text(json.dumps({"kind": "ask", "id": 7, "scene": "sparse", "state": {}}))
        part = socket.receive_json()
        assert part == {"kind": "part", "id": 7, "name": "limit", "data": {"x": 1}}
        assert socket.receive_json() == {"kind": "end", "id": 7, "error": ""}
        socket.send_text(json.dumps({"kind": "ask", "id": 8, "scene": "sparse", "state": {"n": 1}}))
        answer = socket.receive_json()
        assert answer["id"] == 8 and "has no such field" in answer["error"]
        socket.send_text("nonsense")
        assert "expected JSON" in socket.receive_json()["error"]
        socket.send_text(json.dumps({"kind": "code", "id": 9, "scene": "sparse", "state": {}}))
        assert "import biasflow" in socket.receive_json()["text"]
        useless = {"table": [[0.0, 1.0], [0.0, 2.0]]}
        refused = {"kind": "code", "id": 9, "scene": "sparse", "state": useless}
        socket.send_text(json.dumps(refused))
        assert "nothing is learnt" in socket.receive_json()["error"]
        socket.send_text(json.dumps({"kind": "export", "id": 10, "scene": "sparse", "state": {}}))
        file = socket.receive_json()
        assert file["kind"] == "file" and "<!doctype html>" in file["text"]
        assert launch.token not in file["text"]
    assert launch.crew.cancelled  # what a closed page asked is not computed on


def test_bytes_close_the_page_and_the_server_lives(client):
    with opened(client) as socket:
        socket.receive_json()
        socket.send_bytes(b"\x80\x04pickle")
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()
    assert client.get("/").status_code == 200


def test_a_page_that_does_not_read_is_let_go_before_memory_is_full():
    async def fill():
        page = Page(None, None)
        page._reader = asyncio.create_task(asyncio.sleep(60))
        for _ in range(100):
            page._put(1, "x" * 2**20)
        held = page._outbox.qsize()
        await asyncio.gather(page._reader, return_exceptions=True)
        return held, page._reader.cancelled()

    held, let_go = asyncio.run(asyncio.wait_for(fill(), 30))
    assert held <= MOST_UNREAD_B // 2**20 and let_go


def test_pages_are_counted(client, launch):
    launch.pages.update(range(MOST_PAGES))
    with opened(client) as socket, pytest.raises(WebSocketDisconnect) as caught:
        socket.receive_json()
    assert caught.value.code == 4429
