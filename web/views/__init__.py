"""Pages, a module for each area; each view asks :mod:`web.queries` and answers in the form that is wanted."""

from __future__ import annotations

from flask import Blueprint

from web.views.audit import pages as audit
from web.views.jobs import pages as jobs
from web.views.logs import pages as logs
from web.views.monitoring import pages as monitoring
from web.views.overview import pages as overview
from web.views.plans import pages as plans
from web.views.queues import pages as queues
from web.views.session import pages as session
from web.views.settings import pages as settings
from web.views.tunings import pages as tunings
from web.views.whatif import pages as whatif
from web.views.workloads import pages as workloads

BLUEPRINTS: tuple[Blueprint, ...] = (
    overview,
    jobs,
    tunings,
    logs,
    queues,
    whatif,
    plans,
    audit,
    workloads,
    settings,
    session,
    monitoring,
)
"""Every area, in the order of the navigation."""
