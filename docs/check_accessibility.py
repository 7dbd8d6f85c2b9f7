"""`python docs/check_accessibility.py FOLDER…`: axe-core on the pages of the folders, in a headless
Chromium, wide and light, narrow and dark; with `--only gallery/index.html 'claims/W/*'` on these
alone. Needs Chromium and npm; nothing else drives the browser than a page that shows the others one
by one."""

import argparse
import functools
import http.server
import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from fnmatch import fnmatch
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
VIEWS = ((1280, "light"), (390, "dark"))
PREFERRED = {"dark": 0, "light": 1}
"""What a reader's system asks for, as Chromium numbers it."""
MADE = ("claims/", "figures/", "reference/names/")
"""Pages that are made alike: of these some stand for all."""
EVERY = 25
PATIENCE_S = 240
"""For one page; the report of all figures and claims is the longest."""
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
  if (!view.contentWindow.matchMedia(`(prefers-color-scheme: ${theme})`).matches)
    throw new Error(`the browser does not ask for ${theme} pages`);
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
  const { pages, width, theme } = await (await fetch("/pages.json")).json();
  for (const url of pages) {
    const found = await look(url, width, theme).catch(
      (error) => ({ url, width, theme, failed: String(error), violations: [] }));
    await fetch("/found", { method: "POST", body: JSON.stringify(found) });
  }
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


def chosen(folder, only=()):
    """All pages written by hand, and some of those that are made; or those that are asked for."""
    pages = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))
    if only:
        return [page for page in pages if any(fnmatch(page, pattern) for pattern in only)]
    made = [page for page in pages if page.startswith(MADE) and not page.endswith("index.html")]
    return [page for page in pages if page not in made] + made[::EVERY]


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the folders by their place in the list, and takes what was found."""

    def __init__(self, *arguments, folders, wanted, found, **keywords):
        self.folders, self.wanted, self.found = folders, wanted, found
        super().__init__(*arguments, **keywords)

    def translate_path(self, path):
        _, place, *rest = path.partition("?")[0].split("/")
        if place == "axe.min.js":
            return str(axe())
        folder = self.folders[int(place)] if place.isdigit() else Path("/nowhere")
        return str(folder.joinpath(*rest))

    def do_GET(self):
        texts = {"/harness": HARNESS, "/pages.json": json.dumps(self.wanted)}
        if self.path not in texts:
            return super().do_GET()
        body = texts[self.path].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        self.found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def look_at(folders, browser, only=()):
    """What axe says of every page in every view, one after the other."""
    folders = [Path(folder).resolve() for folder in folders]
    pages = [
        f"/{place}/{page}" for place, folder in enumerate(folders) for page in chosen(folder, only)
    ]
    axe()
    for width, theme in VIEWS:
        yield from looked_at(folders, pages, width, theme, browser)


def looked_at(folders, pages, width, theme, browser):
    """What axe says of the pages in one view; the browser has the theme for its preference."""
    wanted, found = {"pages": pages, "width": width, "theme": theme}, queue.Queue()
    handler = functools.partial(Handler, folders=folders, wanted=wanted, found=found)
    preference = f"--blink-settings=preferredColorScheme={PREFERRED[theme]}"
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/harness"
        command = [browser, *FLAGS, preference, f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            [*command, "--remote-debugging-port=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            for page in pages:
                try:
                    yield found.get(timeout=PATIENCE_S)
                except queue.Empty:
                    words = f"no answer within {PATIENCE_S} s; no page after it was looked at"
                    yield {"url": page, "width": width, "theme": theme, "failed": words}
                    break
        finally:
            process.terminate()
            process.wait()
            server.shutdown()


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
    parser.add_argument("--only", nargs="+", default=(), metavar="PAGE")
    asked, browser = parser.parse_args(), find_browser()
    if browser is None:
        sys.exit("no Chromium here: install it, or leave this check to a machine that has one")
    results = list(look_at(asked.folders, browser, asked.only))
    found = list(faults(results))
    print(*found, sep="\n")
    print(f"{len(results)} views of pages, {len(found)} kinds of faults")
    sys.exit(bool(found) or not results)
