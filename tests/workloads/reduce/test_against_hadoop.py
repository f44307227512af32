"""A case reduced in time is, to Hadoop's own scheduler, the same case on a faster clock."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fidelity.configurations import alternatives
from tests.oracle.runner import build_or_skip, replay
from workloads.reduce import reduce_case
from workloads.samples import SAMPLES, generate
from workloads.to_case import CasePlan, Queues, make_case
from workloads.trace import case_to_json, parse_case

SETTINGS = ("as it is", "factor 10, fair, AM share 0.5")


@pytest.mark.slow
def test_latencies_shrink_by_the_factor_and_the_better_setting_stays_the_better() -> None:
    build_or_skip()
    workload = generate("bursty-hour", SAMPLES["bursty-hour"])
    case, _ = make_case(workload, 1200, 2400, CasePlan(nodes=1, queues=Queues("by-team", 3)))
    full = alternatives(case_to_json(case))
    cases = [full[name] for name in SETTINGS]
    cases += [case_to_json(reduce_case(parse_case(each), 16)) for each in cases[:2]]
    results = [
        np.array([job["finish"] - job["submit"] for job in result["jobs"]]) for result in replay(cases, cached=True)
    ]
    assert all((latencies > 0).all() for latencies in results)
    # A power of two divides without rounding, so that not even ties are broken otherwise.
    for long, short in zip(results[:2], results[2:], strict=True):
        assert short * 16 == pytest.approx(long, rel=1e-9)
    assert results[0].mean() != pytest.approx(results[1].mean(), rel=0.02)
