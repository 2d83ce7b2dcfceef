"""The settings of requests: optional as a group, and refused where they contradict the stream's."""

from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

STREAM = {"topics": ["flights"], "group": "g", "sink": "scores"}
REQUESTS: dict[str, Any] = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers", "team-*"]}


def settings(environ: dict[str, str] | None = None, **changes: Any) -> Settings:
    given = {"model": "m", "stream": STREAM, "requests": {**REQUESTS, **changes}}
    return load_settings(None, given, environ=environ or {})


def refusal(**changes: Any) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        settings(**changes)
    return str(refused.value).splitlines()


def test_three_settings_are_enough() -> None:
    found = settings().requests
    assert found is not None
    assert found.model_dump() == {
        "topics": ("asked",),
        "group": "rg",
        "reply_topics": ("answers", "team-*"),
        "deadline_s": 10,
        "max_deadline_s": 600,
        "clock_skew_s": 1,
        "max_inputs": 1000,
        "max_wait_ms": 2,
        "stream_share": 0.25,
        "repeats_s": 300,
        "max_repeats": 100_000,
        "max_repeat_bytes": 64 * 1024 * 1024,
        "calls_per_s": None,
    }


def test_the_environment_reaches_into_the_group() -> None:
    found = settings({"PELTON_REQUESTS__MAX_INPUTS": "7", "PELTON_REQUESTS__STREAM_SHARE": "0.5"}).requests
    assert found is not None
    assert (found.max_inputs, found.stream_share) == (7, 0.5)


@pytest.mark.parametrize("left_out", ["topics", "group", "reply_topics"])
def test_what_is_missing_is_named(left_out: str) -> None:
    rest = {name: value for name, value in REQUESTS.items() if name != left_out}
    with pytest.raises(SettingsError) as refused:
        load_settings(None, {"model": "m", "stream": STREAM, "requests": rest}, environ={})
    assert str(refused.value).startswith(f"requests.{left_out}")
    assert "is missing and has no default" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"group": "g"}, "requests.group = 'g' (from the command line): is stream.group too"),
        ({"topics": ["asked", "flights"]}, "requests.topics = 'flights' (from the command line): is a topic of the"),
        ({"topics": ["scores"]}, "requests.topics = 'scores' (from the command line): is a topic of the stream too"),
        ({"topics": ["scores-dead-letters"]}, "is a topic of the stream too"),
        (
            {"deadline_s": 601},
            "requests.deadline_s = 601.0 (from the command line): is more than requests.max_deadline_s",
        ),
        ({"max_deadline_s": 9}, "requests.deadline_s = 10: is more than requests.max_deadline_s (9)"),
        ({"topics": []}, "requests.topics"),
        ({"reply_topics": []}, "requests.reply_topics"),
        ({"stream_share": 1}, "requests.stream_share = 1"),
        ({"stream_share": -0.1}, "requests.stream_share = -0.1"),
        ({"clock_skew_s": -1}, "requests.clock_skew_s = -1"),
        ({"max_inputs": 0}, "requests.max_inputs = 0"),
        ({"max_wait_ms": -1}, "requests.max_wait_ms = -1"),
        ({"max_wait_ms": True}, "requests.max_wait_ms"),
        ({"repeats_s": 0}, "requests.repeats_s = 0"),
        ({"repeat_s": 5}, "the nearest right name is requests.repeats_s"),
    ],
)
def test_what_contradicts_is_refused_by_its_path(changes: dict[str, Any], line: str) -> None:
    assert [found for found in refusal(**changes) if line in found]


@pytest.mark.parametrize("pattern", ["asked", "ask*", "*", "*ed", "flights", "scores", "scores-*", "[a-f]*"])
def test_b35_request_and_reply_on_the_same_topic_by_mistake_are_refused(pattern: str) -> None:
    """Answers among the requests would be taken for requests, without end; among the stream's they are as foreign."""
    lines = refusal(reply_topics=["answers", pattern])
    assert lines
    assert all(line.startswith(f"requests.reply_topics = '{pattern}'") for line in lines)
    assert all("where no caller reads" in line for line in lines)


def test_everything_wrong_is_told_at_once() -> None:
    lines = refusal(group="g", topics=["flights"], reply_topics=["flights"], deadline_s=700)
    assert {line.split(" ")[0] for line in lines} == {
        "requests.group",
        "requests.topics",
        "requests.reply_topics",
        "requests.deadline_s",
    }
