"""Who ends transactions, and when: in three times what a commit takes, or at once when somebody waits."""

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton import committer as committer_file
from pelton.committer import Committer
from pelton.errors import BrokerUnavailable, Fenced, KafkaFailure
from pelton.metrics import Metrics
from pelton.schemas.records import Records
from pelton.testing import make_message

MAKE = Callable[..., Any]


class Flag:
    """An event whose waits are written down instead of waited."""

    def __init__(self, is_set: bool = True) -> None:
        self.value = is_set
        self.waits: list[float] = []

    def wait(self, timeout: float) -> bool:
        self.waits.append(timeout)
        return self.value

    def is_set(self) -> bool:
        return self.value


class Scripted:
    """A sink whose commits take as long as the script says, and which closes behind the last of them."""

    def __init__(self, *took_s: float, done: bool = True, age_s: float = 0.0) -> None:
        self.written, self.hurry = Flag(), Flag()
        self.failures: list[BaseException] = []
        self.slept_s: list[float] = []
        self.budgets_s: list[float] = []
        self._script, self._done, self._age_s = list(took_s), done, age_s
        self.now_s = 100.0

    @property
    def closed(self) -> bool:
        return not self._script

    def commit(self, deadline: Any) -> bool:
        self.budgets_s.append(deadline.remaining_s())
        self.now_s += self._script.pop(0)
        return self._done

    def waiting_s(self) -> float:
        return self._age_s

    def fail(self, error: BaseException) -> None:
        self.failures.append(error)


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Callable[[Scripted], Metrics]:
    """`commits(sink)` runs a committer on the sink's clock until the sink is closed, in this thread."""

    def run(sink: Scripted) -> Metrics:
        clock = SimpleNamespace(monotonic=lambda: sink.now_s, sleep=sink.slept_s.append)
        monkeypatch.setattr(committer_file, "time", clock)
        metrics = Metrics()
        Committer(sink, metrics)._run()  # type: ignore[arg-type]
        return metrics

    return run


@pytest.mark.parametrize("took_s", [0.0, 0.001, 0.004, 0.006, 0.1, 2.0])
def test_the_interval_is_three_times_what_a_commit_takes_and_20_ms_at_least(
    commits: Callable[[Scripted], Metrics], took_s: float
) -> None:
    sink = Scripted(*[took_s] * 30)
    commits(sink)
    # What commits took, smoothed by a fifth each, from 5 ms on.
    smoothed = [took_s + (0.005 - took_s) * 0.8**n for n in range(30)]
    assert sink.hurry.waits == pytest.approx([max(0.02, 3 * each) for each in smoothed])
    assert sink.hurry.waits[-1] == pytest.approx(max(0.02, 3 * took_s), rel=0.2)


def test_the_age_of_the_oldest_block_counts_in_the_interval(commits: Callable[[Scripted], Metrics]) -> None:
    for age_s, wait_s in ((0.015, 0.005), (3.0, 0.0)):
        sink = Scripted(0.0, age_s=age_s)
        commits(sink)
        assert sink.hurry.waits == pytest.approx([wait_s])


def test_each_commit_has_a_limited_time_and_is_measured(commits: Callable[[Scripted], Metrics]) -> None:
    sink = Scripted(0.25, 0.25)
    metrics = commits(sink)
    assert all(0 < budget <= committer_file.ATTEMPT_S for budget in sink.budgets_s)
    assert metrics.commit._sum.get() == pytest.approx(0.5)


def test_what_could_not_be_committed_is_tried_again_soon_and_changes_no_interval(
    commits: Callable[[Scripted], Metrics],
) -> None:
    sink = Scripted(1.0, 1.0, 1.0, done=False)
    metrics = commits(sink)
    assert sink.slept_s == [0.02] * 3
    assert sink.hurry.waits == [0.02] * 3
    assert metrics.commit._sum.get() == 0.0


def test_nothing_is_committed_while_nothing_is_written(commits: Callable[[Scripted], Metrics]) -> None:
    sink = Scripted(0.0)
    sink.written.value = False
    wait = sink.written.wait

    def close_then(timeout: float) -> bool:
        sink._script.clear()
        return wait(timeout)

    sink.written.wait = close_then  # type: ignore[method-assign]
    commits(sink)
    assert (sink.budgets_s, sink.hurry.waits, sink.written.waits) == ([], [], [0.5])


@pytest.mark.parametrize("error", [Fenced("taken"), BrokerUnavailable("gone"), ZeroDivisionError("ours")])
def test_a_committer_that_ends_tells_the_sink_why(
    commits: Callable[[Scripted], Metrics], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    sink = Scripted(0.0)

    def commit(_deadline: Any) -> bool:
        raise error

    monkeypatch.setattr(sink, "commit", commit)
    if isinstance(error, KafkaFailure):
        commits(sink)
        assert sink.failures == [error]
    else:
        with pytest.raises(ZeroDivisionError):
            commits(sink)
        (told,) = sink.failures
        assert (type(told), str(told)) == (KafkaFailure, "ZeroDivisionError: ours")


def a_block(offset: int) -> Records:
    message = make_message(b"{}", topic="in", offset=offset)
    return Records("in", 0, 1, [message], [offset], [None], 2, 0.0)


def test_b08_whoever_waits_for_a_commit_hears_at_once_why_there_will_be_none(road: MAKE) -> None:
    walk = road(delivery="exactly-once")
    sink = walk.loop.sink
    sink._window.max_records = 1
    walk.walk()
    sink.write(a_block(0), [1.0])
    refusal = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "no", fatal=True)
    walk.kafka.coordinator.fail("send_offsets_to_transaction", *[refusal] * 10)
    heard: list[BaseException] = []

    def write() -> None:
        try:
            sink.write(a_block(1), [1.0])
        except KafkaFailure as error:
            heard.append(error)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert sink.hurry.wait(20)
    committer = Committer(sink, walk.loop.metrics)
    committer.start()
    writer.join(20)
    committer._thread.join(20)
    assert not committer._thread.is_alive()
    (error,) = heard
    assert "may not use this transactional id" in str(error)
    with pytest.raises(KafkaFailure) as again:
        walk.loop.settle()
    assert again.value is error


def test_what_is_written_is_committed_without_anybody_asking_and_the_thread_ends_with_the_sink(road: MAKE) -> None:
    walk = road(delivery="exactly-once")
    committer = Committer(walk.loop.sink, walk.loop.metrics)
    committer.start()
    walk.write(1, 2)
    walk.walk()
    with walk.kafka.changed:
        assert walk.kafka.changed.wait_for(lambda: walk.committed() == 2, 20) or walk.committed() == 2
    walk.loop.sink.close()
    walk.loop.sink.written.set()
    committer._thread.join(20)
    assert not committer._thread.is_alive()
    assert walk.scores == {0: [(0, 2.0), (1, 4.0)]}
