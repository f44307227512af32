"""``yarntune scheduler explain``: why applications wait, and what would free them."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from tuner.cli.output import json_option, note, print_json
from tuner.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rules.explain.model import Effect, Explanation, Remedy
    from rules.live.model import LiveApplication, LiveCluster
    from tuner.yarn.client import ResourceManagerClient

__all__ = ["as_text", "explain_command"]

_WIDTH = 80


@click.command("explain")
@click.argument("app", required=False)
@click.option("--queue", help="All that wait in this queue, and below it.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many.")
@json_option
def explain_command(app: str | None, queue: str | None, limit: int, as_json: bool) -> None:
    """Say why the application APP waits: the rule that binds, and the property that would free it.

    Without APP, all applications that wait, the oldest first. Nothing is changed.
    """
    if app and queue:
        raise click.UsageError("give an application or --queue, not both")
    from rules.live.read import connect, read_cluster
    from tuner.settings import Settings

    client, target = connect(Settings.from_environment())
    with client:
        live = read_cluster(client, target, time.time())
        chosen = [_application(client, live, app)] if app else _waiting(live, queue)
    if len(chosen) > limit:
        note(f"{len(chosen)} applications wait; these are the {limit} oldest (--limit)")
    from rules.explain.explain import explain

    if not as_json and chosen:
        note("asking the model; the first run after an installation compiles for some seconds")
    found = explain(live, chosen[:limit])
    if as_json:
        print_json({"time": live.time_s, "waiting": len(chosen), "applications": [_json(each) for each in found]})
    elif not found:
        click.echo(f"No application waits{f' in {queue}' if queue else ''}.")
    else:
        click.echo(as_text(found))


def _waiting(live: LiveCluster, queue: str | None) -> list[LiveApplication]:
    if queue is None:
        return [each for each in live.applications if each.waiting]
    found = live.queues.queue(queue)
    if found is None:
        leaves = [each.path for each in live.queues.root.walk() if each.leaf]
        known = ", ".join(leaves[:8]) + (", ..." if len(leaves) > 8 else "")
        raise InputError(f"there is no queue {queue!r}, or several of that name", f"give a full path: {known}")
    return [each for each in live.in_queue(found.path) if each.waiting]


def _application(client: ResourceManagerClient, live: LiveCluster, app_id: str) -> LiveApplication:
    import re

    if not re.fullmatch(r"application_\d+_\d+", app_id):
        raise InputError(
            f"{app_id!r} is not an application's id",
            "it looks like application_1796068807168_0001: see `yarn app -list`",
        )
    found = live.application(app_id)
    if found is not None:
        return found
    ended = client.application(app_id)
    if ended is None:
        raise InputError(
            f"{live.source} does not know {app_id}",
            "look whether it is another cluster's, or ended so long ago that the ResourceManager has forgotten it",
        )
    if not ended.ended:
        raise InputError(f"{app_id} has just changed its state", "try once more")
    said = " ".join(ended.diagnostics.split())
    raise InputError(
        f"{app_id} waits no more: it has ended ({ended.state}, {ended.final_status})",
        f"the ResourceManager says: {said[:300]}" if said else "its logs are at `yarn logs -applicationId`",
    )


def as_text(found: Sequence[Explanation]) -> str:
    """Explanations for people, in 80 columns; what was assumed stands once at the end."""
    parts = ["\n".join(_lines(each)) for each in found]
    effects = [each.remedy.effect for each in found if each.remedy is not None and each.remedy.effect is not None]
    if effects:
        assumptions = dict.fromkeys(assumption for effect in effects for assumption in effect.assumptions)
        parts.append("\n".join(_wrap("Times are the model's, assuming that " + "; ".join(assumptions) + ".")))
    return "\n\n".join(parts)


def _lines(found: Explanation) -> Iterator[str]:
    app = found.application
    waited = f"has waited {_duration(found.waiting_s)}" if found.waiting_s else "does not wait"
    yield from _wrap(f"{app.id} ({app.name or 'no name'}) of {app.user} in {app.queue} {waited}")
    yield from _wrap(f"Why: {found.reason}" + (f" [{found.rule}]" if found.rule else ""), 2)
    for figure in found.figures:
        yield from _wrap(f"{figure.name}: {figure.value}", 4)
    if found.remedy is not None:
        yield from _remedy_lines(found.remedy)
    elif found.no_remedy:
        yield from _wrap(f"What helps: {found.no_remedy}", 2)
    for doubt in found.doubts:
        yield from _wrap(f"Careful: {doubt}", 2)


def _remedy_lines(remedy: Remedy) -> Iterator[str]:
    yield "  What would free it:"
    for change in remedy.changes:
        yield from _wrap(f"{change.property}: {change.before or '(not set)'} -> {change.after}", 4)
    if remedy.effect is None:
        return
    yield "  What that does to the queues' applications (mean time to the end):"
    for queue in remedy.effect.queues:
        many = "application" if queue.applications == 1 else "applications"
        times = f"{_duration(queue.before_s)} -> {_duration(queue.after_s)}"
        if queue.unfinished_before == queue.applications == queue.unfinished_after:
            times = "none ends within a day, with it or without"
        elif queue.unfinished_before or queue.unfinished_after:
            times += f"; without an end: {queue.unfinished_before} -> {queue.unfinished_after}"
        yield from _wrap(f"{queue.path} ({queue.applications} {many}): {times}", 4)


def _wrap(text: str, indent: int = 0) -> list[str]:
    before = " " * indent
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=before,
        subsequent_indent=before + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _duration(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _json(found: Explanation) -> dict[str, Any]:
    from rules.live.document import application_document

    return {
        "application": application_document(found.application),
        "waiting_seconds": found.waiting_s,
        "rule": found.rule,
        "reason": found.reason,
        "figures": [{"name": figure.name, "value": figure.value} for figure in found.figures],
        "remedy": None if found.remedy is None else _remedy_json(found.remedy),
        "advice": found.no_remedy,
        "doubts": list(found.doubts),
    }


def _remedy_json(remedy: Remedy) -> dict[str, Any]:
    return {
        "changes": [
            {"property": change.property, "before": change.before, "after": change.after} for change in remedy.changes
        ],
        "effect": None if remedy.effect is None else _effect_json(remedy.effect),
    }


def _effect_json(effect: Effect) -> dict[str, Any]:
    return {
        "queues": [
            {
                "path": queue.path,
                "applications": queue.applications,
                "mean_seconds_before": queue.before_s,
                "mean_seconds_after": queue.after_s,
                "unfinished_before": queue.unfinished_before,
                "unfinished_after": queue.unfinished_after,
            }
            for queue in effect.queues
        ],
        "assumptions": list(effect.assumptions),
    }
