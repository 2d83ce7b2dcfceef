"""Whether a member that has joined still may do what it does."""

from collections.abc import Callable, Sequence

from pelton.consumers.source import GROUP, Source
from pelton.deadline import Deadline
from pelton.errors import AccessDenied, KafkaFailure
from pelton.road import Road

ASK_EVERY_S = 5.0


class DoubtedRights:
    """Knows why the broker refuses a member, also one that is idle by now and so commits nothing.

    That the group may not be read any more the client says once, and that a right is back it never says: so while there
    is a doubt, `ask` is called every few seconds, which raises AccessDenied where a right is missing.
    """

    def __init__(self, roads: Sequence[Road], ask: Callable[[], None]) -> None:
        self._sources, self._ask = [road.source for road in roads], ask
        self._due, self._told = Deadline.after(0), ""
        self._n_refused: int | None = None

    def lacking(self) -> str:
        """Return what is refused, empty where nothing is."""
        doubted = [source for source in self._sources if source.commits.denied or GROUP in source.problems]
        if not doubted:
            self._told, self._n_refused = "", None
            return ""
        if self._due.expired:
            self._due = Deadline.after(ASK_EVERY_S)
            self._look(doubted)
        return self._told or next((source.commits.denied for source in doubted), "")

    def _look(self, doubted: Sequence[Source]) -> None:
        try:
            self._ask()
        except AccessDenied as error:
            self._told = str(error)
            return
        except KafkaFailure:
            return
        self._told = ""
        # A broker that tells no rights, and refuses all the same, is believed by what it does.
        before, self._n_refused = self._n_refused, sum(source.commits.n_refused for source in self._sources)
        for source in doubted if before == self._n_refused else ():
            source.problems.pop(GROUP, None)
            source.commits.denied = ""
