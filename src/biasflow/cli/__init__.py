"""The command line. Imports are deferred to the commands: `--help` answers at once."""

import os

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
INTERRUPTED = 130  # exit code


def main() -> None:
    """Entry point. BLAS threads are capped to one unless the environment says otherwise: matrices
    here are small, and threads that wait for each other on a busy machine cost far more than they
    give."""
    for variable in BLAS_THREADS:
        os.environ.setdefault(variable, "1")
    try:
        from .commands import main as run
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    run()


__all__ = ["main"]
