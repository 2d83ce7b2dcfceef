"""What is written beside a committed offset, so that a record that kills the process is found in the end."""

import math
import re
from dataclasses import dataclass
from typing import Self

from pelton.deadline import Deadline
from pelton.schemas.codes import Code
from pelton.schemas.records import Records
from pelton.schemas.rejection import Rejection

_FORM = re.compile(r"pelton:starts=(\d{1,9});until=(\d{1,19});trial=(\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Mark:
    """Says that the culprit of earlier deaths may be among the records from the committed offset up to `until`.

    `starts` counts the processes that took these records up; none of those that died has passed them. `trial` is how
    many of the records were alone in the model, 0 when they were in company. No start at all is no suspicion.
    """

    starts: int
    until: int
    trial: int = 0

    @classmethod
    def parse(cls, metadata: str | None) -> Self | None:
        """Return the mark in the metadata of a commit; None where there is none, whoever wrote it."""
        found = _FORM.fullmatch(metadata or "")
        return cls(*map(int, found.groups())) if found else None

    def note(self, position: int) -> str:
        """Return the metadata of a commit at `position`: empty once nothing is suspected behind it."""
        if self.starts == 0 or position >= self.until:
            return ""
        return f"pelton:starts={self.starts};until={self.until};trial={self.trial}"

    def condemns(self, offset: int, limit: int) -> bool:
        """Tell whether the record at `offset` was alone in the model when the process died for the last time."""
        return self.starts >= limit and self.trial == 1 and self.until == offset + 1

    def trial_size(self, offset: int, limit: int) -> int:
        """Return how many records from `offset` on to try at once, so that the last start left tries one alone."""
        starts_left = max(1, limit - self.starts)
        window = max(1, self.until - offset)
        return round(math.pow(window, 1 - 1 / starts_left))


@dataclass(slots=True)
class Watched:
    """One assignment of a partition: the mark found, the one that stands now, and where it was committed."""

    found: Mark
    now: Mark
    position: int
    quiet: Deadline

    @property
    def suspect(self) -> bool:
        """Whether a process died with these records in hand."""
        return self.found.starts > 0

    def begin_trial(self, head: Records, limit: int) -> int:
        """Take up the next trial, at the head of what waits; return how many records it has, 0 if all are passed."""
        n_suspect = sum(offset < self.found.until for offset in head.offsets)
        first = head.offsets[0]
        if n_suspect == 0:
            return 0
        self.position = first
        if self.found.condemns(first, limit):
            head.events[0] = died(self.found.starts)
            return 1
        n = min(self.found.trial_size(first, limit), n_suspect)
        self.now = Mark(self.found.starts + 1, head.offsets[n - 1] + 1, n)
        return n

    def end_trial(self, quiet: Deadline) -> None:
        """Note that the trial was survived, or never begun; the next may be waited for until `quiet`."""
        self.now, self.quiet = self.found, quiet


def died(starts: int) -> Rejection:
    """Return the rejection of a record that killed the process again and again."""
    reason = f"the worker process died {starts} times on this record, the last time with no other record in the model"
    return Rejection(Code.MODEL_ERROR, reason, "forward", "ProcessDied", starts)
