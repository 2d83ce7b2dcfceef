"""A served model that is asked questions, and a caller by hand who writes every byte of them."""

import json
import signal
import struct
import time
import uuid
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Message

from pelton.producers.client import RequestReplyClient

from .conftest import Serve
from .outside import Hold, Outside, Record
from .served import Served

REPLY_PARTITIONS = 4
FOR_LONG_S = 120.0


class Desk:
    """A served model with a topic of requests and one of replies."""

    def __init__(self, served: Served, outside: Outside) -> None:
        self.served, self.outside = served, outside
        asked = served.settings["requests"]
        self.requests, self.replies, self.group = asked["topics"][0], asked["reply_topics"][0], asked["group"]

    def client(self, **options: Any) -> RequestReplyClient:
        """Make a client; it is patient, so that a slow machine fails no test."""
        here = {"kafka": self.outside.brokers, "requests": self.requests, "replies": self.replies}
        return RequestReplyClient(**{**here, "deadline_s": 30.0, "start_s": 30.0, **options})

    def record(
        self,
        inputs: Any,
        call_id: bytes | None = None,
        *,
        reply_topic: str | None = None,
        reply_partition: int | None = 2,
        deadline_s: float = FOR_LONG_S,
        more: dict[str, bytes] | None = None,
        value: bytes | None = None,
    ) -> Record:
        """Return a question as Spring Kafka writes it, to partition 0; `value` takes the place of `inputs`."""
        headers = [
            ("kafka_correlationId", call_id or uuid.uuid4().bytes),
            ("kafka_replyTopic", (reply_topic or self.replies).encode()),
            ("pelton-deadline", b"%d" % int((time.time() + deadline_s) * 1000)),
        ]
        if reply_partition is not None:
            headers.append(("kafka_replyPartition", struct.pack(">i", reply_partition)))
        return Record(
            json.dumps({"inputs": inputs}).encode() if value is None else value,
            headers=[*headers, *(more or {}).items()],
            partition=0,
        )

    def ask(self, *records: Record) -> list[list[Message]]:
        """Send questions and wait until each has an answer; return the answers to the id of each."""
        self.outside.send(self.requests, *records)
        return self.served.eventually(lambda: self.answers(*records))

    def answers(self, *records: Record) -> list[list[Message]]:
        """Return the answers to the id of each question, nothing before there are as many as questions of that id."""
        wanted: dict[bytes, int] = defaultdict(int)
        ids = [dict(record.headers)["kafka_correlationId"] or b"" for record in records]
        for call_id in ids:
            wanted[call_id] += 1
        found: dict[bytes, list[Message]] = defaultdict(list)
        for message in self.outside.read(self.replies):
            found[dict(message.headers())["kafka_correlationId"]].append(message)
        return [found[each] for each in ids] if all(len(found[each]) >= n for each, n in wanted.items()) else []

    def ends(self, name: str) -> float:
        """Return how many answers ended so: delivered, no_topic, forbidden."""
        lines = self.served.get("/metrics")[1].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if f'pelton_replies_total{{end="{name}"' in line)


class Calls:
    """Counts how often the model `obedient` sees an event: `{"x": 1, "hold": calls.file}`; it is not held."""

    def __init__(self, folder: Path) -> None:
        self.file = str(folder / f"calls-{uuid.uuid4().hex[:8]}")

    def __len__(self) -> int:
        seen = Path(f"{self.file}.reached")
        return len(seen.read_text().splitlines()) if seen.exists() else 0


def desk(
    serve: Serve, topic_factory: Callable[..., str], outside: Outside, *, request_partitions: int = 1, **settings: Any
) -> Desk:
    """Serve `obedient` with requests; its clock is that of the callers."""
    topic = topic_factory(request_partitions, prefix="requests")
    requests = {
        "topics": [topic],
        "group": f"group-of-{topic}",
        "reply_topics": [topic_factory(REPLY_PARTITIONS, prefix="replies"), "gone-*"],
        "clock_skew_s": 0,
    }
    return Desk(serve(requests=requests | settings.pop("requests", {}), **settings), outside)


def desk_alone(serve: Serve, topic_factory: Callable[..., str], outside: Outside, **settings: Any) -> Desk:
    """Serve `obedient` with requests and without a stream."""
    return desk(serve, topic_factory, outside, streaming=False, **settings)


def stop_in_mid_batch(asked: Desk, hold: Hold) -> list[Record]:
    """Tell the worker to end while the third of 30 questions is in the model; return the questions.

    What it had in hand it ends, and no more: each question committed has its answer.
    """
    records = [asked.record({"x": x, **({"hold": hold.file} if x == 2 else {})}) for x in range(30)]
    asked.outside.send(asked.requests, *records)
    asked.served.eventually(hold.reached)
    asked.served.tell(signal.SIGTERM)
    # The supervisor says so first; it is the worker that has to have heard.
    asked.served.eventually(lambda: any("waiting" in line for line in asked.served.log("draining")))
    hold.release()
    assert asked.served.ended(within_s=12) == 0
    done = asked.outside.committed(asked.group, asked.requests)[0]
    assert 2 < done < 30
    assert [told(answer[0])["data"] for answer in asked.answers(*records[:done])] == [2 * x for x in range(done)]
    return records


def told(message: Message) -> dict[str, Any]:
    """Return what an answer says, as strict JSON."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return dict(json.loads(message.value(), parse_constant=refuse))
