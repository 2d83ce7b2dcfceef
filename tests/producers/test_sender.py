"""What is sent of a mixed block, and in which order."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError

from pelton.producers.channel import Manner
from pelton.producers.sender import Sender, count_tombstones, is_mixed
from pelton.producers.tickets import Ticket
from pelton.schemas.codes import Code
from pelton.schemas.rejection import TOMBSTONE, Rejection

MAKE = Callable[..., Any]
BAD = Rejection(Code.INVALID, "wrong", "decode", "ValidationError")


class Desk:
    """A sender whose reports are written down; each must come back with the ticket's present attempt."""

    def __init__(self, road: Any, manner: Manner) -> None:
        self.channel = road.channel(manner)
        self.sender = Sender(self.channel, road.outputs, road.dead_letters, self.on_report)
        self.reports: list[tuple[int, bool]] = []

    def on_report(self, ticket: Ticket, attempt: int, error: KafkaError | None, _message: Any) -> None:
        assert error is None
        self.reports.append((attempt, ticket.attempt == attempt))

    def send(self, ticket: Ticket) -> None:
        self.sender.send(ticket)
        self.channel.producer.poll(0)


def ticket_of(block: Any, outcomes: list[Any]) -> Ticket:
    return Ticket(block, outcomes, len(block), count_tombstones(outcomes))


@pytest.mark.parametrize(("manner", "awaited"), [(Manner.FAST, 3), (Manner.EACH, 5), (Manner.SINGLY, 5)])
def test_every_report_that_will_come_is_awaited(rig: MAKE, records: MAKE, manner: Manner, awaited: int) -> None:
    road = rig()
    desk = Desk(road, manner)
    ticket = ticket_of(records(range(6)), [0.0, BAD, 2.0, TOMBSTONE, BAD, 5.0])
    desk.send(ticket)
    assert ticket.awaited == awaited
    assert desk.reports == [(1, True)] * awaited
    assert road.scores == [(0, 0.0), (2, 2.0), (5, 5.0)]
    assert road.dead == [(1, "invalid"), (4, "invalid")]
    assert ticket.refused == {Code.INVALID: 2}


def test_nothing_but_rejections_or_tombstones_writes_no_score(rig: MAKE, records: MAKE) -> None:
    road = rig()
    desk = Desk(road, Manner.FAST)
    desk.send(buried := ticket_of(records([0, 1]), [BAD, BAD]))
    desk.send(skipped := ticket_of(records([2]), [TOMBSTONE]))
    assert (road.scores, [offset for offset, _ in road.dead]) == ([], [0, 1])
    assert (buried.awaited, skipped.awaited) == (2, 0)


def test_b11_order_within_a_key_holds_around_a_tombstone(rig: MAKE, records: MAKE) -> None:
    road = rig(key="input-key", tombstones="pass")
    desk = Desk(road, Manner.FAST)
    ticket = ticket_of(records(range(5), keys=[b"k"] * 5), [0.0, TOMBSTONE, BAD, TOMBSTONE, 4.0])
    desk.send(ticket)
    values = [message.value() for message in road.kafka.read("scores")]
    assert [value and json.loads(value)["source"]["offset"] for value in values] == [0, None, None, 4]
    assert ticket.awaited == len(desk.reports) == 5


def test_b12_scores_that_are_no_json_are_buried_among_good_ones(rig: MAKE, records: MAKE) -> None:
    road = rig()
    desk = Desk(road, Manner.FAST)
    outcomes = [1.0, float("nan"), 2.0, float("inf"), {"p": [0.5, float("-inf")]}, None, object(), 3.0]
    ticket = ticket_of(records(range(8)), outcomes)
    desk.send(ticket)
    assert road.scores == [(0, 1.0), (2, 2.0), (7, 3.0)]
    assert road.dead == [(offset, "model_error") for offset in (1, 3, 4, 5, 6)]
    assert ticket.refused == {Code.MODEL_ERROR: 5}
    for message in road.kafka.read("scores"):
        json.loads(message.value(), parse_constant=pytest.fail)


def test_a_ticket_that_is_sent_again_counts_anew(rig: MAKE, records: MAKE) -> None:
    road = rig()
    desk = Desk(road, Manner.FAST)
    ticket = ticket_of(records([0, 1]), [0.0, BAD])
    desk.send(ticket)
    ticket.restart()
    desk.send(ticket)
    assert (ticket.attempt, ticket.awaited, ticket.refused) == (2, 2, {Code.INVALID: 1})
    assert [attempt for attempt, _ in desk.reports] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("outcomes", "mixed", "tombstones"),
    [([], False, 0), ([0.5, "a", None], False, 0), ([0.5, BAD], True, 0), ([TOMBSTONE, 0.5, TOMBSTONE], True, 2)],
)
def test_mixed_outcomes_are_told_from_plain_ones(outcomes: list[Any], mixed: bool, tombstones: int) -> None:
    assert is_mixed(outcomes) is mixed
    assert count_tombstones(outcomes) == tombstones
