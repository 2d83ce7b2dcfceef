"""Log lines, for machines and for people."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from pelton.logs import configure_logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    logging.captureWarnings(capture=False)
    root.handlers[:], root.level = handlers, level
    for name in ("pelton", "__main__"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines_carry_time_level_logger_fields_and_what_the_process_adds() -> None:
    stream = io.StringIO()
    configure_logs("info", "auto", stream, worker=3)
    structlog.get_logger("pelton.loop").info("worker_ready", model="flight-delay", startup_s=1.5)
    [line] = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "worker_ready",
        "level": "info",
        "logger": "pelton.loop",
        "model": "flight-delay",
        "startup_s": 1.5,
        "worker": 3,
    }


def test_libraries_and_warnings_speak_the_same_format() -> None:
    stream = io.StringIO()
    configure_logs("debug", "json", stream)
    logging.getLogger("aiohttp.server").error("refused %s", "it")
    logging.getLogger("aiohttp.server").debug("chatter")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("soon gone", stacklevel=1)
    refused, warned = lines(stream)
    assert (refused["event"], refused["level"], refused["logger"]) == ("refused it", "error", "aiohttp.server")
    assert "soon gone" in warned["event"]


@pytest.mark.parametrize(("level", "seen"), [("debug", ["batch_scored", "worker_state"]), ("info", ["worker_state"])])
def test_the_least_level_holds_for_ours(level: Any, seen: list[str]) -> None:
    stream = io.StringIO()
    configure_logs(level, "json", stream)
    log = structlog.get_logger("pelton.loop")
    log.debug("batch_scored", records=256)
    log.info("worker_state", state="ready")
    assert [line["event"] for line in lines(stream)] == seen


def test_an_exception_and_odd_values_stay_on_one_line() -> None:
    stream = io.StringIO()
    configure_logs("info", "json", stream)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        structlog.get_logger("pelton.loop").exception("batch_failed", where=io, key=b"\xff")
    [line] = lines(stream)
    assert "ValueError: first\nsecond" in line["exception"]
    assert "Traceback" in line["exception"]
    assert line["key"] == repr(b"\xff")


@pytest.mark.parametrize("style", ["auto", "console"])
def test_a_terminal_gets_readable_lines(style: Any) -> None:
    stream = Terminal()
    configure_logs("info", style, stream)
    structlog.get_logger("pelton.loop").info("worker_ready", model="flight-delay")
    assert "worker_ready" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_a_later_setup_replaces_the_first() -> None:
    log = structlog.get_logger("pelton.loop")
    first, second = io.StringIO(), io.StringIO()
    configure_logs("info", "json", first)
    log.info("one")
    configure_logs("info", "json", second)
    log.info("two")
    assert [[line["event"] for line in lines(stream)] for stream in (first, second)] == [["one"], ["two"]]


def test_a_traceback_on_a_terminal_tells_no_local_variables() -> None:
    stream = Terminal()
    configure_logs("info", "console", stream)
    password = "hunter2-must-not-show"
    try:
        raise ValueError("no " + "connection")
    except ValueError:
        structlog.get_logger("pelton.loop").exception("failed")
    told = stream.getvalue()
    assert "ValueError" in told
    assert password not in told
