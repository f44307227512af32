"""What is missing from a log, as sentences: pure, from what was read."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.spark.eventlog.model import ApplicationLog, StageLog


def findings(log: ApplicationLog, *, running_tasks: int, bad_times: int, closed_gaps_ms: int) -> Iterator[str]:
    """A sentence for each thing that the log lacks.

    Args:
        log: the log without its losses.
        running_tasks: tasks that started and did not end.
        bad_times: tasks whose finish is not after a launch.
        closed_gaps_ms: time between tasks that was taken as busy, to keep memory bounded.
    """
    if log.end_estimated and log.end_s is not None:
        yield "The application's end is not in the log; the last time that the log names stands for it."
    if log.start_s is None and log.events:
        yield "The application's start is not in the log, so its length is unknown."
    if log.events and not log.properties:
        yield "The log does not say the Spark properties."
    if running_tasks > 0:
        yield f"{_count(running_tasks, 'task')} started and did not end in the log."
    yield from _about_stages(log)
    if bad_times:
        yield f"{_count(bad_times, 'task')} {'has' if bad_times == 1 else 'have'} no sensible times and count 0 s."
    if log.wall_s is not None and log.busy_s > log.wall_s + 1.0:
        yield (
            f"Tasks ran for {log.busy_s:.1f} s, longer than the application's {log.wall_s:.1f} s: events are lost or "
            "clocks differ; the driver's time is taken as 0."
        )
    if closed_gaps_ms:
        yield f"Gaps between tasks of {closed_gaps_ms / 1e3:.1f} s in all were too many to keep and count as busy."
    if log.sampled:
        yield "The log is large: of its tasks, stages, jobs or RDDs only a part is kept. Totals count all tasks."


def _about_stages(log: ApplicationLog) -> Iterator[str]:
    bare = log.stages_without_tasks
    if bare:
        ended = sum(stage.completed_s is not None for stage in log.stages)
        yield (
            f"{len(bare)} of {_count(ended, 'finished stage')} {'has' if len(bare) == 1 else 'have'} no task in the "
            "log, as after compaction by the History Server; nothing can be learned about them."
        )
    short = [stage for stage in log.stages if _lost_some_tasks(stage)]
    if short:
        missing = sum(stage.expected_tasks - stage.totals.succeeded for stage in short)
        stages = _count(len(short), "finished stage")
        yield f"{_count(missing, 'task')} of {stages} {'is' if missing == 1 else 'are'} missing from the log."


def _lost_some_tasks(stage: StageLog) -> bool:
    # A later attempt may finish thanks to tasks of an earlier one that were still running, so only the first counts.
    return (
        stage.completed_s is not None
        and stage.failure is None
        and stage.attempt == 0
        and stage.totals.tasks > 0
        and stage.totals.succeeded < stage.expected_tasks
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
