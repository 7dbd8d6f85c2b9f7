"""The command line. Imports are deferred to the commands: `--help` answers at once."""

import io
import os
import sys

from .._core.progress import plain_lines

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
INTERRUPTED = 130  # exit code


def main() -> None:
    """Entry point. BLAS threads are capped to one unless the environment says otherwise: matrices
    here are small, and threads that wait for each other on a busy machine cost far more than they
    give."""
    for variable in BLAS_THREADS:
        os.environ.setdefault(variable, "1")
    _speak_greek()
    plain_lines()
    try:
        from .commands import main as run
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    run()


def _speak_greek() -> None:
    """Pipes and files get UTF-8 where the system would give them a code page without α, as Windows
    does; whoever sets PYTHONIOENCODING gets that, with a mark for what it lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            chosen = stream.encoding if os.environ.get("PYTHONIOENCODING") else "utf-8"
            stream.reconfigure(encoding=chosen, errors="replace")


__all__ = ["main"]
