"""Every client that Pelton makes gets in by each kind of credentials; wrong ones are named, and waited out."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from pelton.consumers.group_lag import GroupLag
from pelton.errors import AccessDenied, CallExpired, KafkaFailure
from pelton.producers.client import EventProducer, RequestReplyClient, ScoreReader

from .commanded import running
from .guarded import PASSWORD, PROTOCOLS, Guarded
from .outside import Outside, Record, event
from .place import PARTITIONS, Place
from .rights import documented, everybody
from .served import Served, eventually

ANYTHING = [("ALL", kind, "*") for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")] + [
    ("ALL", "CLUSTER", "kafka-cluster")
]


def commands(place: Place) -> list[list[str]]:
    """Return every command that asks a broker."""
    return [
        ["lag", place.group],
        ["doctor"],
        ["scores", "-t", place.topics["scores"], "--from-beginning"],
        ["produce", "events.jsonl", "-t", place.topics["events"]],
        ["request", "--inputs", '{"x": 4}'],
        ["kafka", "topics"],
    ]


def written(place: Place, folder: Path, **kafka: Any) -> Path:
    """Write a settings file and events for the commands."""
    (folder / "events.jsonl").write_text('{"x": 3}\n')
    config = folder / "commands.yaml"
    config.write_text(yaml.safe_dump(place.settings(requests=place.requests, delivery="exactly-once", kafka=kafka)))
    return config


@pytest.mark.timeout(180, func_only=True)
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_worker_every_command_and_every_client_get_in(kind: str, guarded: Guarded, tmp_path: Path) -> None:
    place = Place(guarded, kind)
    questions, answers = place.topics["questions"], place.topics["answers"]
    noisy = {"kafka": {"debug": "security,broker,conf"}, "log": {"format": "json", "level": "debug"}}
    settings = place.settings(requests=place.requests, delivery="exactly-once", **noisy)
    anything = guarded.allowing(place.user, ANYTHING)
    with anything, Served(settings, tmp_path) as served, Outside(guarded.bootstrap) as there:
        served.until_ready()
        with EventProducer(place.kafka, place.topics["events"]) as producer:
            assert producer.send(event(1)).result(20).topic == place.topics["events"]
        with RequestReplyClient(kafka=place.kafka, requests=questions, replies=answers) as client:
            assert client.call({"x": 2.0}) == 4.0
        served.eventually(lambda: there.committed(place.group, place.topics["events"]))
        with ScoreReader(place.kafka, place.topics["scores"]) as reader:
            assert [read.score.score for read in reader] == [2.0]
        if kind in {"scram", "oauth"}:  # the other two differ in nothing that a command would see
            with running(commands(place), written(place, tmp_path)) as ended:
                for each in ended:
                    assert each.code == 0, each
                    assert PASSWORD not in each.output
        status = served.get("/status")[1].decode()
        log = served.log_text()
    assert "pelton.librdkafka" in log, "the client's own log was not looked at"
    assert PASSWORD not in log + status


@pytest.mark.timeout(120, func_only=True)
def test_wrong_credentials_are_named_by_every_command_and_client_and_waited_out_by_a_worker(
    place: Place, tmp_path: Path
) -> None:
    wrong = {"sasl.password": "not-the-password"}
    kafka = place.kafka | wrong
    answers = {"requests": place.topics["questions"], "replies": place.topics["answers"]}
    settings = place.settings(requests=place.requests, kafka=wrong)
    with Served(settings, tmp_path) as served, running(commands(place), written(place, tmp_path, **wrong)) as ended:
        served.eventually(lambda: "Authentication failed" in "; ".join(served.health("ready")[1]))
        with pytest.raises(AccessDenied, match="Authentication failed"):
            RequestReplyClient(kafka=kafka, **answers).start()
        with pytest.raises(AccessDenied, match="Authentication failed"):
            ScoreReader(kafka, place.topics["scores"])
        with EventProducer(kafka, place.topics["events"], delivery_s=2) as producer:
            assert isinstance(producer.send(b"{}").exception(20), AccessDenied)
        for each in ended:
            assert each.code == 1, each
            assert "Authentication failed" in each.output, each
            assert "not-the-password" not in each.output, each
        # It goes on trying, and has said so once.
        assert served.worker()["state"] == "joining"
        assert served.worker()["restarts"] == 0
        assert len(served.log("not_joined_yet")) == 1
        assert served.health("live")[0] == 200
        served.process.terminate()
        assert served.process.wait(5) == 0


ROLES = {"caller", "producer of events", "reader of scores", "`pelton lag`"}


def test_every_role_of_the_table_is_tested() -> None:
    assert everybody() == ROLES | {"worker", "worker, exactly once", "worker, requests"}


@pytest.mark.parametrize("who", sorted(ROLES))
def test_a_role_needs_the_documented_rights_and_no_other(who: str, place: Place, there: Outside) -> None:
    """A caller is in when it has taken its place in the replies; that a worker answers is shown above."""
    there.send(place.topics["events"], *[Record(event(1), partition=number) for number in range(PARTITIONS)])
    read = ConsumerGroupTopicPartitions(place.group, [TopicPartition(place.topics["events"], 0, 1)])

    def committed() -> bool:
        there.admin.alter_consumer_group_offsets([read])[place.group].result(20)
        return there.committed(place.group, place.topics["events"])[0] == 1

    eventually(committed)
    does = {
        "caller": lambda: RequestReplyClient(
            kafka=place.kafka, requests=place.topics["questions"], replies=place.topics["answers"]
        ),
        "producer of events": lambda: EventProducer(place.kafka, place.topics["events"], delivery_s=5),
        "reader of scores": lambda: ScoreReader(place.kafka, place.topics["scores"]),
        "`pelton lag`": lambda: closing(GroupLag(place.kafka, place.group)),
    }

    def denied() -> str:
        try:
            with does[who]() as client:  # type: ignore[attr-defined]
                _use(client)
        except AccessDenied as error:
            return str(error)
        except KafkaFailure as error:
            # What the broker tells of a group leaves out the topics that may not be seen.
            if "in any topic we may see" in str(error):
                return str(error)
            raise
        return ""

    rights = documented(who, place.names)
    for lacking in rights:
        place.guarded.forbid(place.user)
        place.guarded.allow(place.user, [right for right in rights if right != lacking])
        eventually(lambda: denied() != "", 10.0)
    place.guarded.allow(place.user, rights)
    eventually(lambda: not denied(), 10.0, denied)


def _use(client: Any) -> None:
    if isinstance(client, RequestReplyClient):
        with pytest.raises(CallExpired):
            client.call({"x": 1}, deadline_s=0.3)
    elif isinstance(client, EventProducer):
        client.send(b"{}").result(20)
    elif isinstance(client, GroupLag):
        client.look()
    else:
        list(client)


def test_the_doctor_tells_what_is_missing_and_what_it_may_not_look_up(place: Place, tmp_path: Path) -> None:
    exactly = documented("worker, exactly once", place.names)
    rights = [*documented("worker", place.names), *documented("worker, requests", place.names), *exactly]
    config = written(place, tmp_path)

    def found() -> list[str]:
        with running([["doctor", "--json"]], config) as ended:
            (each,) = ended
        return [f"{finding['where']}: {finding['what']}" for finding in json.loads(each.output)["findings"]]

    place.guarded.allow(place.user, rights)
    of_ids = "delivery: who may use the transactional ids cannot be looked up: no right to DESCRIBE the cluster"
    eventually(lambda: [told for told in found() if "no right" in told] == [of_ids])
    place.guarded.allow(place.user, [("DESCRIBE", "CLUSTER", "kafka-cluster")])
    place.guarded.forbid(place.user, exactly[0])
    place.guarded.forbid(place.user, rights[1])
    missing = (f"stream.group: no right to join the group {place.group}", "delivery: no ACL lets anybody use the")
    # The broker takes its time to act by an ACL.
    eventually(lambda: all(any(each.startswith(start) for each in found()) for start in missing))
