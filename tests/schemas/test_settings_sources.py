"""Flags go before the environment, the environment before the file."""

from pathlib import Path
from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.schemas.settings import Settings, load_settings

FILE = """\
kafka:
  bootstrap.servers: file:9092
  linger.ms: 5
  socket.keepalive.enable: true
model: flight-delay
stream:
  topics: [flights, more-flights]
  group: g
  sink: scores
batch:
  # all of it commented out
queue: {max_records: 1000}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pelton.yaml"
    path.write_text(FILE)
    return path


def load(file: Path, environ: dict[str, str] | None = None, **flags: Any) -> Settings:
    return load_settings(file, flags, environ or {})


def refusal(file: Path, environ: dict[str, str] | None = None, **flags: Any) -> str:
    with pytest.raises(SettingsError) as refused:
        load(file, environ, **flags)
    return str(refused.value)


def test_file_alone(file: Path) -> None:
    made = load(file)
    assert made.stream.topics == ("flights", "more-flights")
    assert made.batch.max_size == 256
    assert dict(made.kafka) == {
        "bootstrap.servers": "file:9092",
        "linger.ms": 5,
        "socket.keepalive.enable": "true",
    }


@pytest.mark.parametrize(
    ("environ", "flags", "expected"),
    [
        ({}, {}, 1000),
        ({"PELTON_QUEUE__MAX_RECORDS": "2000"}, {}, 2000),
        ({"PELTON_QUEUE__MAX_RECORDS": "2000"}, {"queue": {"max_records": 3000}}, 3000),
        ({"PELTON_QUEUE__MAX_RECORDS": "2000"}, {"queue.max_records": 3000}, 3000),
        ({"PELTON_QUEUE__MAX_RECORDS": "2000"}, {"queue.max_records": None}, 2000),
        ({"PELTON_QUEUE__MAX_RECORDS": ""}, {}, 1000),
        ({"PELTON_QUEUE__MAX_RECORDS": "null"}, {}, None),
        ({"PELTON_QUEUE": '{"max_records": 4000}'}, {}, 4000),
        ({"PELTON_QUEUE": '{"max_records": 4000}', "PELTON_QUEUE__MAX_RECORDS": "5000"}, {}, 5000),
    ],
)
def test_order_of_the_sources(file: Path, environ: dict[str, str], flags: dict[str, Any], expected: int) -> None:
    assert load(file, environ, **flags).queue.max_records == expected


@pytest.mark.parametrize(
    ("environ", "flags", "name", "expected"),
    [
        ({"PELTON_BOOTSTRAP_SERVERS": "env:1"}, {}, "bootstrap.servers", "env:1"),
        ({"PELTON_KAFKA": '{"bootstrap.servers": "env:2"}'}, {}, "bootstrap.servers", "env:2"),
        ({"PELTON_KAFKA__SASL_PASSWORD": "p__w"}, {}, "sasl.password", "p__w"),
        ({"PELTON_BOOTSTRAP_SERVERS": "e:1"}, {"kafka": {"bootstrap.servers": "f:1"}}, "bootstrap.servers", "f:1"),
        ({}, {"kafka.bootstrap.servers": "flag:2"}, "bootstrap.servers", "flag:2"),
        ({"PELTON_BOOTSTRAP_SERVERS": "env:1"}, {}, "linger.ms", 5),
        ({}, {"kafka": {"bootstrap.servers": ["a:1", "b:2"]}}, "bootstrap.servers", "a:1,b:2"),
    ],
)  # fmt: skip
def test_kafka_properties_from_everywhere(
    file: Path, environ: dict[str, str], flags: dict[str, Any], name: str, expected: Any
) -> None:
    assert load(file, environ, **flags).kafka[name] == expected


@pytest.mark.parametrize("text", ["a,b", " a , b ", '["a", "b"]'])
def test_lists_from_the_environment(file: Path, text: str) -> None:
    assert load(file, {"PELTON_STREAM__TOPICS": text}).stream.topics == ("a", "b")


def test_no_forwarded_headers(file: Path) -> None:
    assert load(file, {"PELTON_STREAM__FORWARD_HEADERS": "[]"}).stream.forward_headers == ()


def test_numbers_and_truth_from_the_environment(file: Path) -> None:
    made = load(file, {"PELTON_DRAIN_S": "2.5", "PELTON_BATCH__FIXED_SHAPE": "true", "PELTON_WORKERS": "3"})
    assert (made.drain_s, made.batch.fixed_shape, made.workers) == (2.5, True, 3)


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"PELTON_STREM__SINK": "x"}, "PELTON_STREM__SINK: no such setting; the nearest right name is PELTON_STREAM_"),
        ({"PELTON_BROKERS": "x:1"}, "the nearest right name is PELTON_BOOTSTRAP_SERVERS"),
        ({"PELTON_STREAM_SINK": "x"}, "the nearest right name is PELTON_STREAM__SINK"),
        ({"PELTON_KAFKA": "not json"}, "PELTON_KAFKA: must hold a JSON object"),
        ({"PELTON_BATCH": "[" * 100_000}, "PELTON_BATCH: must hold a JSON object"),
        ({"PELTON_WORKERS": "many"}, "workers = 'many' (from PELTON_WORKERS)"),
        ({"PELTON_STREAM__TOPICS": "[a"}, "stream.topics[0] = '[a' (from PELTON_STREAM__TOPICS)"),
        ({"PELTON_KAFKA__ACKS": "1"}, "kafka.acks = '1' (from PELTON_KAFKA__ACKS): may not be set"),
    ],
)  # fmt: skip
def test_wrong_variables_are_refused(file: Path, environ: dict[str, str], text: str) -> None:
    assert text in refusal(file, environ)


def test_variables_of_others_are_left_alone(file: Path) -> None:
    kubernetes = {
        "PELTON_SERVICE_HOST": "10.0.0.1",
        "PELTON_SERVICE_PORT": "8080",
        "PELTON_SERVICE_PORT_HTTP": "8080",
        "PELTON_PORT": "tcp://10.0.0.1:8080",
        "PELTON_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "PELTON_PORT_8080_TCP_ADDR": "10.0.0.1",
        "PELTON_SIDECAR_PORT": "tcp://10.0.0.1:8080",
    }
    others = {"PELTON_TEST_BROKERS": "x", "PELTON_CONFIG": "x", "PELTONISH": "x", "PATH": "x"}
    assert load(file, kubernetes | others) == load(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model: a\nmodel: b\n", "line 2: not YAML: the key 'model' is given twice"),
        ("stream:\n  sink: a\n  sink: b\n", "line 3: not YAML: the key 'sink' is given twice"),
        ("model: [a\nkafka: {sasl.password: hunter2", "not YAML"),
        ("kafka:\n  sasl.password: hunter2: 'x\n", "line 2"),
        ("\tmodel: hunter2", "line 1: not YAML"),
        ("a: &x [*x]\n? [1]: 2", "not YAML"),
        ("stream: &s {topics: a, group: g, sink: *s}", "stream.sink = (a mapping)"),
        ("- model\n- hunter2", "must hold settings as a mapping"),
        ("model: hunter2\x00", "not YAML"),
        ("1: 2", "1 (from"),
        ("stream: {1: hunter2}", "stream.1 (from"),
        (FILE.replace("bootstrap.servers: file:9092", "bootstrap: {servers: x}"), "dots and no levels"),
        ("batch: 5\nbatch.max_size: 6", "batch = 5"),
        ("model: !!python/object/apply:os.system ['true']", "not YAML"),
    ],
)
def test_wrong_files_are_refused(file: Path, text: str, told: str) -> None:
    file.write_text(text)
    message = refusal(file)
    assert told in message
    assert "hunter" not in message


def test_problem_names_its_file(file: Path) -> None:
    file.write_text(FILE.replace("max_records: 1000", "max_records: 0"))
    assert f"queue.max_records = 0 (from {file})" in refusal(file)


def test_empty_file_is_no_settings(file: Path) -> None:
    file.write_text("# nothing yet\n")
    assert refusal(file).splitlines() == [
        "model: is missing and has no default",
        "stream: is missing, and so is requests: one of the two is needed",
    ]


def test_file_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"model: Z\xfcrich")
    assert "not UTF-8 at byte 8" in refusal(latin)
    assert "no such file" in refusal(tmp_path / "none.yaml")
    assert "cannot be read" in refusal(tmp_path)


def test_no_file_at_all() -> None:
    stream = {"topics": "a", "group": "g", "sink": "s"}
    assert load_settings(None, {"model": "m", "stream": stream}, {}).stream.topics == ("a",)


def test_an_empty_group_asks_for_what_is_off_without_it(file: Path) -> None:
    assert load(file).scale is None
    assert load(file, {"PELTON_SCALE": "{}"}).scale is not None
    file.write_text(FILE + "scale: {}\n")
    scale = load(file).scale
    assert scale is not None
    assert (scale.min, scale.drain_s) == (1, 120)
    within = load(file, {"PELTON_SCALE__MAX": "3"}).scale
    assert within is not None
    assert within.max == 3


def test_an_empty_group_takes_nothing_away(file: Path) -> None:
    assert load(file, {"PELTON_QUEUE": "{}"}).queue.max_records == 1000
    assert load(file, queue={}).queue.max_records == 1000
