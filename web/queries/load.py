"""The cluster's load over time: what this server saw, and before that what the store's samples of the queues say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rules.lifecycle.context import cluster_id
from tuner.errors import YarntuneError
from tuner.settings import Settings
from tuner.store import Store
from tuner.yarn.locate import locate
from web import charts
from web.live import LoadSample
from web.tables import Column, Table

SPAN_S = 86_400.0
_GAP_S = 3_600.0
"""Where nothing was seen for longer, nothing is drawn: the daemon samples every 15 minutes."""
_ROOT = "root"


def stored_load(store: Store, settings: Settings, *, now: float) -> list[LoadSample]:
    """The last day's load of the cluster that the settings name, as the store has it; so it outlives a server.

    Nothing where no cluster is named, or nothing was sampled: ``yarntune scheduler daemon`` and ``collect`` do that.
    """
    try:
        cluster = cluster_id(locate(settings))
    except YarntuneError:
        return []
    return [
        LoadSample(
            at=each.at,
            used_mib=each.used_mib,
            # Of the root, that is all that the nodes have.
            total_mib=each.guaranteed_mib,
            pending_containers=None,
            running=each.running_applications,
            waiting=each.pending_applications,
        )
        for each in store.history.queue_samples(cluster, since=now - SPAN_S, queue=_ROOT)
    ]


def load_table(samples: Sequence[LoadSample]) -> Table:
    """The samples, newest first."""
    columns = (
        Column("at", "When", "time"),
        Column("used_mib", "Used", "mib"),
        Column("total_mib", "Of", "mib"),
        Column("running", "Running", "number"),
        Column("waiting", "Waiting", "number"),
        Column("pending_containers", "Containers waiting", "number"),
    )
    rows = [vars(sample) for sample in reversed(samples)]
    return Table("load_over_time", "Load of the cluster over time", columns, rows, "Not seen yet.")


def load_chart(samples: Sequence[LoadSample]) -> charts.Chart:
    """Memory in use over time, against what there is."""
    points = list(_with_gaps(samples))
    x = [int(at * 1000) for at, _, _ in points]
    summary = "Nothing was measured yet."
    if samples:
        newest, most = samples[-1], max(sample.used_mib for sample in samples) / 1024
        share = f"{newest.used_mib / newest.total_mib:.0%} of the memory" if newest.total_mib else "Memory"
        hours = (newest.at - samples[0].at) / 3600
        span = f"these {hours:.0f} hours" if hours >= 1.5 else "this time"
        summary = f"{share} was in use when it was seen last; at most {most:.1f} GiB were in {span}."
    return charts.Chart(
        "load-chart",
        "Memory in use",
        summary,
        (
            charts.line("used", x, [_gib(used) for _, used, _ in points], fill=True, shape="hv"),
            charts.line("in all", x, [_gib(total) for _, _, total in points], colour="@muted", dash="dot"),
        ),
        "load_over_time",
        {"xaxis": {"type": "date"}, "yaxis": charts.axis("GiB", rangemode="tozero")},
    )


def _with_gaps(samples: Sequence[LoadSample]) -> Iterator[tuple[float, int | None, int | None]]:
    """Time, used and total of each, and nothing in between where there is a gap."""
    before: LoadSample | None = None
    for sample in samples:
        if before is not None and sample.at - before.at > _GAP_S:
            yield before.at + 1.0, None, None
        yield sample.at, sample.used_mib, sample.total_mib
        before = sample


def _gib(mib: int | None) -> float | None:
    return None if mib is None else mib / 1024
