"""``yarntune scheduler``: the commands about the queues; each is loaded when it is called."""

from __future__ import annotations

import importlib

import click

from tuner.cli import CommandEntry

__all__ = ["SCHEDULER_COMMANDS", "scheduler"]

SCHEDULER_COMMANDS: dict[str, CommandEntry] = {
    "estimate": CommandEntry("rules.cli.estimate:estimate_command", "how the jobs of a case file would go"),
}
"""The commands of the group, in the order of the help."""


class _SchedulerGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(SCHEDULER_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = SCHEDULER_COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module_name, _, attribute = entry.target.partition(":")
        command = getattr(importlib.import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in SCHEDULER_COMMANDS.items()])


@click.group(cls=_SchedulerGroup)
def scheduler() -> None:
    """The queues of YARN's scheduler: predict, optimize, change."""
