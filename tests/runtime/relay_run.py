"""A worker's threads, run in the place of the main one; and a model that keeps them waiting."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pelton.deadline import Deadline
from pelton.relay import Relay


class Run:
    """A relay that runs in a thread in the place of the main one, until `stop`.

    `at_rest` is set when that thread waits for something to do.
    """

    def __init__(self, walk: Any, desk: Any = None, at_rest: threading.Event | None = None) -> None:
        roads = [walk.loop, desk] if desk else [walk.loop]
        self.walk, self.relay = walk, Relay(*roads, stream_share=0.25)
        if at_rest is not None:
            self._tell(at_rest)
        self.error: BaseException | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.relay.run(self._stopping)
        except Exception as error:  # noqa: BLE001 - whatever ends the run is what the test looks at
            self.error = error

    def _tell(self, at_rest: threading.Event) -> None:
        slow: Any = self.relay._station.slow
        wait = slow.wait

        def told(timeout_s: float) -> bool:
            at_rest.set()
            return bool(wait(timeout_s))

        slow.wait = told

    def await_that(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, looking again after each write to Kafka and each hundredth of a second."""
        deadline = Deadline.after(20.0)
        with self.walk.kafka.changed:
            while not holds():
                assert not deadline.expired
                self.walk.kafka.changed.wait(0.01)

    def end(self) -> None:
        self._stopping.set()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def drain(self, within_s: float = 20.0) -> bool:
        self.end()
        return self.relay.drain(Deadline.after(within_s))


class Gate:
    """A model whose next batch waits inside it until it is let go."""

    def __init__(self, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.inside, self._go_on = threading.Event(), threading.Event()
        self._forward = model.forward
        monkeypatch.setattr(model, "forward", self.forward)

    def forward(self, inputs: Any) -> Any:
        self.inside.set()
        assert self._go_on.wait(20)
        return self._forward(inputs)

    def open(self) -> None:
        self._go_on.set()
