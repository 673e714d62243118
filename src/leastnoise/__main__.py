"""`python -m leastnoise` is the command line."""

from leastnoise.cli import main

main()
