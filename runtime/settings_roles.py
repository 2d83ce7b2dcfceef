"""Which topics and groups settings name, and in which setting each stands."""

from pelton.schemas.settings import Settings

READ = ("stream.topics", "requests.topics")
"""The settings whose topics are read from; all others are written to."""


def roles_of(settings: Settings) -> dict[str, str]:
    """Return the setting that each topic stands in; patterns of reply topics are no topics."""
    stream, requests = settings.stream, settings.requests
    roles: dict[str, str] = {}
    if stream is not None:
        roles |= dict.fromkeys(stream.topics, "stream.topics")
        roles |= {stream.sink: "stream.sink", stream.dead_letter: "stream.dead_letter"}
    if requests is not None:
        roles |= dict.fromkeys(requests.topics, "requests.topics")
        roles |= dict.fromkeys(requests.named_reply_topics, "requests.reply_topics")
    return roles


def right_to(role: str) -> str:
    """Return the right that a worker needs to a topic that stands in this setting."""
    return "READ" if role in READ else "WRITE"


def inputs_of(settings: Settings) -> dict[str, str]:
    """Return the setting of each topic that is read from."""
    return {topic: role for topic, role in roles_of(settings).items() if role in READ}


def groups_of(settings: Settings) -> dict[str, str]:
    """Return the setting that each group stands in."""
    stream, requests = settings.stream, settings.requests
    groups = {stream.group: "stream.group"} if stream else {}
    return groups | ({requests.group: "requests.group"} if requests else {})
