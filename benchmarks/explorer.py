"""What the explorer's page waits for, alone and in a crowd, and what it survives.

A server is started as a user would, and pages speak to it over its WebSocket: a drag is a request
with one point moved. With Chromium and Selenium installed a real page is dragged and scrubbed, too.
Four minutes on two quiet cores: `taskset -c 0,1 python benchmarks/explorer.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import HTTPCookieProcessor, build_opener

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the workers have it
import numpy as np
from websockets.sync.client import ClientConnection, connect

from biasflow.errors import BiasflowError, InputError
from biasflow.explore import SCENES
from biasflow.explore.scene import Exponent, Number, Scene, Table

GOALS = {
    "line": ("limit", 50),
    "plane": ("flow", 150),
    "sparse": ("limit", 50),
    "boundary": ("limit", 500),
    "completion": ("limit", 50),
}
"""The part that a drag waits for, of a flow all of it, and in how many milliseconds, median."""
MOST_NEURONS, MOST_INPUTS, LEAST_EXPONENT = 60, 8, -8.0
"""Of the planar flows that are asked for."""


class Server:
    """`biasflow explore` as a process of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "biasflow", "explore", "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise SystemExit(f"the server did not start: {line}")
        self.address = found.group()
        self.host = self.address.split("/")[2]
        cookies = HTTPCookieProcessor()
        build_opener(cookies).open(self.address).close()
        self.cookie = "; ".join(f"{each.name}={each.value}" for each in cookies.cookiejar)

    def page(self) -> Page:
        return Page(self)

    def workers(self) -> list[int]:
        """The processes below the server."""
        pid = self.process.pid
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def memory(self) -> float:
        """Megabytes that the server itself holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


class Page:
    """One connection, with numbers of its own: an answer to another page's would be seen."""

    serial = 0
    lock = threading.Lock()

    def __init__(self, server: Server) -> None:
        self.held = contextlib.ExitStack()
        self.socket: ClientConnection = self.held.enter_context(
            connect(
                f"ws://{server.host}/page",
                additional_headers={"Cookie": server.cookie},
                origin=f"http://{server.host}",  # type: ignore[arg-type]
                max_size=None,
            )
        )
        json.loads(self.socket.recv())
        with Page.lock:
            Page.serial += 1
            self.next = 10_000_000 * Page.serial
        self.mine: set[int] = set()
        self.astray = 0

    def say(self, kind: str, scene: str, state: Any) -> int:
        self.next += 1
        self.mine.add(self.next)
        message = {"kind": kind, "id": self.next, "scene": scene, "state": state}
        self.socket.send(json.dumps(message))
        return self.next

    def hear(self, timeout: float = 240.0) -> dict[str, Any]:
        message = json.loads(self.socket.recv(timeout))
        if message["id"] not in self.mine and message["id"] != -1:
            self.astray += 1
        return message

    def drag(self, scene: Scene, state: Any, until: str = "limit") -> dict[str, float]:
        """Milliseconds to the parts as they come, up to the one waited for, or to the end; of a
        flow that grows, 'flow' is the last and 'first flow' the first. 'longest verdict': between
        a verdict and the part before it."""
        begun, found = time.perf_counter(), {"longest verdict": 0.0}
        before = 0.0
        id = self.say("ask", scene.name, state)
        while True:
            message = self.hear()
            passed = 1e3 * (time.perf_counter() - begun)
            if message["id"] != id:
                continue
            if message["kind"] == "end":
                return found | {"end": passed}
            if message["kind"] != "part":
                continue
            name, data = message["name"], message["data"]
            if name == "verdict":
                found["longest verdict"] = max(found["longest verdict"], passed - before)
            before = passed
            found.setdefault(f"first {name}", passed)
            found[name] = passed
            if name == until and data.get("last", True):
                return found


def moved(scene: Scene, rng: random.Random) -> dict[str, Any]:
    """A state near the first one, as a drag would make it; in the plane, a random one of those that
    have a goal."""
    for _ in range(50):
        state = json.loads(json.dumps(scene.start))
        match scene.name:
            case "completion":
                row = rng.choice(state["matrix"])
                row[rng.randrange(len(row))] += round(rng.uniform(-0.2, 0.2), 4)
            case "boundary":
                point = rng.choice(state["points"])
                point[:2] = [round(each + rng.uniform(-0.1, 0.1), 4) for each in point[:2]]
            case "plane":
                state["points"] = [
                    [round(rng.uniform(-2, 2), 3) for _ in range(3)]
                    for _ in range(rng.randrange(2, MOST_INPUTS + 1))
                ]
                state["width"] = MOST_NEURONS
                state["log10_lambda"] = round(rng.uniform(LEAST_EXPONENT, 0.0), 1)
            case _:
                for name, field in scene.fields.items():
                    if isinstance(field, Table) and state[name]:
                        row = rng.choice(state[name])
                        row[-1] = round(row[-1] + rng.uniform(-0.2, 0.2), 4)
                    elif isinstance(field, Exponent) and field.off is None:
                        state[name] = round(state[name] + rng.uniform(-1, 1), 2)
        with contextlib.suppress(InputError):
            return scene.read(state)
    raise SystemExit(f"no state of {scene.name} could be made")


def processor_ms(scene: Scene, part: str, states: list[dict[str, Any]]) -> float:
    """Of a core, median, to compute a state up to a part, here: what other jobs do not lengthen."""
    found = []
    scene.warm()
    for state in states:
        begun = time.process_time()
        with contextlib.suppress(BiasflowError):  # one sentence on the page
            for name, data in scene.parts(state):
                if name == part and data.get("last", True):
                    break
        found.append(1e3 * (time.process_time() - begun))
    return float(np.median(found))


def alone(server: Server, drags: int) -> None:
    """One page: the time from a drag to what it waits for, and to all of the picture."""
    print(
        f"\nOne page, {drags} drags a scene, milliseconds from the drag; 'core': of a processor\n"
    )
    print(
        f"{'scene':<12}{'to':<8}{'median':>8}{'95%':>8}{'goal':>8}{'core':>8}{'first flow':>12}"
        f"{'all':>8}{'load':>8}"
    )
    rng, longest, missed = random.Random(0), 0.0, 0
    for scene in SCENES.values():
        page, (name, goal) = server.page(), GOALS.get(scene.name, ("limit", 0))
        page.drag(scene, scene.start, "limit" if scene.name == "claims" else "end")
        drawn = [page.drag(scene, moved(scene, rng), name) for _ in range(drags)]
        waits = np.array([each.get(name, np.inf) for each in drawn])  # a part that never came
        missed += int(np.sum(np.isinf(waits)))
        load = os.getloadavg()[0]
        core = processor_ms(scene, name, [moved(scene, rng) for _ in range(drags // 2)])
        films = 1 if scene.name == "claims" else drags // 4  # verdicts take half a minute
        whole = [page.drag(scene, moved(scene, rng), "end") for _ in range(films)]
        page.held.close()
        longest = max(longest, *(each["longest verdict"] for each in whole))
        flow = [each["first flow"] for each in whole if "first flow" in each]
        print(
            f"{scene.name:<12}{name:<8}{np.median(waits):>8.0f}{np.quantile(waits, 0.95):>8.0f}"
            f"{goal or '':>8}{core:>8.0f}{f'{np.median(flow):.0f}' if flow else '':>12}"
            f"{np.median([each['end'] for each in whole]):>8.0f}{load:>8.1f}",
            flush=True,
        )
    print(
        f"\nDrags that were never answered by what they wait for: {missed}; the slowest verdict on "
        f"a claim: {longest / 1e3:.1f} s (goal 5)",
        flush=True,
    )


def crowd(server: Server, pages: int, seconds: float) -> None:
    """Pages that all drag at once, each its own scene, four times a second."""
    waits: list[float] = []
    astray: list[int] = []
    names = list(GOALS)

    def one(k: int) -> None:
        rng, page, scene = random.Random(k), server.page(), SCENES[names[k % len(names)]]
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            begun = time.perf_counter()
            waits.append(page.drag(scene, moved(scene, rng)).get("limit", np.inf))
            time.sleep(max(0.0, 0.25 - (time.perf_counter() - begun)))
        astray.append(page.astray)
        page.held.close()

    threads = [threading.Thread(target=one, args=(k,)) for k in range(pages)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = np.array(waits)
    print(
        f"\n{pages} pages at once, load {os.getloadavg()[0]:.1f}, {len(found)} drags in "
        f"{seconds:g} s: milliseconds to the limit, "
        f"median {np.median(found):.0f}, 95% {np.quantile(found, 0.95):.0f} (goal 1000), "
        f"largest {np.max(found):.0f}; answers to a wrong page: {sum(astray)}",
        flush=True,
    )


def nonsense(rng: random.Random, id: int) -> str:
    """A request that is wrong in one of many ways, and now and then right."""
    scene = rng.choice(list(SCENES.values()))
    state: dict[str, Any] = dict(scene.start)
    message: dict[str, Any] = {"kind": "ask", "id": id, "scene": scene.name}
    values: list[Any] = [None, True, "x" * rng.randrange(200), -1, 1e308, 10**30, [], [[]], {}]
    values += [[[1, 2, 3]] * rng.randrange(60), [["a"]], "../../etc/passwd", "<script>", 0, 0.5]
    match rng.randrange(8):
        case 0:
            return "".join(chr(rng.randrange(1, 0x2FFF)) for _ in range(rng.randrange(300)))
        case 1:
            return "[" * rng.randrange(60_000)
        case 2:
            message[rng.choice(["kind", "id", "scene", "state", "extra"])] = rng.choice(values)
        case 3:
            text = json.dumps({**message, "state": state})
            return text[: rng.randrange(len(text))]
        case 4:
            message["kind"] = rng.choice(["code", "cancel", "export!", "eval"])
        case 5:
            name, field = rng.choice(list(scene.fields.items()))
            if isinstance(field, Number):
                state[name] = rng.choice([field.low, field.high])
            message["state"] = state
        case _:
            state[rng.choice([*scene.fields, "other"])] = rng.choice(values)
            message["state"] = state
    return json.dumps(message)


def abuse(server: Server, requests: int, kills: int) -> None:
    """Fuzzed requests from four pages while workers are killed; then a page that behaves."""
    before, begun = server.memory(), time.perf_counter()
    replies, refused, lost, astray = [0] * 4, [0] * 4, [0] * 4, [0] * 4

    def one(k: int) -> None:
        rng, page, said = random.Random(100 + k), server.page(), set[Any]()

        def listen(seconds: float) -> None:
            with contextlib.suppress(TimeoutError):
                while True:
                    message = json.loads(page.socket.recv(seconds))
                    replies[k] += 1
                    refused[k] += bool(message.get("error"))
                    astray[k] += message["id"] != -1 and message["id"] not in said

        for j in range(requests // 4):
            try:
                text = nonsense(rng, 4 * j + k)
                said |= {4 * j + k, 0} if '"id": 0' in text else {4 * j + k}  # nonsense has ids
                page.socket.send(text)
                if j % 20 == 0:
                    listen(0.02)
            except Exception:
                lost[k] += 1
                page = server.page()
        listen(10.0)
        page.held.close()

    def kill() -> None:
        rng = random.Random(1)
        for _ in range(kills):
            workers = server.workers()
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(workers), signal.SIGKILL)
            time.sleep(0.3)

    threads = [threading.Thread(target=one, args=(k,)) for k in range(4)]
    threads.append(threading.Thread(target=kill))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alive = server.process.poll() is None
    page = server.page()
    rng = random.Random(7)
    limits = ["limit" in page.drag(scene, moved(scene, rng)) for scene in SCENES.values()]
    time.sleep(5)
    print(
        f"\n{requests} fuzzed requests and {kills} killed workers in "
        f"{time.perf_counter() - begun:.0f} s: server alive: {alive}; {sum(replies)} replies, "
        f"{sum(refused)} of them refusals; connections lost {sum(lost)}; then "
        f"{sum(limits)} of {len(SCENES)} scenes answer; answers to a wrong page: "
        f"{sum(astray) + page.astray}; processes {len(server.workers())}; "
        f"server memory {before:.0f} MB before, {server.memory():.0f} MB after",
        flush=True,
    )


def not_in_a_browser() -> str:
    """What is missing for a page in a real browser; empty where nothing is."""
    needed = [name for name in ("chromium", "chromedriver") if which(name) is None]
    if find_spec("selenium") is None:
        needed.append("Selenium")
    return f"{' and '.join(needed)} not found (goals: 50 ms, 30 frames a second)" if needed else ""


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = which("chromium")
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for argument in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=Service(which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,1000"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


SCRUB = """
const done = arguments[arguments.length - 1], slider = document.getElementById("time");
let frames = 0; const begun = performance.now();
const tick = () => {
  slider.value = (frames % 100) / 100; slider.dispatchEvent(new Event("input")); frames++;
  performance.now() - begun < 3000 ? requestAnimationFrame(tick) : done(frames / 3);
};
requestAnimationFrame(tick);
"""


def in_a_browser(server: Server, drags: int) -> None:
    """A point dragged by the pointer, until the limit is drawn; frames a second while scrubbing."""
    from selenium.webdriver.common.action_chains import ActionChains

    with browser() as driver:
        for name in ("line", "sparse"):
            driver.get(f"{server.address}#{name}/%7B%7D")
            if name != "line":
                driver.refresh()
            until(lambda: "computed" in driver.find_element("id", "status").text)
            found = []
            for k in range(drags):
                driver.execute_script("delete document.body.dataset.latency")
                handle = driver.find_elements("css selector", "svg .handle")[1]
                ActionChains(driver, 10).drag_and_drop_by_offset(
                    handle, 0, 8 - 16 * (k % 2)
                ).perform()
                until(lambda: driver.execute_script("return document.body.dataset.latency"))
                found.append(float(driver.execute_script("return document.body.dataset.latency")))
            until(lambda: "computed" in driver.find_element("id", "status").text)
            rate = driver.execute_async_script(SCRUB)
            print(
                f"\nChromium, {name}: {drags} drags, milliseconds to the limit drawn, median "
                f"{np.median(found):.0f}; {rate:.0f} frames a second while scrubbing (goal 30)",
                flush=True,
            )


def until(true: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--drags", type=int, default=40, help="drags of one page, for each scene")
    asked = parser.parse_args()
    quick = asked.quick
    server = Server()
    try:
        alone(server, 12 if quick else asked.drags)
        crowd(server, 8, 4.0 if quick else 20.0)
        abuse(server, 1_000 if quick else 10_000, 10 if quick else 100)
        missing = not_in_a_browser()
        if missing:
            print(f"\nNo page in a browser was dragged or scrubbed: {missing}")
        else:
            in_a_browser(server, 5 if quick else 20)
    finally:
        code = server.stop()
    print(f"\nCtrl-C: exit code {code}")


if __name__ == "__main__":
    main()
