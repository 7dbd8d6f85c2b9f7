"""`python docs/check_accessibility.py FOLDER…`: axe-core on the pages of the folders, in a headless
Chromium, wide and light, narrow and dark. Needs Chromium and npm; nothing else drives the browser
than a page that shows the others one by one."""

import argparse
import functools
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
VIEWS = ((1280, "light"), (390, "dark"))
MADE = ("claims/", "figures/", "reference/names/")
"""Pages that are made alike: of these some stand for all."""
EVERY = 25
PATIENCE_S = 900
AXE = Path(__file__).parents[1] / "build" / "axe"

HARNESS = """<!doctype html><html lang="en"><title>axe</title><iframe id="view"></iframe><script>
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const view = document.getElementById("view");
async function look(url, width, theme) {
  view.width = width; view.height = 900;
  await new Promise((done) => { view.onload = done; view.src = url; });
  const page = view.contentDocument;
  page.body.dataset.theme = theme;
  page.documentElement.dataset.theme = theme;
  page.documentElement.style.colorScheme = theme;
  await page.fonts.ready;
  await sleep(150);
  await new Promise((done) => {
    const script = page.createElement("script");
    script.src = "/axe.min.js"; script.onload = done; page.head.append(script);
  });
  const found = await view.contentWindow.axe.run(page, { resultTypes: ["violations"] });
  const broken = page.querySelectorAll(".katex-error").length;
  const wide = page.documentElement.scrollWidth - view.contentWindow.innerWidth;
  return { url, width, theme, broken, wide, violations: found.violations.map((one) => ({
    id: one.id, impact: one.impact, help: one.help,
    nodes: one.nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary}`) })) };
}
(async () => {
  const pages = await (await fetch("/pages.json")).json(), all = [];
  for (const [url, width, theme] of pages) {
    try { all.push(await look(url, width, theme)); }
    catch (error) { all.push({ url, width, theme, failed: String(error), violations: [] }); }
  }
  await fetch("/found", { method: "POST", body: JSON.stringify(all) });
})();
</script></html>"""


def axe():
    """axe.min.js, by npm where it is not there yet."""
    script = AXE / "package" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            sys.exit("npm is not installed: it brings axe-core, the checker")
        AXE.mkdir(parents=True, exist_ok=True)
        subprocess.run([npm, "pack", "--silent", "axe-core"], cwd=AXE, check=True)
        shutil.unpack_archive(next(AXE.glob("axe-core-*.tgz")), AXE, filter="data")
    return script


def chosen(folder):
    """All pages written by hand, and some of those that are made."""
    pages = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))
    made = [page for page in pages if page.startswith(MADE) and not page.endswith("index.html")]
    return [page for page in pages if page not in made] + made[::EVERY]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the folders by their place in the list, and takes what was found."""

    def __init__(self, *arguments, folders, pages, found, **keywords):
        self.folders, self.pages, self.found = folders, pages, found
        super().__init__(*arguments, **keywords)

    def translate_path(self, path):
        _, place, *rest = path.partition("?")[0].split("/")
        if place == "axe.min.js":
            return str(axe())
        folder = self.folders[int(place)] if place.isdigit() else Path("/nowhere")
        return str(folder.joinpath(*rest))

    def do_GET(self):
        texts = {"/harness": HARNESS, "/pages.json": json.dumps(self.pages)}
        if self.path not in texts:
            return super().do_GET()
        body = texts[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.found.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Answer:
    """What the browser sends, once."""

    def __init__(self):
        self.come, self.body = threading.Event(), b"[]"

    def put(self, body):
        self.body = body
        self.come.set()


def look_at(folders, browser):
    """What axe says of every page in every view."""
    folders = [Path(folder).resolve() for folder in folders]
    pages = [
        (f"/{place}/{page}", width, theme)
        for place, folder in enumerate(folders)
        for page in chosen(folder)
        for width, theme in VIEWS
    ]
    answer = Answer()
    handler = functools.partial(Handler, folders=folders, pages=pages, found=answer)
    axe()
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory() as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/harness"
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        process = subprocess.Popen(
            [*command, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if not answer.come.wait(PATIENCE_S):
                sys.exit(f"no answer from {browser} within {PATIENCE_S} s")
        finally:
            process.terminate()
            process.wait()
            server.shutdown()
    return json.loads(answer.body)


def faults(results):
    """Sentences; what is the same on many pages is said once."""
    seen = {}
    for page in results:
        where = f"{page['url']} ({page['width']} px, {page['theme']})"
        if "failed" in page:
            yield f"{where}: {page['failed']}"
            continue
        if page["broken"]:
            yield f"{where}: {page['broken']} formulas that KaTeX cannot set"
        if page["wide"] > 1:
            yield f"{where}: wider than the window by {page['wide']} px"
        for violation in page["violations"]:
            seen.setdefault((violation["id"], violation["help"], violation["impact"]), []).append(
                (where, violation["nodes"])
            )
    for (rule, words, impact), found in seen.items():
        where, nodes = found[0]
        yield f"{rule} ({impact}): {words}; {len(found)} views, first {where}:\n  " + "\n  ".join(
            node.replace("\n", " ") for node in nodes[:4]
        )


def find_browser():
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+")
    browser = find_browser()
    if browser is None:
        sys.exit("no Chromium here: install it, or leave this check to a machine that has one")
    results = look_at(parser.parse_args().folders, browser)
    found = list(faults(results))
    print(*found, sep="\n")
    print(f"{len(results)} views of pages, {len(found)} kinds of faults")
    sys.exit(bool(found) or not results)
