"""How the record that kills the process is found over several deaths, and set aside."""

from collections.abc import Iterable, Mapping

import structlog

from pelton.consumers.assignment import Partition
from pelton.consumers.batcher import Batcher
from pelton.consumers.ledger import Ledger
from pelton.consumers.offsets import Offsets
from pelton.consumers.poison import Mark, Watched
from pelton.deadline import Deadline
from pelton.errors import KafkaFailure
from pelton.schemas.records import Records

log = structlog.get_logger(__name__)

WINDOW = 100_000
"""More offsets than a worker passes between two commits, with what it has queued and on its way."""
ANSWER_S = 5.0
RETRY_S = 0.5
QUIET_S = 5.0
PATIENCE_S = 0.001


class Trials:
    """Writes down what is taken up before it can kill the process, and tries what may have killed one before.

    1. The first records of an assignment are marked in the metadata of their offset: started once. Whoever gets past
       them takes the mark away with its commits; only a death leaves it, to the member that starts next.
    2. That one holds the queue, and gives the model one trial at a time, of fewer records the fewer starts are left;
       a trial's mark is committed before it and taken away after it. A death then leaves the mark of its own trial.
    3. The last start tries records one by one. The one found alone under its mark becomes a dead letter, unscored.

    A partition that nobody suspects costs one commit for each assignment, and nothing for each record or batch.
    """

    def __init__(self, ledger: Ledger, batcher: Batcher, offsets: Offsets, limit: int) -> None:
        self._ledger, self._batcher, self._offsets, self._limit = ledger, batcher, offsets, limit
        self._unseen: set[Partition] = set()
        self._watched: dict[Partition, Watched] = {}
        self._trial: tuple[Partition, int] | None = None
        self._retry_due = Deadline.after(0)
        self.active = False
        """Whether the queue is held, for as long as a suspect partition is owned."""

    def assigned(self, partitions: Iterable[Partition]) -> None:
        """Note partitions that were added; nothing is marked before their first record."""
        self._unseen.update(partitions)

    def admit(self, blocks: list[Records]) -> list[Records]:
        """Mark the first records of an assignment before anybody works on them; returns all that was given."""
        if self._unseen and blocks:
            firsts = {(block.topic, block.partition): block.offsets[0] for block in blocks}
            if new := {at: first for at, first in firsts.items() if at in self._unseen}:
                self._begin(new)
        return blocks

    def notes(self, positions: Mapping[Partition, int]) -> dict[Partition, str]:
        """Return the metadata of commits at these positions; from any thread."""
        watched = ((at, self._watched.get(at), position) for at, position in positions.items())
        return {at: found.now.note(position) for at, found, position in watched if found is not None}

    def passed(self, positions: Mapping[Partition, int]) -> None:
        """Note what was committed; a window that lies behind is watched no longer."""
        for at, note in self.notes(positions).items():
            if not note and not self._watched[at].suspect:
                del self._watched[at]

    def patience_s(self, timeout_s: float) -> float:
        """Return how long a poll may wait for records, given how long it would."""
        return min(timeout_s, PATIENCE_S) if self.active else timeout_s

    def step(self) -> None:
        """End the trial under way when its records are safe, commit, and begin the next one."""
        if not self.active or not self._retry_due.expired or not self._is_over():
            return
        self._clear_passed()
        if not self._batcher.wait_for_batch(0):
            return
        head = self._batcher.head if self.active else None
        n = self._take_up(head) if head is not None else 0
        if self._commit(self._offsets.committable() | self._trial_position()):
            self._batcher.admit(n)
        else:
            self._retry_due = Deadline.after(RETRY_S)
            self._end_trial()
        self._hold()

    def give_back(self, partitions: Iterable[Partition] | None = None) -> None:
        """Take back the marks of this process: it ends its work on these partitions, or on all, without dying."""
        watched = {at: self._watched.pop(at) for at in list(partitions or self._watched) if at in self._watched}
        positions = {at: self._offsets.position(at) or each.position for at, each in watched.items()}
        self._commit(positions, {at: each.found.note(positions[at]) for at, each in watched.items()})

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Drop partitions that have left; their marks stay as they are."""
        for partition in partitions:
            self._unseen.discard(partition)
            self._watched.pop(partition, None)
            if self._trial is not None and self._trial[0] == partition:
                self._trial = None
        self._hold()

    def abandon(self) -> None:
        """Leave every mark as it is: this process ends with a trial under way that it could not finish."""
        self.forget({*self._unseen, *self._watched})

    def _begin(self, firsts: dict[Partition, int]) -> None:
        self._unseen -= firsts.keys()
        try:
            notes = self._ledger.notes(firsts, ANSWER_S)
        except KafkaFailure as error:
            log.warning("marks_unknown", partitions=list(firsts), reason=str(error))
            return
        for at, first in firsts.items():
            found = self._judge(Mark.parse(notes.get(at)), first, self._ledger.end_seen(at))
            now = found if found.starts else Mark(1, found.until)
            self._watched[at] = Watched(found, now, first, Deadline.after(QUIET_S))
        self._commit({at: first for at, first in firsts.items() if not self._watched[at].suspect})
        self._hold()
        suspects = {f"{at[0]}/{at[1]}": self._watched[at].found.starts for at in firsts if self._is_suspect(at)}
        if suspects:
            log.warning("partitions_suspect", deaths=suspects)

    def _judge(self, mark: Mark | None, first: int, end: int | None) -> Mark:
        """Return what is suspected from the first record on; whatever was in hand at a death is older than `end`."""
        until = max(first + 1, min(first + WINDOW, first + WINDOW if end is None else end))
        if mark is None or mark.until <= first:
            return Mark(0, until)
        return Mark(mark.starts, min(mark.until, until), mark.trial)

    def _is_over(self) -> bool:
        if self._trial is not None:
            partition, end = self._trial
            if (self._offsets.position(partition) or 0) < end:
                return False
            self._end_trial()
        return True

    def _take_up(self, head: Records) -> int:
        """Choose the next trial at the head of the queue; return its number of records."""
        at = (head.topic, head.partition)
        n = self._watched[at].begin_trial(head, self._limit) if self._is_suspect(at) else len(head)
        if n == 0:
            del self._watched[at]
            n = len(head)
        self._trial = (at, head.offsets[n - 1] + 1)
        return n

    def _end_trial(self) -> None:
        if self._trial is not None and self._trial[0] in self._watched:
            self._watched[self._trial[0]].end_trial(Deadline.after(QUIET_S))
        self._trial = None

    def _trial_position(self) -> dict[Partition, int]:
        at = self._trial[0] if self._trial else None
        return {at: self._watched[at].position} if at is not None and self._is_suspect(at) else {}

    def _is_suspect(self, at: Partition) -> bool:
        return at in self._watched and self._watched[at].suspect

    def _clear_passed(self) -> None:
        """Watch no longer what is passed, or what has brought no record for a while: it ends before its window."""
        for at, watched in list(self._watched.items()):
            passed = (self._offsets.position(at) or 0) >= watched.found.until
            quiet = watched.quiet.expired and not self._offsets.unfinished_in(at)
            if watched.suspect and (passed or quiet):
                del self._watched[at]
                log.info("partition_cleared", topic=at[0], partition=at[1])
        self._hold()

    def _hold(self) -> None:
        self.active = any(watched.suspect for watched in self._watched.values())
        self._batcher.hold(held=self.active)
        if not self.active:
            self._trial = None

    def _commit(self, positions: dict[Partition, int], notes: dict[Partition, str] | None = None) -> bool:
        if not positions:
            return True
        try:
            self._ledger.commit(positions, self.notes(positions) if notes is None else notes, wait=True)
        except KafkaFailure as error:
            log.warning("mark_not_committed", partitions=list(positions), reason=str(error))
            return False
        self._offsets.committed(positions)
        self.passed(positions)
        return True
