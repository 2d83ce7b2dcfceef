"""The states that a watch tells its reporter, in turn."""

from pelton.reports import Reporter
from pelton.states import WorkerState


def states_told(reporter: Reporter) -> list[tuple[str, str]]:
    """Return a list that fills with each state and reason told from now on, without those told again at once."""
    told: list[tuple[str, str]] = []
    state = reporter.state

    def tell(new: WorkerState, reason: str = "") -> None:
        if (new.value, reason) != (told[-1] if told else None):
            told.append((new.value, reason))
        state(new, reason)

    reporter.state = tell  # type: ignore[method-assign]
    return told
