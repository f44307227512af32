"""The table of everything that the API does."""

from __future__ import annotations

from rules.lifecycle.states import PlanState
from tuner.store import Role, RunKind, RunState
from web.api import reads, writes
from web.api.operation import BEFORE, LIMIT, Operation, Parameter
from web.api.schemas import (
    AuditItem,
    CaseBody,
    Cases,
    ChangeState,
    Importance,
    JobDocument,
    JobItem,
    MadeToken,
    Overview,
    Page,
    PlanDocument,
    PlanItem,
    Preview,
    Queues,
    Reason,
    ReportDocument,
    ReportItem,
    RollbackOrder,
    Row,
    RunBody,
    RunDocument,
    RunItem,
    Session,
    SettingsDocument,
    StudyItem,
    TokenItem,
    TokenOrder,
    TuningBody,
    TuningDocument,
    TuningItem,
    WhatIfBody,
    WhatIfResult,
    WorkloadDocument,
    Workloads,
)

_SEARCH = Parameter("study", "number of the search to look at; the newest where it is not given", "whole")
_STATE = Parameter("state", "in this state only", choices=tuple(RunState))
_KIND = Parameter("kind", "of this kind only", choices=tuple(RunKind))
_PLAN_STATE = Parameter("state", "in this state only", choices=tuple(PlanState))
_Q = Parameter("q", "part of a name, a program or a queue")
_SUBJECT = Parameter("subject", "of this subject only, for example `plan 12`")
_NAME = Parameter("name", "file name; its ending says how it is compressed", default="eventlog")
_INCREMENT = Parameter(
    "increment_mib", "what YARN rounds containers up to a multiple of", "whole", default=1024, most=1024**2
)
_RUNS = (LIMIT, BEFORE, _STATE, _KIND)

OPERATIONS: tuple[Operation, ...] = (
    Operation("getSession", "GET", "/session", "Who asks, and what they may.", reads.get_session, Session),
    Operation("getOverview", "GET", "/overview", "What there is to know at a glance.", reads.get_overview, Overview),
    Operation("getSettings", "GET", "/settings", "Settings and health.", reads.get_settings, SettingsDocument),
    Operation("getQueues", "GET", "/queues", "The queues, who waits, and why.", reads.get_queues, Queues),
    Operation("listJobs", "GET", "/jobs", "Jobs, newest first.", reads.list_jobs, Page[JobItem], (LIMIT, BEFORE, _Q)),
    Operation("getJob", "GET", "/jobs/{job_id}", "One job, with its best configuration.", reads.get_job, JobDocument,
              (_SEARCH,), refusals=(404,)),
    Operation("listRunsOfJob", "GET", "/jobs/{job_id}/runs", "Runs of a job, newest first.", reads.list_runs,
              Page[RunItem], _RUNS, refusals=(404,)),
    Operation("getImportance", "GET", "/jobs/{job_id}/importance", "Which properties a job's cost depends on.",
              reads.get_importance, Importance, (_SEARCH,), refusals=(404,)),
    Operation("listRuns", "GET", "/runs", "Runs of all jobs, newest first.", reads.list_runs, Page[RunItem], _RUNS),
    Operation("recordRun", "POST", "/runs", "Keep a run that has ended, and learn from it.", writes.record, RunItem,
              body=RunBody, role=Role.OPERATOR, status=201),
    Operation("getRun", "GET", "/runs/{run_id}", "One run.", reads.get_run, RunDocument, refusals=(404,)),
    Operation("getStudy", "GET", "/studies/{study_id}", "How far a search is.", reads.get_study, StudyItem,
              refusals=(404,)),
    Operation("getAdvice", "GET", "/advice/{job_key}", "What is advised for a job's next submission.",
              reads.get_advice, Row, refusals=(404,)),
    Operation("listTunings", "GET", "/tunings", "Tunings that this server has started.", reads.list_tunings,
              Page[TuningItem]),
    Operation("startTuning", "POST", "/tunings", "Start a tuning.", writes.start_tuning, TuningItem, body=TuningBody,
              role=Role.OPERATOR, status=201, refusals=(404,)),
    Operation("getTuning", "GET", "/tunings/{number}", "One tuning, with what it prints.", reads.get_tuning,
              TuningDocument, refusals=(404,)),
    Operation("stopTuning", "POST", "/tunings/{number}/stop", "Stop a tuning; what was learnt is kept.",
              writes.stop_tuning, TuningItem, body=Reason, role=Role.OPERATOR, refusals=(404, 409)),
    Operation("listEventLogs", "GET", "/event-logs", "Analyses of event logs, newest first.", reads.list_reports,
              Page[ReportItem]),
    Operation("analyzeEventLog", "POST", "/event-logs", "Analyse an event log; the log is not kept.",
              writes.analyze_log, ReportDocument, (_NAME, _INCREMENT), raw_body="application/octet-stream",
              role=Role.VIEWER, status=201),
    Operation("getEventLog", "GET", "/event-logs/{report}", "One analysis.", reads.get_report, ReportDocument,
              refusals=(404,)),
    Operation("listCases", "GET", "/cases", "Cases for what-ifs.", reads.list_cases, Cases),
    Operation("addCase", "POST", "/cases", "Keep a case.", writes.add_case, Cases, body=CaseBody, role=Role.OPERATOR,
              status=201),
    Operation("askWhatIf", "POST", "/what-if", "What the estimator says of other values; some seconds.",
              writes.ask_what_if, WhatIfResult, body=WhatIfBody, role=Role.VIEWER, refusals=(409,)),
    Operation("listPlans", "GET", "/plans", "Plans, newest first.", reads.list_plans, Page[PlanItem],
              (LIMIT, BEFORE, _PLAN_STATE)),
    Operation("getPlan", "GET", "/plans/{plan_id}", "One plan, and the change that is made of it.", reads.get_plan,
              PlanDocument, refusals=(404,)),
    Operation("applyPlan", "POST", "/plans/{plan_id}/apply", "Begin to apply a plan; getPlan says what becomes of it.",
              writes.apply_plan, ChangeState, body=Reason, role=Role.OPERATOR, status=202, refusals=(404, 409)),
    Operation("previewRollback", "GET", "/plans/{plan_id}/rollback", "What taking a plan back would change now.",
              reads.get_rollback, Preview, role=Role.OPERATOR, refusals=(404,)),
    Operation("rollBackPlan", "POST", "/plans/{plan_id}/rollback", "Begin to take a plan back.",
              writes.roll_back_plan, ChangeState, body=RollbackOrder, role=Role.OPERATOR, status=202,
              refusals=(404, 409)),
    Operation("listAudit", "GET", "/audit", "Who changed what, newest first.", reads.list_audit, Page[AuditItem],
              (LIMIT, BEFORE, _SUBJECT)),
    Operation("listWorkloads", "GET", "/workloads", "What there is to replay.", reads.list_workloads, Workloads),
    Operation("getWorkload", "GET", "/workloads/{name}", "One workload over time.", reads.get_workload,
              WorkloadDocument, refusals=(404,)),
    Operation("listTokens", "GET", "/tokens", "Tokens, newest first; never what they are.", reads.list_tokens,
              Page[TokenItem], role=Role.ADMIN),
    Operation("createToken", "POST", "/tokens", "Make a token, which is shown this once.", writes.make_token,
              MadeToken, body=TokenOrder, role=Role.ADMIN, status=201),
    Operation("revokeToken", "POST", "/tokens/{token_id}/revoke", "Revoke a token; its sessions end.",
              writes.end_token, TokenItem, body=Reason, role=Role.ADMIN, refusals=(404,)),
)  # fmt: skip
