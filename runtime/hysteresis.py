"""What is on only after a while, and off only after another."""


class Hysteresis:
    """Turns on once something has held for `after_s` without a break, off once it has been away for `until_s`."""

    def __init__(self, after_s: float, until_s: float) -> None:
        self._after_s, self._until_s = after_s, until_s
        self._since_s: float | None = None
        self.on = False

    def see(self, held: bool, now_s: float) -> bool:
        """Note what is the case at `now_s` (monotonic), and return whether it is on."""
        if held == self.on:
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s
        if self._since_s is not None and now_s - self._since_s >= (self._after_s if held else self._until_s):
            self.on, self._since_s = held, None
        return self.on

    def reset(self) -> None:
        """Turn off at once."""
        self.on, self._since_s = False, None
