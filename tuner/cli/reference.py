"""``docs/commands.md`` from the commands themselves: ``python -m tuner.cli.reference > docs/commands.md``."""

from __future__ import annotations

import inspect

import click

from tuner.cli import COMMANDS, cli

_HEAD = """\
# Commands

Every command has `--json` where it prints data: data on stdout, notes on stderr. The exit status is 0 done, 1 error
with a message that says what to do, 2 usage, 130 interrupted. `NO_COLOR` switches colours off.

This page is written by `python -m tuner.cli.reference`.
"""


def leaf_commands() -> list[tuple[str, click.Command]]:
    """Every command that does something, with its full name, in the order of the help."""
    context = click.Context(cli)
    found = [(name, cli.get_command(context, name)) for name in COMMANDS]
    return [leaf for name, command in found if command is not None for leaf in _leaves(name, command)]


def reference() -> str:
    """The page."""
    return "\n".join([_HEAD, *(_section(name, command) for name, command in leaf_commands())])


def _leaves(name: str, command: click.Command) -> list[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        children = [(sub, command.get_command(context, sub)) for sub in command.list_commands(context)]
        return [leaf for sub, child in children if child is not None for leaf in _leaves(f"{name} {sub}", child)]
    return [(name, command)]


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    options = [record for p in command.params if isinstance(p, click.Option) if (record := p.get_help_record(context))]
    rows = [f"| `{names}` | {_cell(help_text)} |" for names, help_text in options]
    table = ["| option | what it does |", "|---|---|", *rows, ""] if rows else []
    return "\n".join([f"## `yarntune {name}`", "", f"    yarntune {name} {usage}", "", text, "", *table])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    click.echo(reference(), nl=False)
