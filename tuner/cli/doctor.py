"""``yarntune doctor``: what is there, and how to mend what is not."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

import click

from tuner.cli.output import json_option, print_json
from tuner.services.doctor import Check, Finding, Status, examine
from tuner.settings import Settings

# Each part has its own checks, found by name as commands are.
CHECKS: dict[str, str] = {
    "python": "tuner.services.doctor:check_python",
    "rule engine": "tuner.services.doctor:check_rule_engine",
    "java": "workloads.cluster.doctor:check_java",
    "spark": "tuner.services.doctor:check_spark",
    "jars": "workloads.cluster.doctor:check_jars",
    "yarn": "tuner.services.doctor:check_yarn",
    "store": "tuner.services.doctor:check_store",
}


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Say what of Python, Java, Spark, YARN and the store is there, and how to mend what is not.

    Nothing is changed. The exit status is 0 where nothing fails, warnings or not, and 1 otherwise; no cluster is a
    warning, since much can be done without.
    """
    checks = {name: _load(target) for name, target in CHECKS.items()}
    findings = examine(checks, Settings.from_environment(), os.environ)
    if as_json:
        print_json(
            {
                "status": _worst(findings).value,
                "checks": [
                    {"name": each.name, "status": each.status.value, "detail": each.detail, "mend": each.mend}
                    for each in findings
                ],
            }
        )
    else:
        click.echo(render(findings))
    if _worst(findings) is Status.FAIL:
        raise click.exceptions.Exit(1)


def _load(target: str) -> Check:
    module_name, _, attribute = target.partition(":")
    check: Check = getattr(importlib.import_module(module_name), attribute)
    return check


def _worst(findings: Sequence[Finding]) -> Status:
    statuses = {finding.status for finding in findings}
    return next(status for status in (Status.FAIL, Status.WARN, Status.OK) if status in statuses)


def render(findings: Sequence[Finding]) -> str:
    """The findings for people: a line each, how to mend it below, a count at the end."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.status.value:<4}  {finding.name:<{width}}  {finding.detail}")
        if finding.mend:
            lines.append(f"{'':<4}  {'':<{width}}  to mend it: {finding.mend}")
    counts = {status: sum(finding.status is status for finding in findings) for status in Status}
    lines += ["", f"{counts[Status.OK]} ok, {counts[Status.WARN]} to look at, {counts[Status.FAIL]} failed"]
    return "\n".join(lines)
