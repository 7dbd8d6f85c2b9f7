"""Where the scripts of the gallery leave their pictures."""

import sys
from pathlib import Path


def keep(figure, film=None) -> Path:
    """Write a figure to the path on the command line, else into `gallery/out` by the script's name.

    film: a flow, whose film goes beside the picture.
    On the site and in notebooks a figure shows itself, and `plt.show()` stands for this line.
    """
    name = f"{Path(sys.argv[0]).stem}.png"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "out" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    if film is not None:
        film.animate(path.with_suffix(".gif"), frames=60)
    return path
