"""What every step of a plan's life needs: the store, the cluster, who acts, and the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rules.plan import Cluster
from tuner.settings import Settings
from tuner.yarn.client import ResourceManagerClient
from tuner.yarn.locate import Target, locate

if TYPE_CHECKING:
    from rules.backends import BackEnd
    from tuner.store import Store

__all__ = ["Context", "cluster_id", "open_context"]


@dataclass(frozen=True)
class Context:
    """A connected cluster and store.

    Attributes:
        store: where plans live.
        rm: the ResourceManager.
        back_end: how this cluster's scheduler is changed.
        cluster: which cluster it is.
        who: on whose behalf.
        lock_dir: where the lock file of this machine lies.
        clock: seconds since 1970-01-01 UTC.
        sleep: waits so many seconds.
        note: is told what is going on.
        settle_s: how long a configuration is read again and again before a write whose answer was lost is taken for
            not made, and before what the ResourceManager shows is taken for final.
    """

    store: Store
    rm: ResourceManagerClient
    back_end: BackEnd
    cluster: Cluster
    who: str
    lock_dir: Path
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    note: Callable[[str], None] = lambda _: None
    settle_s: float = 40.0


def cluster_id(target: Target) -> str:
    """The name under which a cluster's plans are kept: hosts and ports of its ResourceManagers, sorted."""
    places = (urlsplit(url if "://" in url else f"http://{url}") for url in target.rm_urls)
    return ",".join(sorted(f"{place.netloc.rpartition('@')[2]}{place.path.rstrip('/')}" for place in places))


@contextmanager
def open_context(settings: Settings, *, note: Callable[[str], None] = lambda _: None) -> Iterator[Context]:
    """Finds the cluster, connects to it and opens the store.

    Args:
        settings: name both.
        note: is told what is going on.

    Raises:
        YarntuneError: the cluster or the store is not there, or its scheduler cannot be changed from here.
    """
    from rules.backends.choose import choose_back_end
    from tuner.store import open_store

    target = locate(settings)
    with ResourceManagerClient.of(target, settings) as rm, open_store(settings) as store:
        info = rm.info()
        yield Context(
            store=store,
            rm=rm,
            back_end=choose_back_end(rm, target, settings),
            cluster=Cluster(cluster_id(target), info.hadoop_version, info.started_at_s),
            who=settings.user,
            lock_dir=settings.state_dir / "locks",
            note=note,
        )
