"""The scripts of gallery/, sorted into the sections of its README, as sphinx-gallery wants them:
what keeps a picture in a file becomes what shows it."""

import importlib.util
import re
from pathlib import Path

GALLERY = Path(__file__).parents[2] / "gallery"
COPIES = Path(__file__).parents[1] / "_gallery"
FRAMEWORKS = ("torch", "flax", "keras")
"""What a script may need beyond the tools of the site."""


def sections():
    """Heading, text, and names of scripts, in the order of the README."""
    parts = re.split(r"^## (.+)$", (GALLERY / "README.md").read_text(encoding="utf-8"), flags=re.M)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        words = text.partition("\n- ")[0].strip()
        yield heading, words, re.findall(r"^- `(\w+)\.py`", text, re.M)


def descriptions():
    """What each script shows, in the README's words."""
    lines = re.findall(
        r"^- `(\w+)\.py`: (.+)$", (GALLERY / "README.md").read_text(encoding="utf-8"), re.M
    )
    return {name: words[:1].upper() + words[1:] for name, words in lines}


def folder_of(heading):
    return re.sub(r"\W+", "_", heading.lower())


def shown(script):
    """The script as a page and a notebook have it."""
    script = script.replace("from pictures import keep\n", "")
    if "pyplot" not in script:
        script = re.sub(
            r"^(import numpy|import jax\n|from sklearn|import biasflow)",
            SHOWING,
            script,
            count=1,
            flags=re.M,
        )
    return re.sub(r"^( *)keep\(.*\)$", r"\1plt.show()", script, flags=re.M)


SHOWING = r"import matplotlib.pyplot as plt\n\1"


def copies():
    """Path and text of every file that sphinx-gallery reads."""
    yield (
        COPIES / "GALLERY_HEADER.rst",
        f"{title('Gallery')}\n\nShort scripts that draw a picture.\n",
    )
    for heading, words, names in sections():
        folder = COPIES / folder_of(heading)
        yield folder / "GALLERY_HEADER.rst", f"{title(heading, '-')}\n\n{words}\n"
        for name in names:
            yield (
                folder / f"{name}.py",
                shown((GALLERY / f"{name}.py").read_text(encoding="utf-8")),
            )


def title(words, line="="):
    return f"{words}\n{line * len(words)}"


def hush(configuration, script):
    """Before a script is run: what is compiled on the way is no part of what it shows."""
    from biasflow._numerics import compilation

    compilation.say = lambda words: None


def copy_scripts():
    """Write what changed, and remove what is gone."""
    wanted = dict(copies())
    for path in [*COPIES.rglob("*.py"), *COPIES.rglob("*.rst")]:
        if path not in wanted:
            path.unlink()
    for path, text in wanted.items():
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def missing_framework(script):
    """The framework that a script imports and that is not installed, or None."""
    imported = re.findall(r"^(?:import|from) (\w+)", script, re.M)
    wanted = [name for name in FRAMEWORKS if name in imported]
    return next((name for name in wanted if importlib.util.find_spec(name) is None), None)


def run_pattern():
    """Which scripts are run: those whose frameworks are there; others are shown and not run."""
    missing = [
        path.stem
        for path in sorted(GALLERY.glob("*.py"))
        if missing_framework(path.read_text(encoding="utf-8"))
    ]
    return rf"/(?!(?:{'|'.join(missing)})\.py)\w+\.py$" if missing else r"\.py$"


class ReadmeOrder:
    """Scripts in the order of the README."""

    def __init__(self, folder):
        self.names = [name for _, _, names in sections() for name in names]

    def __call__(self, file):
        return self.names.index(Path(file).stem)


def configuration():
    copy_scripts()
    return {
        "examples_dirs": ["_gallery"],
        "gallery_dirs": ["gallery"],
        "subsection_order": [f"_gallery/{folder_of(heading)}" for heading, _, _ in sections()],
        "within_subsection_order": "gallery_scripts.ReadmeOrder",
        "filename_pattern": run_pattern(),
        "backreferences_dir": None,
        "capture_repr": (),
        "download_all_examples": False,
        "min_reported_time": 10**6,
        "nested_sections": False,
        "reset_modules": ("matplotlib", "gallery_scripts.hush"),
        "show_signature": False,
        "write_computation_times": False,
    }
