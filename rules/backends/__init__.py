"""The three ways in which the configuration of a live scheduler is read and changed.

Each is a :class:`BackEnd`. None of them decides anything: what may be written, when, and what an answer means is
``rules.lifecycle``'s business.
"""

from __future__ import annotations

from typing import Protocol

from rules.model import Finding, PropertyChange
from rules.plan import BackEndKind, Configuration
from tuner.yarn.model import Applied, Rejected, Unknown

__all__ = ["BackEnd", "WriteAnswer"]

WriteAnswer = Applied | Rejected | Unknown
"""What a write came to. Rejected: nothing has changed. Unknown: it has to be read."""


class BackEnd(Protocol):
    """Reads and writes one scheduler's configuration."""

    @property
    def kind(self) -> BackEndKind:
        """Which of the three it is."""

    @property
    def needs_activation(self) -> bool:
        """Whether what was written takes effect only after :meth:`activate`."""

    def read(self) -> Configuration:
        """The configuration as it is stored now.

        Raises:
            YarntuneError: it cannot be read.
        """

    def check(self, current: Configuration, proposed: Configuration) -> tuple[Finding, ...]:
        """All that can be said against a change without making it: our checks, then the ResourceManager's.

        Raises:
            YarntuneError: the ResourceManager cannot be asked.
        """

    def write(self, current: Configuration, proposed: Configuration) -> WriteAnswer:
        """Writes it, once.

        Args:
            current: what is there; a file that is another one by now is refused.
            proposed: what is to be there.

        Raises:
            YarnError: no connection could be made; nothing was written.
        """

    def activate(self) -> WriteAnswer:
        """Lets the ResourceManager take what was written; may be said again without harm.

        Raises:
            YarnError: no connection could be made.
        """

    def unseen(self, wanted: Configuration, before: Configuration) -> tuple[PropertyChange, ...]:
        """What the ResourceManager does not show, or shows otherwise, of a configuration that it should have.

        Args:
            wanted: what it should have.
            before: what it had; only what differs between the two is looked at.

        Returns:
            By property: ``before`` is what is wanted, ``after`` what it shows. Empty where all that can be seen is so.

        Raises:
            YarnError: it cannot be asked.
        """
