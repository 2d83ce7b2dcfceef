"""Requests whose partition moves, or that end the process: answered by whoever owns them, and set aside in the end."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

MAKE = Callable[..., Any]
AT = ("asked", 0)
GENERATION = KafkaError(KafkaError.ILLEGAL_GENERATION, "Broker: Specified group generation id is not valid")


class Died(BaseException):
    """The process is gone, with all that it had in hand."""


def in_the_model(road: Any, monkeypatch: pytest.MonkeyPatch, happens: Callable[[], None]) -> None:
    """Let something happen, once, while the next batch is in the model."""
    forward, left = road.model.forward, [happens]

    def slow(inputs: Any) -> Any:
        if left:
            left.pop()()
        return forward(inputs)

    monkeypatch.setattr(road.model, "forward", slow)


def test_b07_what_only_waits_is_dropped_and_answered_by_the_next_owner_alone(desk: MAKE) -> None:
    road = desk(manual=True)
    road.consumer.give(AT)
    road.ask(1)
    road.turn()
    road.consumer.revoke(AT)
    road.walk()
    assert (road.answers(), road.scored) == ([], 0)
    heir = desk(beside=road)
    heir.consumer.give(AT)
    heir.walk()
    heir.commit()
    assert (heir.answers(), heir.committed()) == ([("a", "ok", 2.0)], 1)


def test_b07_answers_on_their_way_are_waited_for_and_committed(desk: MAKE) -> None:
    road = desk(manual=True)
    road.consumer.give(AT)
    for n in range(3):
        road.ask(n, f"{n}")
    road.turn()
    road.score()
    assert road.desk.sink.in_flight == 3
    road.consumer.revoke(AT)
    road.turn()
    assert road.committed() == 3
    assert len(road.answers()) == 3


def test_b07_a_revoke_waits_for_the_batch_in_the_model(desk: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one thread scores, another one polls, and is told in its poll that the partition leaves."""
    road = desk(manual=True)
    road.consumer.give(AT)
    road.ask(1)
    road.turn()
    road.consumer.revoke(AT)
    polling = threading.Thread(target=road.turn)
    in_the_model(road, monkeypatch, polling.start)
    road.score()
    polling.join(20)
    assert not polling.is_alive()
    assert (road.answers(), road.committed()) == ([("a", "ok", 2.0)], 1)


def test_b07_a_batch_whose_partition_was_lost_meanwhile_is_neither_answered_nor_committed(
    desk: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    road = desk(manual=True)
    road.consumer.give(AT, ("asked", 1))
    road.ask(1, "lost", at=0)
    road.ask(2, "kept", at=1)
    road.turn()
    road.consumer.lose(AT)
    in_the_model(road, monkeypatch, road.turn)
    road.walk()
    road.commit()
    assert road.answers() == [("kept", "ok", 4.0)]
    assert not road.committed(0)
    assert road.committed(1) == 1


def test_b07_a_partition_lost_and_given_back_meanwhile_is_answered_once(
    desk: MAKE, monkeypatch: pytest.MonkeyPatch
) -> None:
    road = desk(manual=True)
    road.consumer.give(AT)
    road.ask(1, "a")
    road.ask(2, "b")
    road.turn()
    road.consumer.lose(AT)
    road.consumer.give(AT, after=1)

    def away_and_back() -> None:
        for _ in range(3):
            road.turn()

    in_the_model(road, monkeypatch, away_and_back)
    road.score()
    road.walk(2)
    road.commit()
    assert sorted(road.answers()) == [("a", "ok", 2.0), ("b", "ok", 4.0)]
    assert road.committed() == 2


def test_b19_a_refused_commit_ends_nobody_and_is_made_again(desk: MAKE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pelton.commits.COMMIT_EVERY_S", 0.0)
    road = desk()
    road.walk()
    road.ask(1)
    road.walk()
    road.kafka.refuse_commit = lambda _: GENERATION
    for _ in range(3):
        road.turn()
    assert not road.committed()
    road.kafka.refuse_commit = lambda _: None
    for _ in range(3):
        road.turn()
    assert (road.committed(), len(road.answers())) == (1, 1)


def killing(road: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the process die whenever the model gets a 13."""
    prepare = road.model.prepare

    def deadly(events: Any) -> Any:
        if any(event.x == 13 for event in events):
            raise Died
        return prepare(events)

    monkeypatch.setattr(road.model, "prepare", deadly)
    return road


@pytest.mark.parametrize("killer_at", [0, 7, 19])
def test_b03_a_request_that_kills_the_process_is_set_aside_and_every_other_is_answered(
    desk: MAKE, monkeypatch: pytest.MonkeyPatch, killer_at: int
) -> None:
    road = killing(desk(), monkeypatch)
    for n in range(20):
        road.ask(13 if n == killer_at else n + 100, f"{n}")
    deaths = 0
    while road.committed() != 20:
        try:
            road.walk(60)
            road.commit()
        except Died:
            deaths += 1
            assert deaths < 10
            road = killing(desk(beside=road), monkeypatch)
    assert deaths == 3
    codes = {name: code for name, code, _ in road.answers()}
    assert codes == {f"{n}": "model_error" if n == killer_at else "ok" for n in range(20)}
    assert Counter(name for name, code, _ in road.answers() if code != "ok") == {f"{killer_at}": 1}
    (told,) = [told for _, code, told in road.answers() if code == "model_error"]
    assert told == "the model failed on this input"


def test_b03_bytes_that_are_no_request_pass_and_hold_nothing_up(desk: MAKE) -> None:
    road = desk()
    for row, value in enumerate([b"not json", b"", b'{"a":', b"[1,2]", b"\xff\xfe"]):
        road.ask(value, f"bad {row}")
    road.kafka.write("asked", b'{"inputs":{"x":1}}', headers=[("a", b"b")], readable=False)
    road.kafka.write("asked", None)
    road.ask(3, "good")
    road.walk()
    road.commit()
    assert [name for name, code, _ in road.answers() if code == "ok"] == ["good"]
    assert road.committed() == 8
    assert road.metric("answers_total") == {"ok": 1.0, "malformed": 6.0, "invalid": 1.0}
