"""A worker may have a stream, requests, or both; neither is refused, and so is what concerns only the one it lacks."""

from pathlib import Path
from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

STREAM = {"topics": ["flights"], "group": "g", "sink": "scores"}
REQUESTS: dict[str, Any] = {"topics": ["asked"], "group": "rg", "reply_topics": ["answers"]}


def load(environ: dict[str, str] | None = None, path: Path | None = None, **given: Any) -> Settings:
    return load_settings(path, {"model": "m", **given}, environ or {})


def refusal(environ: dict[str, str] | None = None, **given: Any) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        load(environ, **given)
    return str(refused.value).splitlines()


def test_requests_need_no_stream() -> None:
    made = load(requests=REQUESTS)
    assert made.stream is None
    assert made.requests is not None
    assert Settings.from_json(made.to_json()) == made


def test_neither_of_both_is_refused() -> None:
    assert refusal() == ["stream: is missing, and so is requests: one of the two is needed"]


def test_what_else_is_wrong_is_told_with_it() -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(None, {"workers": -1}, {})
    assert sorted(line.split(" ")[0] for line in str(refused.value).splitlines()) == ["model:", "stream:", "workers"]


@pytest.mark.parametrize("left_out", ["topics", "group"])
def test_a_stream_that_is_given_in_part_is_no_stream_left_out(left_out: str) -> None:
    part = {name: value for name, value in STREAM.items() if name != left_out}
    assert refusal(stream=part, requests=REQUESTS) == [f"stream.{left_out}: is missing and has no default"]
    lacking = ["stream.group: is missing and has no default", "stream.topics: is missing and has no default"]
    assert sorted(refusal({"PELTON_STREAM__SINK": "scores"}, requests=REQUESTS)) == lacking


def test_a_stream_may_come_from_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "pelton.yaml"
    file.write_text("stream:\n  # commented out\nrequests: {topics: [asked], group: rg, reply_topics: [answers]}\n")
    assert load(path=file).stream is None
    environ = {"PELTON_STREAM__TOPICS": "flights", "PELTON_STREAM__GROUP": "g"}
    made = load(environ, file, stream={"sink": "scores"}).stream
    assert made is not None
    assert (made.topics, made.group, made.sink) == (("flights",), "g", "scores")


def test_exactly_once_needs_a_stream() -> None:
    line = "delivery = 'exactly-once' (from the command line): needs a stream: answers to requests are part of no"
    assert refusal(requests=REQUESTS, delivery="exactly-once")[0].startswith(line)
    assert load(requests=REQUESTS, stream=STREAM, delivery="exactly-once").delivery == "exactly-once"


def test_answers_may_not_come_back_as_requests_without_a_stream_either() -> None:
    (line,) = refusal(requests={**REQUESTS, "reply_topics": ["ask*"]})
    assert line.startswith("requests.reply_topics = 'ask*'")
