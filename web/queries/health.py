"""Settings and health: what this server uses, and whether it is there."""

from __future__ import annotations

from typing import Any

from tuner.errors import StoreError
from tuner.settings import SETTINGS
from tuner.store import Store
from tuner.store.schema import HEAD
from web.config import WebConfig
from web.live import ClusterState
from web.respond import View
from web.tables import Column, Table


def checks(store: Store, state: ClusterState) -> list[dict[str, Any]]:
    """Each part with whether it is there, and what to do where it is not."""
    return [_check_store(store), _check_cluster(state), _check_abandoned(store)]


def settings(store: Store, config: WebConfig, state: ClusterState) -> View:
    """The page."""
    columns = (
        Column("name", "Part"),
        Column("state", "State", "state"),
        Column("detail", "What"),
        Column("hint", "What to do"),
    )
    health = Table("health", "Health", columns, checks(store, state))
    names = (Column("name", "Variable", "code"), Column("value", "Value", "code"), Column("help", "What it does"))
    table = Table("settings", "Settings", names, _settings(store, config))
    price = config.price
    values = {
        "price_per_gib_hour": None if price is None else price.per_gib_hour,
        "currency": None if price is None else price.currency,
        "anonymous_reads": config.anonymous_reads,
        "upload_limit_mib": config.upload_limit_mib,
    }
    return View("settings", "Settings and health", values, (health, table))


def _check_store(store: Store) -> dict[str, Any]:
    try:
        jobs = store.jobs.count()
    except StoreError as error:
        return {"name": "Store", "state": "failed", "detail": error.message, "hint": error.hint}
    return {"name": "Store", "state": "ok", "detail": f"{store.masked_url}, schema {HEAD}, {jobs} jobs", "hint": ""}


def _check_cluster(state: ClusterState) -> dict[str, Any]:
    if state.problem is not None:
        return {"name": "Cluster", "state": "failed", "detail": state.problem.message, "hint": state.problem.hint}
    if state.reading is None:
        return {"name": "Cluster", "state": "loading", "detail": "was not seen yet", "hint": "load the page again"}
    cluster, metrics = state.reading.cluster, state.reading.metrics
    detail = f"{cluster.source}: Hadoop {cluster.hadoop_version}, {cluster.scheduler} scheduler"
    detail += f", {metrics.nodes_active} nodes"
    away = metrics.nodes_lost + metrics.nodes_unhealthy
    if away:
        return {
            "name": "Cluster",
            "state": "WARNING",
            "detail": f"{detail}; {away} nodes are lost or unhealthy",
            "hint": "",
        }
    return {"name": "Cluster", "state": "ok", "detail": detail, "hint": ""}


def _check_abandoned(store: Store) -> dict[str, Any]:
    running = store.statistics.run_states()
    total = sum(count for state, count in running.items() if state.value == "RUNNING")
    detail = "no run is under way" if total == 0 else f"{total} runs are under way"
    return {"name": "Runs", "state": "ok", "detail": detail, "hint": ""}


def _settings(store: Store, config: WebConfig) -> list[dict[str, Any]]:
    values = config.settings
    shown = {
        "YARNTUNE_DATABASE_URL": store.masked_url,
        "YARNTUNE_DATA_DIR": str(values.data_dir),
        "YARNTUNE_STATE_DIR": str(values.state_dir),
        "YARNTUNE_CACHE_DIR": str(values.cache_dir),
        "YARNTUNE_RM_URL": values.rm_url,
        "YARNTUNE_RM_TIMEOUT": f"{values.rm_timeout_s:g}",
        "YARNTUNE_USER": values.user,
        "YARNTUNE_MEMORY_PRICE": None
        if values.memory_price is None
        else f"{values.memory_price.per_gib_hour:g} {values.memory_price.currency}",
        "YARNTUNE_WEB_PROGRAMS": ":".join(map(str, values.web_programs)),
    }
    # A setting that this page does not know how to show is named without its value: it may be a secret.
    return [{"name": each.name, "value": shown.get(each.name), "help": each.help} for each in SETTINGS]
