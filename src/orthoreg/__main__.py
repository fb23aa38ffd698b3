"""`python -m orthoreg`."""

from .cli import main

main()
