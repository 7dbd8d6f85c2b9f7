"""`python docs/check_site.py site`: every link inside the built site leads somewhere, to its anchor
too, and no page loads anything from outside; so that it opens from a folder, offline."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""What a browser fetches by itself."""
IMPORTED = re.compile(r"""(?:@import\s+["']?|url\(\s*["']?)(https?:)?//""")


class Page(HTMLParser):
    """The anchors of a page, where its links go, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self.headings = set(), [], [], []
        self.unnamed = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            self.loaded.append(values[LOADED[tag]])
        if tag == "img" and values.get("alt") is None:
            self.unnamed += 1
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))


def faults(site):
    """Sentences, one for each thing that is wrong."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loaded and parts.scheme != "data":
                    yield f"{name} loads {target} from outside"
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.is_file():
                yield f"{name} links to {target}, which is not there"
            elif to in pages and unquote(parts.fragment) not in {"", *pages[to].anchors}:
                yield f"{name} links to {target}: no such anchor"
        if page.unnamed:
            yield f"{name} has {page.unnamed} images without words for them (alt)"
        steps = zip(page.headings, page.headings[1:], strict=False)
        if page.headings[:1] not in ([], [1]) or any(b > a + 1 for a, b in steps):
            yield f"{name} has headings out of order: {page.headings}"
    for path in site.rglob("*.css"):
        if IMPORTED.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads something from outside"
    if not pages:
        yield f"no page in {site}"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve()))
    print(*found, sep="\n")
    print(f"{len(found)} faults")
    sys.exit(bool(found))
