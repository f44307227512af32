"""Reads one event log, whatever its layout, compression and state, as a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from tuner.errors import InputError
from tuner.spark.eventlog.aggregate import AnotherApplication, Collector, RepeatedPart
from tuner.spark.eventlog.codecs import Damage, decode
from tuner.spark.eventlog.events import Event, parsers
from tuner.spark.eventlog.files import LogFiles, Part, log_files
from tuner.spark.eventlog.lines import LONGEST_LINE, Tail, TooLong, lines_of
from tuner.spark.eventlog.model import ApplicationLog, LogState
from tuner.spark.eventlog.stages import MAX_ROWS, MAX_STAGES

_PREFIX: Final = b'{"Event":"'
_MOST_SENTENCES: Final = 10
_MOST_NAMES: Final = 1_000
_ANY: Final = msgspec.json.Decoder(Event)
_JSON: Final = msgspec.json.Decoder(msgspec.Raw)

_Entry = tuple[str, Callable[[bytes], Any], Callable[[Any], None]]


def read_log(path: str | Path, *, max_rows: int = MAX_ROWS, max_stages: int = MAX_STAGES) -> ApplicationLog:
    """Reads an event log of Spark, from before 1.3 to 4.3.

    A log that is cut, unfinished or damaged is read as far as it is whole; its state and its losses say so. Memory
    stays bounded whatever the size: above ``max_rows`` tasks each stage keeps a random sample, its totals stay exact.

    Args:
        path: a file, a rolling directory (``eventlog_v2_...``), a folder of Databricks, or a zip or tar of these.
        max_rows: tasks to keep.
        max_stages: stages to keep.

    Raises:
        InputError: where there is no log at the path, or what is there is no event log.
    """
    files = log_files(Path(path))
    return _Reader(files, Collector(max_rows, max_stages)).read()


class _Reader:
    """The reading of one log: its position, and what went wrong so far."""

    def __init__(self, files: LogFiles, collector: Collector) -> None:
        self._files = files
        self._collector = collector
        self._losses: list[str] = []
        self._unlisted = 0
        self._damaged = bool(files.losses)
        self._counts: Counter[str] = Counter()
        self._unreadable: Counter[str] = Counter()
        self._unreadable_example = ""
        self._part_name = ""
        self._line = 0
        self._lines = 0
        self._bad_lines = 0
        self._bad_tail: str | None = None
        self._head = b""
        handlers = collector.handlers()
        self._table: dict[bytes, _Entry] = {
            name.encode(): (name, parse, handlers[name]) for name, parse in parsers().items()
        }

    def read(self) -> ApplicationLog:
        try:
            for part in self._files.parts:
                self._part(part)
        except AnotherApplication as other:
            self._damaged = True
            self._lose(f"A second application ({other}) starts at {self._where()}; it and all after it are left out.")
        except OSError as error:
            raise InputError(f"the event log {self._files.path} cannot be read: {error}") from error
        return self._result()

    # --- text ------------------------------------------------------------------------------------------------------

    def _part(self, part: Part) -> None:
        self._part_name = part.name
        self._line = 0
        with part.open() as stream:
            try:
                for item in lines_of(decode(stream)):
                    if isinstance(item, list):
                        self._many(item)
                    elif isinstance(item, Tail):
                        self._many([item.text])
                    elif isinstance(item, TooLong):
                        self._line += 1
                        self._lose(f"{self._where()} is longer than {LONGEST_LINE >> 20} MiB and left out.")
                    else:
                        self._damage(item)
            except RepeatedPart as repeated:
                self._damaged = True
                self._lose(f"The file {part.name} {repeated}; it is left out.")
            finally:
                self._lines += self._line

    def _many(self, lines: list[bytes]) -> None:
        self._head = self._head or lines[0][: len(_PREFIX)]
        for line in lines:
            self._line += 1
            if line and not line.isspace():
                self._event(line)

    def _where(self) -> str:
        return f"line {self._line}" + (f" of {self._part_name}" if len(self._files.parts) > 1 else "")

    def _lose(self, sentence: str) -> None:
        if len(self._losses) < _MOST_SENTENCES:
            self._losses.append(sentence)
        else:
            self._unlisted += 1

    def _damage(self, damage: Damage) -> None:
        if damage.at_end:
            self._bad_tail = f"{damage.what}, after {self._where()}"
        else:
            self._damaged = True
            self._lose(f"After {self._where()} {damage.what}; text is missing there.")

    # --- events ----------------------------------------------------------------------------------------------------

    def _event(self, line: bytes) -> None:
        if self._bad_tail:
            self._more_follows(self._bad_tail)
        name = line[10 : line.find(b'"', 10)] if line.startswith(_PREFIX) else self._name_in(line)
        if name is None:
            return
        short, parse, take = self._table.get(name) or self._learn(name)
        try:
            take(parse(line))
        except msgspec.ValidationError as error:
            if self._is_json(line):
                self._unreadable_event(short, error)
            return
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._bad_line()
            return
        except (OverflowError, RecursionError) as error:
            self._unreadable_event(short, error)
            return
        self._counts[short] += 1

    def _learn(self, name: bytes) -> _Entry:
        """The entry of a name that was not met before: the same event under its package, or one that is not read."""
        short = name.rpartition(b".")[2]
        entry = self._table.get(short) or (short.decode(errors="replace"), _ANY.decode, _pass_over)
        if len(self._table) < _MOST_NAMES:
            self._table[name] = entry
        return entry

    def _name_in(self, line: bytes) -> bytes | None:
        """The event's name where it is not the first thing in the line."""
        try:
            name = _ANY.decode(line).name
        except msgspec.ValidationError:
            if not self._is_json(line):
                return None
            name = ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._bad_line()
            return None
        if not name:
            self._unreadable_event("a line without an event's name", "")
            return None
        return name.encode()

    def _is_json(self, line: bytes) -> bool:
        """Whether a line that has not the expected fields is sound all the same; notes it as bad where it is not."""
        try:
            _JSON.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self._bad_line()
            return False
        except RecursionError:
            pass
        return True

    def _bad_line(self) -> None:
        self._bad_lines += 1
        self._bad_tail = f"{self._where()} is no whole event"

    def _more_follows(self, tail: str) -> None:
        # Spark's own reader forgives a bad line at the end only (apache/spark#4927).
        self._damaged = True
        self._lose(f"{tail[0].upper()}{tail[1:]}, though more follows; it is left out.")
        self._bad_tail = None

    def _unreadable_event(self, name: str, error: object) -> None:
        self._unreadable[name] += 1
        self._unreadable_example = self._unreadable_example or f"{self._where()}: {error or name}"

    # --- the end ---------------------------------------------------------------------------------------------------

    def _result(self) -> ApplicationLog:
        path = self._files.path
        if not self._counts:
            if self._damaged or self._unreadable or not _may_begin_a_log(self._head):
                raise InputError(
                    f"{path} is not a Spark event log: no line of it is an event",
                    "give a file that Spark wrote into spark.eventLog.dir",
                )
            return ApplicationLog(
                path=path,
                state=LogState.NOT_READY,
                losses=("No whole event has been written yet.",),
                application_id=self._files.application_id,
                lines=self._lines,
                bad_lines=self._bad_lines,
            )
        losses = self._all_losses()
        damaged = self._damaged or self._collector.parts_missing or bool(self._unreadable)
        state = LogState.DAMAGED if damaged else LogState.COMPLETE
        log = self._collector.result(path, state, losses, self._counts)
        return replace(
            log,
            application_id=log.application_id or self._files.application_id,
            compacted=self._files.compacted or bool(log.stages_without_tasks),
            lines=self._lines,
            bad_lines=self._bad_lines,
        )

    def _all_losses(self) -> list[str]:
        losses = [*self._files.losses[:_MOST_SENTENCES], *self._losses]
        unlisted = self._unlisted + max(0, len(self._files.losses) - _MOST_SENTENCES)
        if unlisted:
            losses.append(f"{unlisted} more such places are not listed.")
        if self._bad_tail:
            losses.append(f"The log is cut off: {self._bad_tail}.")
        if self._unreadable:
            names = ", ".join(f"{name} ({count})" for name, count in self._unreadable.most_common(_MOST_SENTENCES))
            losses.append(f"Events that lack what they should say are left out: {names}; {self._unreadable_example}.")
        if self._files.compacted:
            losses.append("The log was compacted: events of finished jobs are gone from it.")
        return losses


def _pass_over(event: object) -> None:
    """An event of which nothing is needed."""


def _may_begin_a_log(head: bytes) -> bool:
    """Whether a log of which no event is whole yet may start so."""
    return head.startswith(_PREFIX[: len(head)])
