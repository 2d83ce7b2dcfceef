"""A partition that is followed second by second on a clock of the test's own."""

from typing import Any

from pelton.consumers.lag import Behind
from pelton.consumers.lag_window import LagWindow
from pelton.lag_rules import Scene, judge
from pelton.states import LagState

WINDOW_S = 60


class Followed:
    """Where a reader stands and where the partition ends; `second` lets one pass and takes a sample."""

    def __init__(self, reached: int = 0, end: int = 0) -> None:
        self.now_s, self.reached, self.end = 5000.0, reached, end
        self.window = LagWindow(WINDOW_S)

    def second(self, done: int = 0, written: int = 0, *, told: bool = True, held_back: bool = False) -> None:
        """Finish and write so many records in the next second; the broker tells of it unless `told` is False."""
        self.now_s += 1
        self.reached += done
        self.end += written
        if told:
            behind = Behind(self.end - self.reached, self.reached, self.end)
            self.window.add(behind, self.now_s, held_back=held_back)

    def seconds(self, n: int, done: int = 0, written: int = 0, **how: Any) -> "Followed":
        """Let so many seconds pass, each like the other."""
        for _ in range(n):
            self.second(done, written, **how)
        return self

    def verdict(self, **scene: Any) -> tuple[LagState, str]:
        """Judge it now."""
        return judge(Scene(self.window, self.now_s, **scene))
