"""Topics, groups and a user that one test has to itself on the guarded broker."""

import uuid
from typing import Any

from confluent_kafka.cimpl import NewTopic

from .conftest import settings_for
from .guarded import PLAIN_USER, Guarded

PARTITIONS = 2


class Place:
    """Topics, groups and a user of their own on the guarded broker."""

    def __init__(self, guarded: Guarded, kind: str = "scram") -> None:
        self.guarded, self.kind, tail = guarded, kind, uuid.uuid4().hex[:8]
        # By PLAIN there is one user only; whoever comes by another road is let in by its name.
        self.user = PLAIN_USER if kind == "plain" else f"user-{tail}"
        kinds = ("events", "scores", "dead", "questions", "answers")
        self.topics = {kind: f"{kind}-{tail}" for kind in kinds}
        self.group, self.asked = f"group-{tail}", f"asked-{tail}"
        if kind == "scram":
            guarded.user(self.user)
        made = guarded.admin.create_topics([NewTopic(name, PARTITIONS) for name in self.topics.values()])
        for future in made.values():
            future.result(20)

    @property
    def names(self) -> dict[str, str]:
        """What stands for the names in the table of rights."""
        topics = self.topics
        return {
            "stream.topics": topics["events"],
            "stream.group": self.group,
            "stream.sink": topics["scores"],
            "stream.dead_letter": topics["dead"],
            "GROUP-REPLICA": f"{self.group}-one",
            "requests.topics": topics["questions"],
            "requests.group": self.asked,
            "requests.reply_topics": topics["answers"],
        }

    @property
    def kafka(self) -> dict[str, Any]:
        """What a client needs to be the user."""
        return self.guarded.properties(self.user, self.kind)

    def settings(self, **changes: Any) -> dict[str, Any]:
        """Return settings of a worker there."""
        topics = self.topics
        stream = {"topics": [topics["events"]], "group": self.group, "sink": topics["scores"]}
        kafka = self.kafka | changes.pop("kafka", {})
        stream["dead_letter"] = topics["dead"]
        return settings_for(self.guarded.bootstrap, "obedient", stream, kafka=kafka, replica="one", **changes)

    @property
    def requests(self) -> dict[str, Any]:
        """The setting `requests`."""
        topics = self.topics
        return {"topics": [topics["questions"]], "group": self.asked, "reply_topics": [topics["answers"]]}
