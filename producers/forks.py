"""Connections do not outlive a fork: librdkafka's threads stay in the parent."""

import os
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What has to be told that it is a copy."""

    def disown(self) -> None:
        """Refuse everything from now on."""


_owned: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_left_behind: list[Forkable] = []


def own_process_only(thing: Forkable) -> None:
    """Have `thing` told in every child process that is forked from this one."""
    _owned.add(thing)


def _in_child() -> None:
    for thing in _owned:
        thing.disown()
        # Kept for good: to free a connection here would wait for threads that do not exist.
        _left_behind.append(thing)


os.register_at_fork(after_in_child=_in_child)
