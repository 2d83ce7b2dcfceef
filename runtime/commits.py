"""When offsets are committed, and what has to be noted then."""

from pelton.consumers.assignment import Partition
from pelton.consumers.offsets import Offsets
from pelton.consumers.source import Source
from pelton.consumers.trials import Trials
from pelton.deadline import Deadline
from pelton.metrics import Metrics

COMMIT_EVERY_S = 0.25


class Commits:
    """Commits the offsets below which everything is safe, a few times a second; belongs to the poll thread.

    Where the sink commits them, in transactions, there is only to note what it has committed.
    """

    def __init__(
        self, source: Source, offsets: Offsets, trials: Trials, metrics: Metrics, *, by_sink: bool = False
    ) -> None:
        self._by_sink = by_sink
        self._source, self._offsets, self._trials, self._metrics = source, offsets, trials, metrics
        self._due = Deadline.after(COMMIT_EVERY_S)
        self._refused = 0

    def when_due(self) -> None:
        """Commit if the last time is long enough ago."""
        if self._due.expired:
            self.now()

    def now(self, *, wait: bool = False) -> None:
        """Commit what has become safe; with `wait` until the broker has answered, which raises KafkaFailure.

        Without, it is left for the next time while the group does not know this member.
        """
        self._due = Deadline.after(COMMIT_EVERY_S)
        if self._by_sink:
            return
        while self._source.ledger.took_s:
            self._metrics.commit.observe(self._source.ledger.took_s.popleft())
        if self._refused != self._source.commits.n_refused:
            self._refused = self._source.commits.n_refused
            self._offsets.commit_again()
        if (offsets := self._offsets.committable()) and (wait or self._source.ledger.admitted):
            self._source.ledger.commit(offsets, self._trials.notes(offsets), wait=wait)
            self.note(offsets)

    def note(self, offsets: dict[Partition, int]) -> None:
        """Note offsets that are committed, or that the broker was asked to commit."""
        self._offsets.committed(offsets)
        self._trials.passed(offsets)
