"""How patiently a supervisor treats its workers."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Care:
    """How a worker is treated; all times in seconds."""

    stall_s: float = 300.0
    """Standing still for longer is a hang, and the worker is replaced."""
    grace_s: float = 5.0
    """A hanging worker has this long to end by itself before it is killed."""
    first_s: float = 1.0
    """The back-off before a restart; it doubles with each death in a row."""
    max_s: float = 30.0
    """The longest back-off; a worker that was ready for as long ends a series of deaths."""

    def back_off_s(self, deaths: int) -> float:
        """Return the wait before the next start; up to half is taken off, so that workers spread."""
        return min(self.max_s, self.first_s * 2.0 ** min(deaths - 1, 60)) * random.uniform(0.5, 1.0)
