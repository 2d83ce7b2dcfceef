"""Which rights a principal lacks, by what the broker says that it may do."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from confluent_kafka import KafkaError, TopicCollection

from pelton.admin_calls import AdminCalls
from pelton.errors import AccessDenied, BrokerUnavailable
from pelton.schemas.settings import Settings
from pelton.settings_roles import groups_of, right_to, roles_of

_MISSING = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.GROUP_ID_NOT_FOUND)
GROUP_ANSWER_S = 2.0


def rights_needed(settings: Settings) -> tuple[dict[str, str], list[str]]:
    """Return the right that a worker needs to each topic that is named, and the groups that it has to READ."""
    needed = {topic: right_to(role) for topic, role in roles_of(settings).items()}
    return needed, list(groups_of(settings))


def check_rights(settings: Settings, timeout_s: float, *, groups: bool = True) -> None:
    """Raise AccessDenied, which names every right that a worker lacks; what the broker does not tell is not missed.

    Without `groups` only topics are asked about: the member itself hears whether its group lets it in.

    Raises BrokerUnavailable when no broker answers about the topics in time, SettingsError without a client.
    """
    needed, joined = rights_needed(settings)
    lacks = [*_of_topics(settings.kafka, needed, timeout_s), *_of_groups(settings.kafka, joined if groups else [])]
    if lacks:
        raise AccessDenied("; ".join(lacks))


def _of_topics(kafka: Mapping[str, Any], needed: Mapping[str, str], timeout_s: float) -> Iterator[str]:
    calls, wanted = AdminCalls(kafka, timeout_s), TopicCollection(list(needed))
    asked = calls.client.describe_topics(wanted, include_authorized_operations=True, request_timeout=timeout_s)
    for topic, future in asked.items():
        if _is_lacking(calls, future, needed[topic]):
            yield f"no right to {needed[topic]} topic {topic}"


def _of_groups(kafka: Mapping[str, Any], groups: Iterable[str]) -> Iterator[str]:
    calls = AdminCalls(kafka, GROUP_ANSWER_S)
    for group in groups:
        asked = calls.client.describe_consumer_groups(
            [group], include_authorized_operations=True, request_timeout=GROUP_ANSWER_S
        )
        try:
            if _is_lacking(calls, asked[group], "READ"):
                yield f"no right to READ group {group}"
        except BrokerUnavailable:
            return  # where groups are kept may take its time to begin; joining waits for it


def _is_lacking(calls: AdminCalls, future: Any, right: str) -> bool:
    try:
        told = calls.result(future, unless=_MISSING, of="")
    except AccessDenied as error:
        if "authorization failed" not in str(error):
            raise  # not a right: nobody was let in
        return True
    operations = None if told is None else told.authorized_operations
    return operations is not None and right not in {operation.name for operation in operations}
