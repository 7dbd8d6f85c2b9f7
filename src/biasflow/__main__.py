"""`python -m biasflow`: the command line."""

from .cli import main

main()
