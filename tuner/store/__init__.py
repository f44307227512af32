"""The store: jobs, runs, studies, plans and audit; the only part that knows SQLAlchemy.

``from tuner.store import open_store`` and the records; the rest of the package is its own business.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tuner.store.history_records import ApplicationRecord, Collection, QueueSample
from tuner.store.records import (
    AuditRow,
    ClusterFreeze,
    ClusterLease,
    Job,
    JobSummary,
    NewJob,
    NewPlan,
    NewRun,
    NewStudy,
    NewToken,
    Owner,
    Plan,
    PlanTransition,
    Role,
    Run,
    RunKind,
    RunOutcome,
    RunState,
    Study,
    StudyState,
    Swept,
    Token,
)

if TYPE_CHECKING:
    from tuner.store.migration import SchemaState, SchemaStatus
    from tuner.store.repository import (
        Store,
        open_store,
        optuna_schema_lock,
        optuna_url,
        schema_status,
        upgrade_schema,
    )

__all__ = [
    "ApplicationRecord",
    "AuditRow",
    "ClusterFreeze",
    "ClusterLease",
    "Collection",
    "Job",
    "JobSummary",
    "NewJob",
    "NewPlan",
    "NewRun",
    "NewStudy",
    "NewToken",
    "Owner",
    "Plan",
    "PlanTransition",
    "QueueSample",
    "Role",
    "Run",
    "RunKind",
    "RunOutcome",
    "RunState",
    "SchemaState",
    "SchemaStatus",
    "Store",
    "Study",
    "StudyState",
    "Swept",
    "Token",
    "open_store",
    "optuna_schema_lock",
    "optuna_url",
    "schema_status",
    "upgrade_schema",
]

# Loaded when first asked for: SQLAlchemy takes a tenth of a second, and who only names a record need not wait for it.
_HEAVY = {
    "SchemaState": "tuner.store.migration",
    "SchemaStatus": "tuner.store.migration",
    "Store": "tuner.store.repository",
    "open_store": "tuner.store.repository",
    "optuna_schema_lock": "tuner.store.repository",
    "optuna_url": "tuner.store.repository",
    "schema_status": "tuner.store.repository",
    "upgrade_schema": "tuner.store.repository",
}


def __getattr__(name: str) -> Any:
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HEAVY[name]), name)
