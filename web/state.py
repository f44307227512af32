"""What one server holds while it runs, and how a view gets at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import current_app

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from tuner.store import Store
    from web.auth import LoginLimiter
    from web.cases import Cases
    from web.config import WebConfig
    from web.estimates import Estimator
    from web.live import ClusterWatch
    from web.notify import Notifier
    from web.plan_changes import PlanChanges
    from web.reports import Reports
    from web.tunings import Tunings

_KEY = "yarntune"


@dataclass(frozen=True)
class WebState:
    """One server's parts.

    Attributes:
        config: how it is set up.
        store: open for as long as it runs.
        cluster: what the ResourceManager said last.
        limiter: of failed logins.
        estimator: answers what-ifs, in a process of its own.
        tunings: those that this server has started.
        reports: analyses of uploaded event logs.
        cases: what what-ifs are asked about.
        plan_changes: applies plans and takes them back.
        metrics: what Prometheus is told.
        notifier: sends webhooks; None where the settings name no receiver.
    """

    config: WebConfig
    store: Store
    cluster: ClusterWatch
    limiter: LoginLimiter
    estimator: Estimator
    tunings: Tunings
    reports: Reports
    cases: Cases
    plan_changes: PlanChanges
    metrics: CollectorRegistry
    notifier: Notifier | None = None

    def close(self) -> None:
        """Ends the threads and processes, and closes the store; running tunings go on."""
        if self.notifier is not None:
            self.notifier.close()
        self.cluster.close()
        self.estimator.close()
        self.store.close()


def attach(state: WebState, extensions: dict[str, object]) -> None:
    """Makes the state known to the application."""
    extensions[_KEY] = state


def web() -> WebState:
    """The state of the server that handles this request."""
    state = current_app.extensions[_KEY]
    assert isinstance(state, WebState)
    return state
