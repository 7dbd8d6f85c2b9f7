"""`python -m biasflow.cli` is the command line."""

from . import main

main()
