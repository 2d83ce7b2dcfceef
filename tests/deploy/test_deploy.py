"""deploy/ and the code agree: settings, topics, ports, paths and times. Needs no Docker."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pelton.schemas.settings import Settings, load_settings
from pelton.schemas.yaml_loader import SafeLoader

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.load((ROOT / "docker-compose.yml").read_text(), SafeLoader)
PROMETHEUS: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings(ROOT / "deploy" / "pelton.yaml", {})


def topics() -> dict[str, int]:
    """Return the topics that the one-shot service makes, with their partitions."""
    (script,) = COMPOSE["services"]["topics"]["command"]
    return {name: int(count) for name, count in re.findall(r"([\w-]+):(\d+)", script.split(";")[0])}


def seconds(text: str) -> float:
    assert text.endswith("s")
    return float(text[:-1])


def test_the_settings_name_the_topics_that_are_made(settings: Settings) -> None:
    stream = settings.stream
    assert {*stream.topics, stream.sink, stream.dead_letter} == set(topics())


def test_the_sink_keeps_the_partitions_of_the_source(settings: Settings) -> None:
    made = topics()
    assert made[settings.stream.sink] == max(made[topic] for topic in settings.stream.topics)


def test_the_settings_reach_the_broker_by_its_inner_listener(settings: Settings) -> None:
    advertised = COMPOSE["services"]["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")
    assert f"INSIDE://{settings.kafka['bootstrap.servers']}" in advertised


def test_b10_the_scorer_has_time_to_drain(settings: Settings) -> None:
    assert seconds(COMPOSE["services"]["scorer"]["stop_grace_period"]) >= settings.drain_s + 10
    assert "\nSTOPSIGNAL SIGTERM\n" in DOCKERFILE


def test_b40_nothing_starts_before_what_it_needs() -> None:
    services = COMPOSE["services"]
    assert "healthcheck" in services["kafka"]
    assert services["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert services["scorer"]["depends_on"]["topics"] == {"condition": "service_completed_successfully"}


def test_b52_dead_letters_have_a_topic_of_their_own(settings: Settings) -> None:
    assert topics()[settings.stream.dead_letter] >= 1
    assert settings.stream.dead_letter not in (*settings.stream.topics, settings.stream.sink)


def test_every_scorer_has_partitions_to_read(settings: Settings) -> None:
    partitions = sum(topics()[topic] for topic in settings.stream.topics)
    assert partitions >= COMPOSE["services"]["scorer"]["deploy"]["replicas"]


def test_settings_are_mounted_where_the_image_looks() -> None:
    (mount,) = COMPOSE["services"]["scorer"]["volumes"]
    source, target, mode = mount.split(":")
    assert (ROOT / source).is_file()
    assert mode == "ro"
    assert f'CMD ["serve", "--config", "{target}"]' in DOCKERFILE


def test_one_port_for_sidecar_health_check_and_prometheus() -> None:
    (port,) = re.findall(r"PELTON_SIDECAR__PORT=(\d+)", DOCKERFILE)
    assert f"\nEXPOSE {port}\n" in DOCKERFILE
    (outside,) = COMPOSE["services"]["scorer"]["ports"]
    first, last, inside = re.fullmatch(r"127\.0\.0\.1:(\d+)-(\d+):(\d+)", outside).groups()  # type: ignore[union-attr]
    assert (first, inside) == (port, port)
    assert int(last) - int(first) + 1 >= COMPOSE["services"]["scorer"]["deploy"]["replicas"] == 2
    (job,) = PROMETHEUS["scrape_configs"]
    assert job["dns_sd_configs"][0] | {"names": ["scorer"], "port": int(port)} == job["dns_sd_configs"][0]


def test_the_environment_of_the_image_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    names = dict(re.findall(r"(PELTON_\w+)=(\S+)", DOCKERFILE.replace("os.environ", "")))
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    sidecar = load_settings(ROOT / "deploy" / "pelton.yaml", {}).sidecar
    assert (sidecar.host, str(sidecar.port)) == (names["PELTON_SIDECAR__HOST"], names["PELTON_SIDECAR__PORT"])


def test_the_environment_of_the_gpu_file_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = yaml.safe_load((ROOT / "deploy" / "compose.cuda.yml").read_text())
    for name, value in cuda["services"]["scorer"]["environment"].items():
        monkeypatch.setenv(name, value)
    assert load_settings(ROOT / "deploy" / "pelton.yaml", {}).device == "cuda"


def test_the_image_runs_as_a_number_that_is_not_root() -> None:
    (user,) = re.findall(r"(?m)^USER (\S+)$", DOCKERFILE)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_every_image_is_pinned() -> None:
    images = [service["image"] for service in COMPOSE["services"].values() if "build" not in service]
    images += re.findall(r"(?m)^ARG \w+_IMAGE=(\S+)$", DOCKERFILE)
    assert len(images) >= 4
    assert [image for image in images if not re.search(r":v?\d+\.\d+", image)] == []


def test_ports_are_open_on_this_machine_only() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_deploy_names_no_registry_of_packages() -> None:
    files = [path for path in (ROOT / "deploy").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    text = "".join(path.read_text() for path in files)
    assert set(re.findall(r"https?://([\w.-]+\.[a-z]+)", text)) <= {"json-schema.org"}  # the name of a dialect
