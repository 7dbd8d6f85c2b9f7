"""`python docs/draw_figures.py [ID …]`: the pictures of the figures' pages, all or those named, at
the quick preset; points come from the store `.biasflow` where it has them, as after `make
reproduce`.

Drawing all takes longer than building the site, so they are kept, in docs/images/figures. Each
carries the stamp of the golden data (tests/golden) of its time: where a figure's data were written
down anew since, `is_stale` says that its picture is to be drawn anew too.
"""

import hashlib
import io
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "images" / "figures"
PRESET = "quick"
STAMP = "biasflow-golden"
"""The name under which a picture carries its stamp."""
DPI = 110
COLOURS = 128

sys.path.append(str(HERE.parent / "tests" / "golden"))

import golden_figures  # noqa: E402


def picture_of(id):
    """Where the picture of a figure is kept."""
    return FOLDER / f"{id.replace('/', '-')}.png"


def draw(id):
    """Compute, draw and keep one of them."""
    from PIL import Image, PngImagePlugin

    import biasflow as bf

    summary = bf.figure(id, preset=PRESET, store=bf.sweeps.Store(".biasflow"))
    drawn = bf.experiments.experiment(id).draw(summary)
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight")
    words = PngImagePlugin.PngInfo()
    words.add_text(STAMP, stamp(id))
    path = picture_of(id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(buffer) as whole:
        few = whole.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(path, optimize=True, pnginfo=words)
    return path


def stamp(id):
    """A hash of what tests/golden holds of a figure."""
    record = json.dumps(golden_figures.kept()[id], sort_keys=True)
    return hashlib.sha256(record.encode()).hexdigest()[:16]


def is_stale(id):
    """Whether the kept picture is missing, or older than the golden data."""
    from PIL import Image

    path = picture_of(id)
    if not path.is_file():
        return True
    with Image.open(path) as picture:
        picture.load()
        return picture.text.get(STAMP) != stamp(id)


if __name__ == "__main__":
    import matplotlib as mpl

    import biasflow as bf

    mpl.use("Agg")
    for id in sys.argv[1:] or bf.figures():
        path = draw(id)
        print(f"{path.relative_to(HERE)}: {path.stat().st_size // 1024} KiB")
