"""Settings: defaults, and what is refused, by its path, before any connection."""

import json
from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

STREAM = {"topics": ["flights"], "group": "g", "sink": "scores"}
LEAST: dict[str, Any] = {"model": "flight-delay", "stream": STREAM}


def settings(changes: dict[str, Any] | None = None) -> Settings:
    """Return the least settings with dotted `changes`, read as from a file and nothing else."""
    return load_settings(None, LEAST | (changes or {}), environ={})


def refusal(changes: dict[str, Any]) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        settings(changes)
    return str(refused.value).splitlines()


def test_defaults_are_those_of_the_design() -> None:
    assert settings().redacted() == {
        "kafka": {"bootstrap.servers": "127.0.0.1:9092"},
        "model": "flight-delay",
        "device": "auto",
        "threads": 1,
        "replica": None,
        "stream": {
            "topics": ["flights"],
            "group": "g",
            "static_id": None,
            "sink": "scores",
            "dead_letter": "scores-dead-letters",
            "reset": "earliest",
            "key": "event-id",
            "partition": "source",
            "tombstones": "skip",
            "timestamp": "producer",
            "forward_headers": ["traceparent", "tracestate"],
        },
        "requests": None,
        "delivery": "at-least-once",
        "batch": {"max_size": 256, "max_wait_ms": 5, "fixed_shape": False, "max_cost": None},
        "queue": {"max_records": None, "max_bytes": 67108864},
        "sidecar": {"host": "127.0.0.1", "port": 8080},
        "admin": {"host": "127.0.0.1", "port": None, "token": None},
        "workers": 1,
        "health": {
            "stall_s": 300,
            "sink_failing_s": 10,
            "lag_window_s": 60,
            "unready_after_s": 10,
            "ready_after_s": 30,
        },
        "scale": None,
        "drain_s": 25,
        "poison_starts": 3,
        "restart": {"first_s": 1, "max_s": 30},
        "tracing": {"enabled": False},
        "log": {"level": "info", "format": "auto"},
    }


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        # wrong names
        ("stream.sinc", "x", "stream.sinc (from the command line): no such setting; the nearest right name is"),
        ("stream.sinc", "x", "the nearest right name is stream.sink"),
        ("sink", "x", "the nearest right name is stream.sink"),
        ("batch.maxsize", 5, "the nearest right name is batch.max_size"),
        ("bootstrap.servers", "x", "the nearest right name is kafka.bootstrap.servers"),
        ("sasl.password", "x", "the nearest right name is kafka.sasl.password"),
        ("brokers_of_mine", "x", "brokers_of_mine (from the command line): no such setting"),
        ("brokers", "x", "the nearest right name is kafka.bootstrap.servers"),
        ("worker", 2, "the nearest right name is workers"),
        # wrong types and values
        ("model", "", "model = ''"),
        ("model", 5, "model = 5"),
        ("stream.group", " ", "stream.group = ' ' (from the command line): may not begin or end with white space"),
        ("stream.group", " scorers", "stream.group = ' scorers' (from the command line): may not begin or end"),
        ("replica", "a\0", "replica ="),
        ("device", "gpu", "device = 'gpu'"),
        ("device", "cuda:x", "device = 'cuda:x'"),
        ("workers", -1, "workers = -1"),
        ("workers", True, "workers = True (from the command line): must be a number, not true or false"),
        ("workers", 1.5, "workers = 1.5"),
        ("threads", "many", "threads = 'many'"),
        ("drain_s", 0, "drain_s = 0"),
        ("drain_s", float("nan"), "drain_s = nan"),
        ("health.stall_s", 0, "health.stall_s = 0"),
        ("health.stall_s", float("inf"), "health.stall_s = inf"),
        ("batch.max_size", 0, "batch.max_size = 0"),
        ("batch.max_wait_ms", -1, "batch.max_wait_ms = -1"),
        ("batch.fixed_shape", "perhaps", "batch.fixed_shape = 'perhaps'"),
        ("batch", 5, "batch = 5"),
        ("queue.max_bytes", 0, "queue.max_bytes = 0"),
        ("sidecar.port", 70000, "sidecar.port = 70000"),
        ("log.level", "inof", "the nearest is 'info'"),
        ("stream.reset", "earlier", "the nearest is 'earliest'"),
        ("stream.key", "input", "the nearest is 'input-key'"),
        ("stream.topics", [], "stream.topics = (a list)"),
        ("stream.topics", ["a", "a"], "names 'a' twice"),
        ("stream.topics", ["a b"], "stream.topics[0] = 'a b'"),
        ("stream.topics", [7], "stream.topics[0] = 7"),
        ("stream.topics", ["."], "stream.topics[0] = '.'"),
        ("stream.sink", "x" * 250, "stream.sink"),
        ("stream.sink", "a/b", "stream.sink = 'a/b'"),
        # contradictions
        ("stream.tombstones", "pass", "needs stream.key: input-key"),
        ("queue.max_records", 255, "queue.max_records = 255 (from the command line): is less than batch.max_size"),
        ("restart.first_s", 31, "is more than restart.max_s (30)"),
        ("health.stall_s", 0.005, "is not more than batch.max_wait_ms (5 ms)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_by_its_path(path: str, value: Any, line: str) -> None:
    assert [found for found in refusal({path: value}) if line in found]


@pytest.mark.parametrize("left_out", ["stream.topics", "stream.group", "stream.sink"])
def test_what_is_missing_is_named_once(left_out: str) -> None:
    stream = {name: value for name, value in STREAM.items() if f"stream.{name}" != left_out}
    with pytest.raises(SettingsError) as refused:
        Settings.model_validate({"model": "m", "stream": stream})
    assert str(refused.value) == f"{left_out}: is missing and has no default"


def test_everything_wrong_is_told_at_once() -> None:
    lines = refusal({"workers": -1, "stream.sinc": "x", "log.level": "loud"})
    assert [line.split(" ")[0] for line in sorted(lines)] == ["log.level", "stream.sinc", "workers"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"stream.sink": "flights"}, "stream.sink = 'flights' (from the command line): is an input topic too"),
        ({"stream.dead_letter": "flights"}, "stream.dead_letter = 'flights' (from the command line): is an input"),
        ({"stream.dead_letter": "scores"}, "stream.dead_letter = 'scores' (from the command line): is the sink too"),
        ({"stream.topics": ["scores-dead-letters"]}, "stream.dead_letter = 'scores-dead-letters': is an input topic"),
    ],
)
def test_b52_a_loop_through_a_topic_is_refused(changes: dict[str, Any], line: str) -> None:
    assert refusal(changes)[0].startswith(line)


@pytest.mark.parametrize(
    ("scale", "line"),
    [
        ({"min": 3, "max": 2}, "scale.max = 2 (from the command line): is less than scale.min (3)"),
        ({"start_s": 120}, "scale.start_s = 120.0 (from the command line): is not less than scale.drain_s (120)"),
    ],
)
def test_a_scale_that_nobody_could_follow_is_refused(scale: dict[str, int], line: str) -> None:
    assert refusal({f"scale.{name}": value for name, value in scale.items()})[0].startswith(line)


def test_tombstones_pass_with_input_keys() -> None:
    assert settings({"stream.tombstones": "pass", "stream.key": "input-key"}).stream.tombstones == "pass"


def test_settings_are_fixed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        settings().workers = 2  # type: ignore[misc]


def test_construction_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELTON_WORKERS", "7")
    assert Settings.model_validate(LEAST).workers == 1
    assert Settings.from_json(settings().to_json()).workers == 1
    assert load_settings(None, LEAST).workers == 7


SECRETS = {
    "sasl.username": "visible",
    "sasl.password": "hunter2",
    "ssl.key.password": "hunter3",
    "ssl.key.pem": "hunter4",
    "ssl.keystore.password": "hunter5",
    "sasl.oauthbearer.client.secret": "hunter6",
    "sasl.oauthbearer.config": "secret=hunter7",
    "sasl.oauthbearer.client.credentials.client.secret": "hunter8",
    "sasl.oauthbearer.assertion.private.key.passphrase": "hunter9",
}


def test_secrets_are_shown_nowhere() -> None:
    made = settings({"kafka": SECRETS})
    shown = [repr(made), str(made), str(made.kafka), f"{made.kafka!r}", json.dumps(made.redacted())]
    shown += [made.model_dump_json(), str(made.model_dump()), str(made.kafka.redacted())]
    for text in shown:
        assert "hunter" not in text
        assert "visible" in text


def test_secrets_reach_the_client_and_the_worker() -> None:
    made = settings({"kafka": SECRETS})
    assert dict(made.kafka) == {"bootstrap.servers": "127.0.0.1:9092", **SECRETS}
    again = Settings.from_json(made.to_json())
    assert again == made
    assert dict(again.kafka) == dict(made.kafka)


@pytest.mark.parametrize(
    "changes",
    [
        {"kafka": {"sasl.password": {"a": "hunter2"}}},
        {"kafka": {"sasl.pasword": "hunter2"}},
        {"kafka": "sasl.password=hunter2"},
        {"sasl.password": "hunter2"},
        {"stream.sasl.password": "hunter2"},
        {"kafka": {"sasl.password": "hunter2", "acks": "1"}},
    ],
)
def test_secrets_are_not_in_error_texts(changes: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as refused:
        settings(changes)
    assert "hunter" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None or refused.value.__suppress_context__


def test_every_setting_has_its_sentence() -> None:
    def silent(schema: dict[str, Any], path: str) -> list[str]:
        found = []
        for name, field in schema.get("properties", {}).items():
            target = definitions.get(field.get("$ref", "").rpartition("/")[2], {})
            found += silent(target, f"{path}{name}.")
            sentence = field.get("description") or target.get("description", "")
            found += [] if sentence.endswith(".") else [f"{path}{name}"]
        return found

    whole = Settings.model_json_schema()
    definitions = whole["$defs"]
    assert silent(whole, "") == []


def test_from_json_refuses_what_it_did_not_write() -> None:
    with pytest.raises(SettingsError):
        Settings.from_json("not json")
