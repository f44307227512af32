"""Prints ``docs/parameters.md``."""

from __future__ import annotations

import sys

from tuner.spark.params.docs import render

sys.stdout.write(render())
