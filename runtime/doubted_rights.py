"""Whether a member that has joined still may do what it does."""

from collections.abc import Callable, Sequence

from pelton.consumers.source import GROUP
from pelton.deadline import Deadline
from pelton.errors import AccessDenied, KafkaFailure
from pelton.road import Road

ASK_EVERY_S = 5.0


class DoubtedRights:
    """Knows why the broker refuses a member, also one that is idle and so commits nothing.

    That the group may not be read any more the client says once, and never that it may again: so while it is in doubt,
    `ask` is called every few seconds, which raises AccessDenied where a right is missing.
    """

    def __init__(self, roads: Sequence[Road], ask: Callable[[], None]) -> None:
        self._roads, self._ask = roads, ask
        self._due, self._told = Deadline.after(0), ""

    def lacking(self) -> str:
        """Return what is refused, empty where nothing is."""
        if denied := next((road.source.commits.denied for road in self._roads if road.source.commits.denied), ""):
            return denied
        doubted = [road.source.problems for road in self._roads if GROUP in road.source.problems]
        if doubted and self._due.expired:
            self._due = Deadline.after(ASK_EVERY_S)
            self._told = self._answer()
            for problems in doubted if not self._told else ():
                problems.pop(GROUP, None)
        return self._told if doubted else ""

    def _answer(self) -> str:
        try:
            self._ask()
        except AccessDenied as error:
            return str(error)
        except KafkaFailure:
            return self._told
        return ""
