"""``python -m tuner.submit``: the same as ``yarntune-submit``."""

from tuner.submit.wrapper import main

main()
