"""The page in a real browser: dragged, scrubbed, saved, linked to, left alone by its server.

It runs where Chromium, its driver and Selenium are installed. BIASFLOW_SCREENSHOTS names a folder
that pictures are left in, to be looked at.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from shutil import which
from urllib.parse import quote, unquote

import pytest

from biasflow.explore import SCENES, export

webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM, DRIVER = which("chromium") or which("chromium-browser"), which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs Chromium and chromedriver"
)
PATIENCE = 60.0
SHOTS = os.environ.get("BIASFLOW_SCREENSHOTS")
LOOKS = {"desktop": (1400, 1100), "phone": (400, 850)}


def until(true, seconds=PATIENCE):
    """What `true` gives once it gives something."""
    end = time.monotonic() + seconds
    while True:
        found = true()
        if found:
            return found
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


class Server:
    def __init__(self, port=0):
        command = [sys.executable, "-m", "biasflow", "explore", "--no-browser"]
        self.process = subprocess.Popen(
            [*command, "--port", str(port)], stdout=subprocess.PIPE, text=True
        )
        self.address = re.search(r"http://\S+", self.process.stdout.readline()).group()
        self.port = int(re.search(r":(\d+)/", self.address).group(1))

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(30)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    if server.process.poll() is None:
        assert server.stop() == 0


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    from selenium.webdriver.chrome.service import Service

    with webdriver.Chrome(options=options, service=Service(DRIVER)) as driver:
        driver.set_window_size(*LOOKS["desktop"])
        driver.downloads = folder
        yield driver


class Page:
    """What a reader does."""

    def __init__(self, driver, address):
        self.driver = driver
        driver.get("about:blank")
        driver.get(address)
        self.settled()

    @property
    def status(self):
        return self.driver.find_element("id", "status").text

    @property
    def state(self):
        """What the address says."""
        return json.loads(unquote(self.driver.current_url.partition("#")[2].partition("/")[2]))

    def settled(self):
        until(lambda: "computed" in self.status)
        return self

    def after(self, act):
        """Do something, and wait until what it asks for is drawn."""
        self.driver.execute_script("document.getElementById('status').textContent = ''")
        act()
        return self.settled()

    def press(self, id):
        """Click a button, where the bar with the time does not lie over it."""
        button = self.driver.find_element("id", id)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
        button.click()

    def path(self, label):
        """The curve of the first plot so labelled that is drawn widest."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll('svg[aria-label^=\"' + arguments[0] + '\"] "
            "path.curve')].map((each) => each.getAttribute('d')).join('|')",
            label,
        )

    def slide(self, label, value):
        """Move the slider under this label."""
        self.driver.execute_script(
            "const label = [...document.querySelectorAll('label')]"
            ".find((each) => each.textContent.startsWith(arguments[0]));"
            "const input = document.getElementById(label.htmlFor); input.value = arguments[1];"
            "for (const kind of ['input', 'change']) input.dispatchEvent(new Event(kind));",
            label,
            value,
        )

    def errors(self):
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "WebSocket" not in entry["message"]
        ]


def drag(driver, handle, dx, dy):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver, 20).drag_and_drop_by_offset(handle, dx, dy).perform()


def handles(driver):
    return driver.find_elements("css selector", "svg .handle")


def test_a_point_is_dragged_by_pointer_and_by_keys(driver, server):
    page = Page(driver, server.address)
    assert "token" not in driver.current_url
    before = page.path("The function")
    page.after(lambda: drag(driver, handles(driver)[2], 0, -50))
    moved = page.state["points"]
    assert moved[2][1] > SCENES["line"].start["points"][2][1] + 0.05
    assert page.path("The function") != before
    page.after(lambda: handles(driver)[2].send_keys("\ue013"))  # arrow up
    assert page.state["points"][2][1] == pytest.approx(moved[2][1] + 0.05, abs=1e-3)
    held = driver.switch_to.active_element
    stroke = held.value_of_css_property("stroke-width")
    assert held in handles(driver) and float(stroke.removesuffix("px")) >= 4, "the focus is seen"
    page.after(lambda: handles(driver)[4].send_keys("\ue017"))  # delete
    assert len(page.state["points"]) == 4 == len(handles(driver))
    page.after(lambda: page.press("add-point"))
    assert len(handles(driver)) == 5
    assert page.errors() == []


def test_the_scale_moves_the_picture_and_time_is_scrubbed(driver, server):
    page = Page(driver, f"{server.address}#sparse/%7B%7D")
    norms = driver.find_element("css selector", ".facts").text
    page.after(lambda: page.slide("Scale of the start", 1))
    assert page.state["log10_alpha"] == 1
    assert driver.find_element("css selector", ".facts").text != norms
    page.after(lambda: page.slide("Scale of the start", -12))
    assert page.state["log10_alpha"] == -300
    last = page.path("Coefficients of the network")
    time_now = driver.find_element("css selector", "#player output").text
    driver.execute_script(
        "const time = document.getElementById('time'); time.value = 0.1;"
        "time.dispatchEvent(new Event('input'))"
    )
    assert page.path("Coefficients of the network") != last
    assert driver.find_element("css selector", "#player output").text != time_now
    driver.find_element("id", "play").click()
    until(lambda: float(driver.find_element("id", "time").get_property("value")) > 0.15)
    driver.find_element("id", "play").click()
    assert page.errors() == []


def test_a_link_brings_the_state_back(driver, server):
    page = Page(driver, f"{server.address}#sparse/%7B%7D")
    page.after(lambda: page.slide("Depth", 3))
    link = driver.current_url
    assert "token" not in link and page.state == {"depth": 3}
    again = Page(driver, link)
    assert again.state == {"depth": 3}
    assert "Sparse regression" in driver.title
    broken = Page(driver, link.partition("#")[0] + "#sparse/%7Bnonsense")
    assert broken.state == {}
    driver.execute_script("location.hash = '#line/%7B%7D'")
    until(lambda: "A line" in driver.title)


GARBAGE = [
    {"points": "abc"},
    {"points": [[None, 1]]},
    {"points": [1, 2]},
    {"points": [], "width": "x"},
    {"points": [[0, 1, 2]], "key": 1.5},
    {"log10_lambda": 1e300, "points": {"length": 3}},
    None,
    [],
]


def test_garbage_in_a_link_leaves_a_page_that_works(driver, server):
    page = Page(driver, server.address)
    for k, garbage in enumerate(GARBAGE):
        linked = f"{driver.current_url.partition('#')[0]}#line/{quote(json.dumps(garbage))}"
        again = Page(driver, linked)
        assert again.state == {}, garbage
        assert len(handles(driver)) == len(SCENES["line"].start["points"])
        if isinstance(garbage, dict):
            told = driver.find_element("id", "refused").text
            assert "does not take" in told and "abc" not in told
        if k == 0:
            again.after(lambda: drag(driver, handles(driver)[2], 0, -30))
            assert "points" in again.state
    hostile = '{"__proto__": {"points": 1}, "points": "<img src=x onerror=document.title=1>"}'
    Page(driver, f"{driver.current_url.partition('#')[0]}#line/{quote(hostile)}")
    assert driver.title != "1" and not driver.find_elements("css selector", "img")
    assert page.errors() == []


def test_a_refused_state_is_a_sentence_on_the_page(driver, server, tmp_path):
    page = Page(driver, server.address)
    bad = json.dumps({"points": [[0, 1], [0, 2]]})
    driver.execute_script("location.hash = '#line/' + encodeURIComponent(arguments[0])", bad)
    until(lambda: "apart" in page.status)
    stage = driver.find_element("id", "stage")
    assert "stale" in stage.get_attribute("class"), "what is drawn is of another state"
    file = tmp_path / "one.csv"
    file.write_text("x,y\n1,200\n")  # fewer points, and a range of its own
    page.after(lambda: driver.find_element("id", "csv").send_keys(str(file)))
    assert len(handles(driver)) == 1 and "stale" not in stage.get_attribute("class")
    assert page.errors() == []


def test_code_and_page_are_given(driver, server, tmp_path):
    page = Page(driver, f"{server.address}#sparse/%7B%7D")
    page.press("copy-code")
    until(lambda: "import biasflow" in driver.find_element("id", "code").text)
    driver.find_element("id", "code-close").click()
    page.press("save-page")
    saved = driver.downloads / "biasflow-sparse.html"
    until(saved.exists)
    until(lambda: "saved as" in page.status)
    driver.get(saved.as_uri())
    until(lambda: "a saved page" in page.status)
    before = page.path("Coefficients of the network")
    assert before
    driver.execute_script(
        "const time = document.getElementById('time'); time.value = 0.2;"
        "time.dispatchEvent(new Event('input'))"
    )
    assert page.path("Coefficients of the network") != before
    assert page.errors() == [] and not handles(driver)


@pytest.mark.parametrize("name", [name for name in SCENES if name != "claims"])
def test_a_saved_page_of_every_scene_plays_without_a_server(driver, tmp_path, name):
    saved = tmp_path / f"{name}.html"
    saved.write_text(export(name, {}), encoding="utf-8")
    driver.get(saved.as_uri())
    status = driver.find_element("id", "status")
    until(lambda: "a saved page" in status.text)
    drawn = "return document.getElementById('stage').innerHTML"
    last = driver.execute_script(drawn)
    assert "NaN" not in last and not handles(driver)
    live = "return [...document.querySelectorAll('input:enabled')].map((each) => each.id)"
    driver.set_window_size(*LOOKS["phone"])  # where the scale moves beside time
    driver.refresh()
    until(lambda: "a saved page" in driver.find_element("id", "status").text)
    assert driver.execute_script(live) == ["time"], "nothing can be asked for"
    driver.set_window_size(*LOOKS["desktop"])
    last = driver.execute_script(drawn)
    driver.find_element("id", "play").click()
    until(lambda: driver.execute_script(drawn) != last)
    driver.find_element("id", "play").click()
    severe = [each for each in driver.get_log("browser") if each["level"] == "SEVERE"]
    assert severe == []


def test_a_table_of_the_readers_own(driver, server, tmp_path):
    page = Page(driver, f"{server.address}#sparse/%7B%7D")
    file = tmp_path / "mine.csv"
    file.write_text('<img src=x onerror="document.title=1">,b,y\n1,2,3\n0.5,-1,1\n')
    page.after(lambda: driver.find_element("id", "csv").send_keys(str(file)))
    assert page.state["table"] == [[1, 1, 1], [-1, -1, -1]], "centred and scaled"
    rows = [f"2024-03-{k % 28 + 1:02d} 10:00:00,{1e9 + k},{k % 7},{k % 3}" for k in range(5000)]
    file.write_text("\n".join(["time,offset,b,y", *rows]) + "\n")
    page.after(lambda: driver.find_element("id", "csv").send_keys(str(file)))
    table = page.state["table"]
    assert len(table) == 40 and max(abs(x) for row in table for x in row) < 10
    assert "40 of 5000 rows" in driver.find_element("id", "data-tools").text
    assert "least-squares fit" in driver.find_element("css selector", "figcaption").text
    exact = [f"{a},{b},{2 * a - b + 3}" for a, b in ((k % 5, (7 * k) % 11 / 3) for k in range(12))]
    file.write_text("\n".join(['"length, cm",b,y', *exact]) + "\n")
    page.after(lambda: driver.find_element("id", "csv").send_keys(str(file)))
    told = driver.find_element("css selector", "figcaption").text
    assert "leave no choice" in told, "labels that columns fit exactly still are fitted"
    assert "length, cm" in driver.find_element("id", "data-tools").text
    file.write_text("1,NaN\n2,3\n")
    driver.find_element("id", "csv").send_keys(str(file))
    until(lambda: "row 1" in page.status and "NaN" in page.status)
    assert driver.title != "1" and not driver.find_elements("css selector", "img")
    file.write_text("a,b\n1,x\n")
    driver.find_element("id", "csv").send_keys(str(file))
    until(lambda: "expected a number" in page.status)


def test_entries_of_a_matrix_are_clicked(driver, server, tmp_path):
    page = Page(driver, f"{server.address}#completion/%7B%7D")
    cells = driver.find_elements("css selector", "table.matrix button")
    assert [cell.text for cell in cells[:2]] == ["1.00", "?"]
    page.after(lambda: cells[1].click())
    assert cells[1].text == "0.50" and cells[1].get_attribute("aria-pressed") == "true"
    page.after(lambda: cells[1].send_keys("\ue013"))  # arrow up
    assert page.state["matrix"][0][1] == 0.6
    file = tmp_path / "large.csv"
    file.write_text("1e6,2e6\n3e6,\n")
    page.after(lambda: driver.find_element("id", "csv").send_keys(str(file)))
    assert page.state["matrix"] == [[1, 2], [3, 0]] and page.state["seen"] == [[1, 1], [1, 0]]
    assert page.errors() == []


def test_points_of_two_classes_are_painted(driver, server):
    from selenium.webdriver.common.action_chains import ActionChains

    page = Page(driver, f"{server.address}#boundary/%7B%7D")
    plot = driver.find_element("css selector", "svg[aria-label^='Two classes']")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    first, gamma = SCENES["boundary"].start["points"], driver.find_element("css selector", ".facts")
    told = gamma.text

    def click(x, y):
        ActionChains(driver, 10).move_to_element_with_offset(plot, x, y).click().perform()

    page.after(lambda: click(-plot.size["width"] // 2 + 80, -150))
    assert len(page.state["points"]) == len(first) + 1 == len(handles(driver))
    x, y, label = page.state["points"][-1]
    assert x < 0 < y and label == 1
    assert gamma.text != told, "a blue point among the red ones has another margin"
    page.press("paint-red")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    page.after(lambda: click(plot.size["width"] // 2 - 60, 150))
    x, y, label = page.state["points"][-1]
    assert x > 0 > y and label == -1
    painted = handles(driver)[-1]
    page.after(lambda: ActionChains(driver, 10).double_click(painted).perform())
    assert len(page.state["points"]) == len(first) + 1
    page.after(lambda: handles(driver)[0].send_keys("\ue014"))  # arrow right
    assert page.state["points"][0][0] == pytest.approx(first[0][0] + 0.02, abs=1e-3)
    assert page.errors() == []


def test_a_scene_leads_to_the_claims_about_it_and_those_to_their_pages(driver, server):
    page = Page(driver, f"{server.address}#plane/%7B%7D")
    page.press("to-claims")
    until(lambda: "Claims" in driver.title)
    rows = [list(row) for row in SCENES["plane"].start["points"]]
    assert page.state["rows"] == rows and page.state.get("about", "relu") == "relu"
    judged = until(
        lambda: driver.execute_script(
            "return [...document.querySelectorAll('.claim')].filter((each) => "
            "/holds|consistent/.test(each.querySelector('.badge').textContent))"
            ".map((each) => each.dataset.claim)"
        )
    )
    driver.execute_script(
        'document.querySelector(`[data-claim="${arguments[0]}"]`).click()', judged[0]
    )
    told = driver.find_element("css selector", "[aria-label='The statement that was clicked']")
    until(lambda: judged[0] in told.text)
    for heading in ("holds", "consistent"):
        if heading in told.text:
            break
    else:
        pytest.fail(f"no verdict on the page of {judged[0]}: {told.text[:200]}")
    driver.back()
    assert page.errors() == []


def test_scenes_may_be_changed_before_they_are_drawn(driver, server):
    page = Page(driver, server.address)
    move = (
        "document.querySelector('#controls input, #player .control input')"
        ".dispatchEvent(new Event('input'))"
    )
    for k, name in enumerate((*SCENES, *reversed(SCENES), "line", "sparse")):
        driver.find_element("css selector", f"[data-name='{name}']").click()
        time.sleep((0.3, 0.6, 1.0)[k % 3])
        # a question that is not answered yet when the next scene is entered
        driver.execute_script(move)
    page.settled()
    assert "Sparse" in driver.title
    assert page.errors() == []


def test_the_server_goes_and_comes_back(driver):
    server = Server()
    page = Page(driver, server.address)
    page.after(lambda: page.slide("Neurons", 12))
    assert server.stop() == 0
    until(lambda: "server" in page.status)
    driver.execute_script("document.getElementById('add-point').click()")
    again = Server(server.port)
    try:
        window = driver.current_window_handle
        driver.switch_to.new_window("tab")  # as the new launch opens it, with the new token
        Page(driver, again.address)
        driver.close()
        driver.switch_to.window(window)
        until(lambda: "computed" in page.status)
        assert page.state["width"] == 12 and len(page.state["points"]) == 6
    finally:
        assert again.stop() == 0


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """The accessibility checker's source, where npm can bring it."""
    folder = tmp_path_factory.mktemp("axe")
    if which("npm") is None:
        pytest.skip("needs npm, to bring axe-core")
    done = subprocess.run(
        ["npm", "pack", "axe-core"], cwd=folder, capture_output=True, text=True, timeout=120
    )
    packed = list(folder.glob("axe-core-*.tgz"))
    if done.returncode or not packed:
        pytest.skip("npm could not bring axe-core")
    with tarfile.open(packed[0]) as files:
        return files.extractfile("package/axe.min.js").read().decode()


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_is_accessible_in_light_and_dark_wide_and_narrow(driver, server, axe, name):
    page = Page(driver, f"{server.address}#{name}/%7B%7D")
    found = {}
    for look, size in LOOKS.items():
        driver.set_window_size(*size)
        for theme in ("light", "dark"):
            driver.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
            time.sleep(0.3)
            if SHOTS:
                driver.save_screenshot(str(Path(SHOTS) / f"{name}-{look}-{theme}.png"))
            driver.execute_script(axe)
            result = driver.execute_async_script(
                "const done = arguments[arguments.length - 1]; axe.run().then(done)"
            )
            wide = driver.execute_script("return document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, f"{look}: the page is wider than its window"
            for violation in result["violations"]:
                found[violation["id"]] = [node["html"][:200] for node in violation["nodes"][:3]]
    driver.set_window_size(*LOOKS["desktop"])
    assert found == {}
    assert page.errors() == []
