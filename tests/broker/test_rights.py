"""The rights of docs/security.md are enough for a worker, none of them is too much, and one that lacks is named."""

import re
from pathlib import Path

import pytest

from pelton.errors import AccessDenied, CallExpired
from pelton.producers.client import RequestReplyClient
from pelton.rights import check_rights
from pelton.schemas.settings import Settings

from .guarded import Guarded
from .outside import Outside, Position, Record, event
from .place import PARTITIONS, Place
from .rights import documented
from .served import Served, eventually

EVENTS = 20


def reason(served: Served) -> str:
    return "; ".join(served.health("ready")[1])


def send(there: Outside, place: Place, junk: int = 1) -> list[Position]:
    """Send events, and records that are none; return where they are."""
    records = [Record(event(x), partition=x % PARTITIONS) for x in range(EVENTS)]
    return there.send(place.topics["events"], *records, *[Record(b"junk", partition=0)] * junk)


@pytest.mark.timeout(180, func_only=True)
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_worker_waits_for_the_documented_rights_and_needs_no_other(
    delivery: str, place: Place, there: Outside, tmp_path: Path
) -> None:
    exactly = delivery == "exactly-once"
    rights = documented("worker", place.names)
    with Served(place.settings(delivery=delivery), tmp_path) as served:
        for operation, kind, name in rights:
            served.eventually(lambda: f"no right to {operation} {kind.lower()} {name}" in reason(served))  # noqa: B023
        send(there, place)
        place.guarded.allow(place.user, rights)
        if exactly:
            served.eventually(lambda: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in reason(served))
            assert f"pelton-{place.group}-one-0" in reason(served)
            place.guarded.allow(place.user, documented("worker, exactly once", place.names))
        served.until_ready()
        served.eventually(lambda: served.worker()["totals"]["scored"] == EVENTS)
        served.eventually(lambda: served.worker()["totals"]["dead_letters"] == 1)
        assert served.worker()["restarts"] == 0
        # One line for each reason, although it was tried again and again.
        assert len(served.log("not_joined_yet")) == 1 + exactly
        assert [line["topic"] for line in served.log("topic_limits_unknown")] == [
            place.topics["scores"],
            place.topics["dead"],
        ]


def test_each_right_that_lacks_is_named(place: Place) -> None:
    rights = [right for who in ("worker", "worker, requests") for right in documented(who, place.names)]
    settings = Settings.model_validate(place.settings(requests=place.requests))

    def told() -> str:
        try:
            check_rights(settings, 5.0)
        except AccessDenied as denied:
            return str(denied)
        return ""

    for operation, kind, name in rights:
        place.guarded.forbid(place.user)
        place.guarded.allow(place.user, [right for right in rights if right != (operation, kind, name)])
        # The broker takes its time to act by an ACL.
        eventually(lambda: told() == f"no right to {operation} {kind.lower()} {name}", 5.0, told)  # noqa: B023
    place.guarded.allow(place.user, rights)
    eventually(lambda: not told(), 5.0, told)


@pytest.mark.timeout(180, func_only=True)
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_a_right_that_is_taken_away_is_missed_by_name_and_no_record_is_lost_or_blamed(
    delivery: str, place: Place, there: Outside, tmp_path: Path
) -> None:
    rights = taken = documented("worker", place.names)
    if delivery == "exactly-once":
        of_id = documented("worker, exactly once", place.names)
        sink = [right for right in rights if right[2] == place.topics["scores"]]
        rights, taken = rights + of_id, of_id + sink
    scored, set_aside = set[Position](), set[Position]()
    place.guarded.allow(place.user, rights)
    with Served(place.settings(delivery=delivery, poison_starts=2), tmp_path) as served:
        served.until_ready()
        for right in taken:
            place.guarded.forbid(place.user, right)
            *events, junk = send(there, place)
            # In the broker's words (for an id, by its code), or in ours once it was started anew.
            served.eventually(lambda: re.search("uthorization.failed|no right to", reason(served), re.IGNORECASE))
            place.guarded.allow(place.user, [right])
            served.until_ready()
            scored, set_aside = scored.union(events), set_aside.union([junk])
            served.eventually(lambda: set(there.scores(place.topics["scores"])) == scored)  # noqa: B023
            served.eventually(lambda: set(there.letters(place.topics["dead"])) == set_aside)  # noqa: B023
    if delivery == "exactly-once":
        assert {len(found) for found in there.scores(place.topics["scores"]).values()} == {1}


@pytest.mark.timeout(120, func_only=True)
def test_requests_are_answered_with_the_documented_rights_alone(place: Place, guarded: Guarded, tmp_path: Path) -> None:
    rights = [right for who in ("worker", "worker, requests") for right in documented(who, place.names)]
    guarded.allow(place.user, rights)
    caller = f"caller-of-{place.user}"
    guarded.user(caller)
    guarded.allow(caller, documented("caller", place.names))
    answers = {"requests": place.topics["questions"], "replies": place.topics["answers"]}
    with Served(place.settings(requests=place.requests), tmp_path) as served:
        served.until_ready()
        with RequestReplyClient(kafka=guarded.properties(caller), **answers) as client:
            assert client.call_many([{"x": x} for x in range(EVENTS)]) == [2 * x for x in range(EVENTS)]
        *reads, write = documented("worker, requests", place.names)
        for right in reads:
            guarded.forbid(place.user, right)
            served.eventually(lambda: re.search("uthorization.failed|no right to", reason(served), re.IGNORECASE))
            guarded.allow(place.user, [right])
            served.until_ready()
        with RequestReplyClient(kafka=guarded.properties(caller), **answers) as client:
            assert client.call({"x": 4}) == 8
            guarded.forbid(place.user, write)
            refused = f"{place.topics['answers']}.*uthorization failed|uthorization failed.*{place.topics['answers']}"
            served.eventually(lambda: _fails(client) and re.search(refused, served.log_text()))
            guarded.allow(place.user, [write])
            served.eventually(lambda: not _fails(client))


def _fails(client: RequestReplyClient) -> bool:
    try:
        client.call({"x": 4}, deadline_s=1.0)
    except CallExpired:
        return True
    return False
