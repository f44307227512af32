"""``yarntune scheduler``: the commands about the queues; each is loaded when it is called."""

from __future__ import annotations

import click

from tuner.cli.lazy import CommandEntry, LazyGroup

__all__ = ["SCHEDULER_COMMANDS", "scheduler"]

SCHEDULER_COMMANDS: dict[str, CommandEntry] = {
    "show": CommandEntry("rules.cli.show:show_command", "the queues of the cluster, and what they use"),
    "explain": CommandEntry("rules.cli.explain:explain_command", "why applications wait, and what would free them"),
    "estimate": CommandEntry("rules.cli.estimate:estimate_command", "how the jobs of a case file would go"),
    "optimize": CommandEntry("rules.cli.optimize:optimize_command", "the best configuration for a case file"),
    "backtest": CommandEntry("rules.cli.backtest:backtest_command", "what the tuner would have done to a case file"),
    "plan": CommandEntry("rules.cli.plan:plan_command", "plan a change of the cluster's queues"),
    "apply": CommandEntry("rules.cli.apply:apply_command", "apply a plan: checked, read back, watched"),
    "rollback": CommandEntry("rules.cli.rollback:rollback_command", "put the queues of before a plan back"),
    "history": CommandEntry("rules.cli.history:history_command", "the plans, and what became of each"),
    "freeze": CommandEntry("rules.cli.freeze:freeze_command", "keep everything from changing the queues"),
    "unfreeze": CommandEntry("rules.cli.freeze:unfreeze_command", "let the queues be changed again"),
    "run-once": CommandEntry("rules.cli.run_once:run_once_command", "one run of the queue tuner, for cron"),
    "daemon": CommandEntry("rules.cli.daemon:daemon_command", "the queue tuner as a service: by clock and by event"),
    "collect": CommandEntry("rules.cli.collect:collect_command", "read applications and queues into the store"),
    "accuracy": CommandEntry("rules.cli.accuracy:accuracy_command", "what was predicted, against what happened"),
}
"""The commands of the group, in the order of the help."""


@click.group(cls=LazyGroup, entries=SCHEDULER_COMMANDS)
def scheduler() -> None:
    """The queues of YARN's scheduler: predict, optimize, change."""
