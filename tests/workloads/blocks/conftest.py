"""The kernels of this machine, calibrated once for the test run."""

from __future__ import annotations

import pytest

from tuner.settings import Settings
from workloads.blocks.calibration import Calibration, calibrate


@pytest.fixture(scope="session")
def calibration() -> Calibration:
    return calibrate(Settings.from_environment().cache_dir)
