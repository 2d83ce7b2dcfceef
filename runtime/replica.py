"""The name under which a worker's transactions go on after a restart."""

import fcntl
import hashlib
import os
import tempfile
from pathlib import Path

from pelton.errors import SettingsError

MOST = 1_000


def id_stem(group: str, replica: str | None) -> str:
    """Return what the transactional ids of a group's workers on this host, or of this replica, begin with."""
    return f"pelton-{group}-{replica or os.uname().nodename}"


class Seat:
    """A worker's place among those of one group on this host: the lowest number that no living process holds.

    A worker that comes back takes the place it had, and its first call to the coordinator ends what its predecessor
    left open. Two processes never share one: each would fence the other in turns.
    """

    def __init__(self, group: str, replica: str | None, folder: Path | None = None) -> None:
        stem = id_stem(group, replica)
        name = hashlib.sha256(stem.encode()).hexdigest()[:16]
        for number in range(MOST):
            path = (folder or Path(tempfile.gettempdir())) / f"pelton-{name}-{number}.lock"
            try:
                self._file = path.open("a")
            except PermissionError:  # another user's
                continue
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._file.close()
                continue
            self.transactional_id = f"{stem}-{number}"
            return
        raise SettingsError(f"{MOST} processes of group {group} run on this host already")

    def give_up(self) -> None:
        """Let another process have the place."""
        self._file.close()
