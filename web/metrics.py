"""What Prometheus is told: totals of the store, the last look at the cluster, and how well estimates did.

All is read when it is asked for, so that several servers over one store tell the same. What takes long is kept for a
minute.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from rules.daemon.accuracy import summarize
from rules.daemon.judged import judge_plans
from tuner.errors import StoreError
from tuner.store import RunKind, Store
from tuner.store.statistics import LatencySummary
from tuner.units import gib_seconds
from web.live import ClusterWatch

if TYPE_CHECKING:
    from web.notify import Notifier

LATENCIES_OVER_S = 86_400.0
KEPT_S = 60.0
_TRIALS = (RunKind.DEFAULT, RunKind.TRIAL)


@dataclass(frozen=True)
class _Judged:
    """What takes long to find out: of each cluster its latencies by queue, and how well its plans were predicted."""

    latencies: tuple[LatencySummary, ...]
    accuracy: tuple[tuple[str, int, float | None, float | None], ...]


class StoreCollector(Collector):
    """Reads the store and the last look at the cluster.

    Args:
        store: the store.
        cluster: what looks at the cluster.
        notifier: what sends webhooks; None where none are wanted.
    """

    def __init__(self, store: Store, cluster: ClusterWatch, notifier: Notifier | None = None) -> None:
        self._store, self._cluster, self._notifier = store, cluster, notifier
        self._judged: tuple[float, _Judged] | None = None
        self._lock = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        """Everything; without the store's part where it does not answer."""
        yield InfoMetricFamily("yarntune", "This yarntune.", value={"version": version("yarntune")})
        try:
            found = [*self._totals(), *self._slow()]
        except StoreError:
            found = []
        yield _gauge("yarntune_store_up", "Whether the store answers.", float(bool(found)))
        yield from found
        yield from self._live()
        if self._notifier is not None:
            sent = CounterMetricFamily("yarntune_webhooks", "Webhooks by how they went.", labels=["outcome"])
            for outcome, count in self._notifier.counts().items():
                sent.add_metric([outcome], count)
            yield sent

    def _totals(self) -> Iterator[Metric]:
        statistics = self._store.statistics
        kinds = statistics.run_kinds()
        runs = GaugeMetricFamily("yarntune_runs", "Runs in the store.", labels=["kind", "state"])
        trials = GaugeMetricFamily("yarntune_trials", "Runs that searches made.", labels=["state"])
        by_state: dict[str, int] = {}
        for (kind, state), count in sorted(kinds.items()):
            runs.add_metric([kind.value, state.value], count)
            if kind in _TRIALS:
                by_state[state.value] = by_state.get(state.value, 0) + count
        for name, count in by_state.items():
            trials.add_metric([name], count)
        yield from (runs, trials)
        yield _gauge("yarntune_jobs", "Jobs in the store.", self._store.jobs.count())
        studies = {state.value: count for state, count in statistics.study_states().items()}
        yield _by_state("yarntune_studies", "Searches for a configuration.", studies)
        yield _by_state("yarntune_plans", "Plans of queues.", statistics.plan_states())
        savings = statistics.savings()
        yield _gauge("yarntune_tuned_jobs", "Jobs with a best configuration.", len(savings))
        yield _gauge(
            "yarntune_saved_gib_seconds", "Memory x time that production runs saved since their jobs were tuned.",
            gib_seconds(sum(each.realised for each in savings)),
        )  # fmt: skip
        yield _gauge(
            "yarntune_saves_gib_seconds_per_run", "Memory x time that one run of each tuned job saves.",
            gib_seconds(sum(each.per_run for each in savings)),
        )  # fmt: skip

    def _slow(self) -> Iterator[Metric]:
        judged = self._judge(time.time())
        latency = GaugeMetricFamily(
            "yarntune_queue_latency_seconds", "Latency of applications that ended in the last day.",
            labels=["cluster", "queue", "quantile"],
        )  # fmt: skip
        count = GaugeMetricFamily(
            "yarntune_queue_applications", "Applications that ended in the last day.", labels=["cluster", "queue"]
        )
        for each in judged.latencies:
            count.add_metric([each.cluster, each.queue], each.applications)
            for quantile, value_s in (("0.5", each.median_s), ("0.95", each.p95_s)):
                latency.add_metric([each.cluster, each.queue, quantile], value_s)
        error = GaugeMetricFamily(
            "yarntune_estimate_error_ratio",
            "Predicted against measured mean latency of finished jobs, as a fraction of what was measured.",
            labels=["cluster", "statistic"],
        )
        plans = GaugeMetricFamily("yarntune_estimates_measured", "Plans that could be measured.", labels=["cluster"])
        for cluster, measured, median_error, bias in judged.accuracy:
            plans.add_metric([cluster], measured)
            for name, value in (("median_absolute", median_error), ("mean", bias)):
                if value is not None:
                    error.add_metric([cluster, name], value)
        yield from (latency, count, error, plans)

    def _judge(self, now: float) -> _Judged:
        with self._lock:
            if self._judged is not None and now - self._judged[0] < KEPT_S:
                return self._judged[1]
            accuracy = []
            for cluster in self._store.statistics.clusters():
                summary = summarize(judge_plans(self._store, cluster, now_s=now))
                accuracy.append((cluster, summary.plans, summary.median_error, summary.bias))
            latencies = self._store.statistics.latencies(finished_since=now - LATENCIES_OVER_S)
            found = _Judged(tuple(latencies), tuple(accuracy))
            self._judged = (now, found)
            return found

    def _live(self) -> Iterator[Metric]:
        looks = CounterMetricFamily("yarntune_rm_looks", "Looks at the ResourceManager.")
        looks.add_metric([], self._cluster.looks)
        failures = CounterMetricFamily("yarntune_rm_errors", "Looks that failed.")
        failures.add_metric([], self._cluster.failures)
        yield from (looks, failures)
        samples = self._cluster.samples()
        if not samples:
            return
        last = samples[-1]
        yield _gauge("yarntune_cluster_seen_timestamp_seconds", "When the cluster was seen last.", last.at)
        mib = 1024**2
        total = None if last.total_mib is None else last.total_mib * mib
        for name, help_, value in (
            ("yarntune_cluster_memory_used_bytes", "Memory of containers.", last.used_mib * mib),
            ("yarntune_cluster_memory_bytes", "Memory of all nodes.", total),
            ("yarntune_cluster_containers_waiting", "Containers asked for.", last.pending_containers),
            ("yarntune_cluster_applications_running", "Applications that run.", last.running),
            ("yarntune_cluster_applications_waiting", "Applications that wait.", last.waiting),
        ):
            if value is not None:
                yield _gauge(name, help_, value)


def registry(collector: Collector) -> CollectorRegistry:
    """A registry with nothing but that collector: the process's own figures would differ from thread to thread."""
    found = CollectorRegistry(auto_describe=False)
    found.register(collector)
    return found


def _gauge(name: str, help_: str, value: float) -> Metric:
    found = GaugeMetricFamily(name, help_)
    found.add_metric([], value)
    return found


def _by_state(name: str, help_: str, counts: dict[str, int]) -> Metric:
    found = GaugeMetricFamily(name, help_, labels=["state"])
    for state, count in counts.items():
        found.add_metric([state], count)
    return found
