"""``python -m tuner.cli``: the same as ``yarntune``."""

from tuner.cli import main

main()
