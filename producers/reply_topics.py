"""Which reply topics exist: looked up before anything is sent there, by a thread of its own."""

import queue
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

import structlog

from pelton.deadline import Deadline
from pelton.errors import BrokerUnavailable

log = structlog.get_logger(__name__)

BELIEVED_S = 5.0
KEPT = 1024
AT_ONCE = 500

# What a broker takes for a name; anything else is not even asked for.
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)

Describe = Callable[[Iterable[str]], Mapping[str, int]]
"""Asks the broker for the partitions of topics; those that do not exist are left out. Raises KafkaFailure."""


class ReplyTopics:
    """Knows the partitions of the topics that answers go to, and which topics they may go to at all.

    A caller may name any topic. One that does not exist would hold messages back in the client until they time out,
    so it is looked up once, without making anybody wait.
    """

    def __init__(self, allowed: Iterable[str], describe: Describe) -> None:
        self._allowed, self._describe = tuple(allowed), describe
        self.allows = lru_cache(KEPT)(self._allows)  # asked twice for each request, and a tenth of its cost
        """Tell whether answers may go to a topic: a pattern of the allow-list matches its name."""
        self._known: dict[str, int] = {}
        self._looked: dict[str, Deadline] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Callable[[int], None]]] = {}
        self._wanted: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._look_up, name="reply-topics", daemon=True).start()

    def when_known(self, topic: str, then: Callable[[int], None], partition: int = 0) -> None:
        """Call `then` with the number of partitions of a topic, 0 if it does not exist: now, or once it is known.

        One that has no such `partition` is looked up anew after a while: topics grow.
        """
        if (n := self._known.get(topic, 0)) > partition:
            then(n)
            return
        with self._lock:
            n = self._known.get(topic, 0)
            if n <= partition and not (topic in self._looked and not self._looked[topic].expired):
                self._waiting.setdefault(topic, []).append(then)
                if len(self._waiting[topic]) == 1:
                    self._wanted.put(topic)
                return
        then(n)

    def forget(self, topic: str) -> None:
        """Look a topic up anew before the next answer: the broker no longer knows it."""
        with self._lock:
            self._known.pop(topic, None)
            self._looked.pop(topic, None)

    @property
    def waiting(self) -> int:
        """How many answers wait for a look-up."""
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def _allows(self, topic: str) -> bool:
        return bool(_NAME.fullmatch(topic)) and any(fnmatchcase(topic, pattern) for pattern in self._allowed)

    def _look_up(self) -> None:
        while True:
            topics = [self._wanted.get()]
            while len(topics) < AT_ONCE and not self._wanted.empty():
                topics.append(self._wanted.get())
            self._tell(self._ask(topics), topics)

    def _ask(self, topics: list[str]) -> Mapping[str, int]:
        """Ask for all at once: a caller who names thousands that do not exist holds nobody else's look-up back."""
        try:
            return self._describe(topics)
        except Exception as error:  # noqa: BLE001 - this thread has to outlive whatever a client raises
            if len(topics) > 1 and not isinstance(error, BrokerUnavailable):
                # One of them is refused, and the others are not to suffer for it.
                return {name: n for topic in topics for name, n in self._ask([topic]).items()}
            log.warning("reply_topic_unknown", topic=topics[0], topics=len(topics), reason=str(error))
            return {}

    def _tell(self, found: Mapping[str, int], topics: list[str]) -> None:
        until = Deadline.after(BELIEVED_S)
        with self._lock:
            self._known.update(found)
            self._looked = {name: looked for name, looked in self._looked.items() if not looked.expired}
            self._looked.update(dict.fromkeys(topics, until))
            told = [(then, found.get(topic, 0)) for topic in topics for then in self._waiting.pop(topic, [])]
        for then, n in told:
            then(n)
