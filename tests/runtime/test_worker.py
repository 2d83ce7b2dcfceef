"""The worker process: its arguments, what it waits for before it joins, and how it ends."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import msgspec
import pytest

from pelton import worker as worker_file
from pelton.errors import (
    AccessDenied,
    BrokerUnavailable,
    DeviceLost,
    Fenced,
    KafkaFailure,
    PackageError,
    SettingsError,
)
from pelton.progress import Progress
from pelton.reports import Reporter
from pelton.schemas.settings import Settings
from pelton.states import WorkerState
from pelton.worker import Worker, main

SETTINGS = Settings(model="m", stream={"topics": ["in"], "group": "g", "sink": "out", "dead_letter": "dead"})
TOPICS = {"out": 3, "dead": 1}


class Script:
    """What the stubs of the serving part and of the topics do, and what they were asked."""

    def __init__(self) -> None:
        self.warm_up_raises: BaseException | None = None
        self.serve_raises: BaseException | None = None
        self.serve_returns = 0
        self.found: list[dict[str, int] | Exception] = []
        self.served: list[tuple[dict[str, int], int]] = []
        self.settings: Settings | None = None
        self.on_describe: Callable[[], None] = lambda: None
        self.on_serve: Callable[[Any], None] = lambda _: None
        self.asked = self.hurried = 0

    def describe(self, _kafka: Any, names: list[str], timeout_s: float) -> dict[str, int]:
        assert names == ["out", "dead"]
        assert timeout_s > 0
        self.asked += 1
        self.on_describe()
        answer = self.found.pop(0) if self.found else TOPICS
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets what a worker writes into its environment end with the test."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "7")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()

    class Serving:
        def __init__(self, settings: Settings, reporter: Reporter, _progress: Progress, index: int) -> None:
            self._reporter, self._index = reporter, index
            made.settings = settings

        def warm_up(self, started_s: float) -> None:
            assert started_s > 0
            if made.warm_up_raises:
                raise made.warm_up_raises
            self._reporter.state(WorkerState.WARMING)

        def hurry(self) -> None:
            made.hurried += 1

        def serve(self, topics: dict[str, int], stopping: Any) -> int:
            made.served.append((topics, self._index))
            made.on_serve(stopping)
            if made.serve_raises:
                raise made.serve_raises
            return made.serve_returns

    stub = ModuleType("pelton.serving")
    stub.Serving = Serving  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pelton.serving", stub)
    monkeypatch.setattr("pelton.topics.describe", made.describe)
    monkeypatch.setattr("pelton.rights.check_rights", lambda *_, **__: None)
    monkeypatch.setattr(worker_file, "RETRY_S", (0.0,))
    return made


class Told:
    """A reporter that writes down what it is told."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def state(self, state: WorkerState, reason: str = "") -> None:
        if (state.value, reason) != (self.states[-1] if self.states else None):
            self.states.append((state.value, reason))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def worker(told: Told) -> Worker:
    return Worker(SETTINGS, told, Progress.null(), 2)  # type: ignore[arg-type]


def test_a_worker_loads_warms_joins_and_serves(worker: Worker, script: Script, told: Told) -> None:
    assert worker.run() == 0
    assert told.states == [("loading", ""), ("warming", ""), ("joining", "")]
    assert script.served == [(TOPICS, 2)]


def test_b40_groups_are_not_asked_about_while_a_broker_is_only_coming_back(
    worker: Worker, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client may abort when such a question times out; a right that lacks is asked for until it is there."""
    answers: list[Exception | None] = [AccessDenied("no right"), BrokerUnavailable("away"), None]
    asked: list[bool] = []

    def check(*_: Any, groups: bool) -> None:
        asked.append(groups)
        if (answer := answers.pop(0)) is not None:
            raise answer

    monkeypatch.setattr("pelton.rights.check_rights", check)
    assert worker.run() == 0
    assert asked == [True, True, False]


@pytest.mark.parametrize("error", [SettingsError("no such device"), PackageError("no weights")])
def test_exit_code_2_when_settings_or_model_are_at_fault(
    worker: Worker, script: Script, told: Told, error: Exception
) -> None:
    script.warm_up_raises = error
    assert worker.run() == 2
    assert told.states[-1] == ("stopped", str(error))
    assert (script.served, script.asked) == ([], 0)


def test_b60_exit_code_4_when_another_process_took_the_identity(worker: Worker, script: Script, told: Told) -> None:
    script.serve_raises = Fenced("another producer has started")
    assert worker.run() == 4
    state, reason = told.states[-1]
    assert state == "stopped"
    assert "another producer has started" in reason
    assert "`replica` and `stream.static_id`" in reason


@pytest.mark.parametrize("error", [DeviceLost("CUDA error"), BrokerUnavailable("gone"), ZeroDivisionError("oh")])
def test_exit_code_3_for_anything_else(worker: Worker, script: Script, told: Told, error: Exception) -> None:
    script.serve_raises = error
    assert worker.run() == 3
    state, reason = told.states[-1]
    assert state == "stopped"
    assert type(error).__name__ in reason
    assert str(error) in reason


def test_b40_what_is_missing_is_waited_for_and_named(worker: Worker, script: Script, told: Told) -> None:
    script.found = [BrokerUnavailable("no broker answers"), {"dead": 1}, {}, AccessDenied("no right"), TOPICS]
    assert worker.run() == 0
    assert script.asked == 5
    assert [reason for state, reason in told.states if state == "joining" and reason] == [
        "no broker answers",
        "no topic out",
        "no topic out and no topic dead",
        "no right",
    ]
    assert script.served == [(TOPICS, 2)]


def test_a_worker_of_requests_alone_waits_for_no_topic(
    script: Script, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pelton.topics.describe", lambda _, names, timeout_s: dict.fromkeys(names, 1))
    requests = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers"]}
    alone = Worker(Settings(model="m", requests=requests), told, Progress.null(), 0)  # type: ignore[arg-type]
    assert alone.run() == 0
    assert script.served == [({}, 0)]


def test_b40_the_wait_grows_up_to_a_limit(worker: Worker, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_file, "RETRY_S", (0.5, 1.0, 2.0))
    waits: list[float] = []
    monkeypatch.setattr(worker._stopping, "wait", waits.append)
    script.found = [KafkaFailure("no") for _ in range(5)]
    assert worker.run() == 0
    assert waits == [0.5, 1.0, 2.0, 2.0, 2.0]


def test_b40_a_signal_ends_the_wait_for_topics_at_once(worker: Worker, script: Script) -> None:
    script.found = [BrokerUnavailable("gone")] * 3
    script.on_describe = worker.stop
    assert worker.run() == 0
    assert (script.asked, script.served) == (1, [])


def test_b40_a_signal_during_the_load_ends_the_worker_before_it_asks_for_anything(
    worker: Worker, script: Script
) -> None:
    worker.stop()
    assert worker.run() == 0
    assert (script.asked, script.served) == (0, [])


class Parent:
    """What a supervisor hands to its worker."""

    def __init__(self, settings: str) -> None:
        self.settings_fd = os.memfd_create("settings")
        os.write(self.settings_fd, settings.encode())
        os.lseek(self.settings_fd, 0, os.SEEK_SET)
        self.read_fd, self.report_fd = os.pipe()
        self.progress = Progress.create()

    @property
    def arguments(self) -> list[str]:
        names = {
            "settings-fd": self.settings_fd,
            "report-fd": self.report_fd,
            "progress-fd": os.dup(self.progress.fd),
            "index": 1,
        }
        return [part for name, value in names.items() for part in (f"--{name}", str(value))]

    def reports(self) -> list[dict[str, Any]]:
        with os.fdopen(self.read_fd, closefd=False) as pipe:
            return [msgspec.json.decode(line) for line in pipe]

    def close(self) -> None:
        os.close(self.read_fd)
        self.progress.close()


class Exited(BaseException):
    """The process has ended, without a word to anybody in it."""


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Parent]]:
    """A supervisor; the process's own signals, logs and ties to its parent are left alone."""
    monkeypatch.setattr(worker_file, "end_with_parent", lambda _: None)
    monkeypatch.setattr(worker_file, "configure_logs", lambda *_, **__: None)

    def leave(code: int) -> None:
        raise Exited(code)

    reporters: list[Reporter] = []

    def make_reporter(fd: int) -> Reporter:
        # The usual one ends the process, and that is pytest, once nobody reads from the pipe any more.
        reporters.append(Reporter(fd, on_lost=lambda: None))
        return reporters[-1]

    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(worker_file, "Reporter", make_reporter)
    made: list[Parent] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def make(settings: str = SETTINGS.to_json()) -> Parent:
        made.append(Parent(settings))
        return made[-1]

    yield make
    for number, handler in handlers.items():
        signal.signal(number, handler)
    for reporter in reporters:
        reporter.close()
    for each in made:
        each.close()


@pytest.mark.parametrize(("returns", "raises", "code"), [(0, None, 0), (0, DeviceLost("gone"), 3)])
def test_a_process_takes_what_it_is_handed_and_reports_to_the_end(
    parent: Any, script: Script, returns: int, raises: Exception | None, code: int
) -> None:
    above = parent()
    script.serve_returns, script.serve_raises = returns, raises
    threads: list[str] = []
    script.on_serve = lambda _: threads.append(os.environ["OMP_NUM_THREADS"])
    assert main(above.arguments) == code
    assert threads == ["1"]
    assert script.settings == SETTINGS
    assert script.served == [(TOPICS, 1)]
    states = [report["state"] for report in above.reports()]
    assert states == ["loading", "warming", "joining"] + (["stopped"] if code else [])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_b10_a_signal_lets_the_work_in_hand_be_finished(parent: Any, script: Script, number: signal.Signals) -> None:
    seen: list[bool] = []

    def serve(stopping: Any) -> None:
        signal.raise_signal(number)
        seen.append(stopping.is_set())

    script.on_serve = serve
    assert main(parent().arguments) == 0
    assert seen == [True]


def test_b10_only_a_second_signal_makes_it_hurry(parent: Any, script: Script) -> None:
    hurried: list[int] = []

    def serve(_: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
            hurried.append(script.hurried)

    script.on_serve = serve
    assert main(parent().arguments) == 0
    assert hurried == [0, 1, 2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_b40_a_signal_before_there_is_work_ends_the_process_at_once(
    parent: Any, script: Script, number: signal.Signals
) -> None:
    script.on_describe = lambda: signal.raise_signal(number)
    with pytest.raises(Exited) as ended:
        main(parent().arguments)
    assert ended.value.args == (0,)
    assert (script.asked, script.served) == (1, [])


@pytest.mark.parametrize("missing", ["settings-fd", "report-fd", "progress-fd", "index"])
def test_every_argument_is_needed(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"settings-fd", "report-fd", "progress-fd", "index"} - {missing}
    with pytest.raises(SystemExit) as ended:
        main([part for name in names for part in (f"--{name}", "99")])
    assert ended.value.code == 2
    assert f"--{missing}" in capsys.readouterr().err
