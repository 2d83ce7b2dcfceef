"""What docker-compose.yml starts beside the scorers: replay, Prometheus with rules, Grafana with its dashboard."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from wheel_stage import context, stage

from pelton.cli import app
from pelton.models.package import load_package
from pelton.schemas.settings import load_settings
from pelton.schemas.yaml_loader import SafeLoader

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
SERVICES: dict[str, Any] = yaml.load((ROOT / "docker-compose.yml").read_text(), SafeLoader)["services"]
GPU: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.cuda.yml").read_text())["services"]


def mounts(service: str) -> dict[str, Path]:
    """Return what is mounted from here, by its place inside."""
    pairs = [volume.split(":") for volume in SERVICES[service]["volumes"] if volume.startswith("./")]
    assert all(mode == "ro" for _, _, mode in pairs)
    return {inside: ROOT / outside for outside, inside, _ in pairs}


def options(service: str) -> dict[str, str]:
    words = SERVICES[service]["command"]
    return dict(zip(words[2::2], words[3::2], strict=True))


def test_all_that_is_mounted_exists() -> None:
    for service, told in SERVICES.items():
        if "volumes" in told:
            assert [path for path in mounts(service).values() if not path.exists()] == []


def test_prometheus_reads_its_rules_where_they_are_mounted() -> None:
    inside = mounts("prometheus")
    config = yaml.safe_load(inside["/etc/prometheus/prometheus.yml"].read_text())
    assert config["rule_files"] == ["rules/*.yml"]
    assert list(inside["/etc/prometheus/rules"].glob("*.yml"))


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    inside = mounts("grafana")
    provisioning = inside["/etc/grafana/provisioning"]
    (source,) = yaml.safe_load((provisioning / "datasources/prometheus.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((provisioning / "dashboards/pelton.yml").read_text())["providers"]
    assert source["url"] == f"http://prometheus:{SERVICES['prometheus']['ports'][0].split(':')[-1]}"
    assert provider["options"]["path"] in inside
    home = Path(SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])
    assert str(home.parent) == provider["options"]["path"]
    for path in inside[str(home.parent)].glob("*.json"):
        assert set(re.findall(r'"uid": "(\w+)"', json.dumps(json.loads(path.read_text()).get("panels")))) <= {
            source["uid"]
        }


def test_nobody_needs_a_password_and_nothing_is_asked_of_the_outside() -> None:
    told = SERVICES["grafana"]["environment"]
    assert (told["GF_AUTH_ANONYMOUS_ORG_ROLE"], told["GF_AUTH_DISABLE_LOGIN_FORM"]) == ("Viewer", "true")
    assert [name for name in told if "PASSWORD" in name] == []


def test_the_replay_sends_where_the_scorers_read() -> None:
    told = options("replay")
    settings = load_settings(DEPLOY / "pelton.yaml", {})
    assert told["--brokers"] == settings.kafka["bootstrap.servers"]
    assert settings.stream is not None
    assert told["--topic"] in settings.stream.topics
    command: Any = typer.main.get_command(app)
    known = {name for option in command.commands["produce"].params for name in option.opts}
    assert set(told) <= known


def walked() -> list[list[str]]:
    """Return the words of every command of Pelton's in the walk-through."""
    blocks = re.findall(r"(?ms)^ *```sh\n(.*?)^ *```$", (DEPLOY / "README.md").read_text())
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    ours = [re.search(r"\b(?:exec scorer pelton|run --rm replay) (.+)$", line) for line in lines]
    return [found[1].split() for found in ours if found]


@pytest.mark.parametrize("words", walked(), ids=" ".join)
def test_commands_of_the_walk_through_have_their_options(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    name, *arguments = words
    with command.commands[name].make_context(name, arguments, resilient_parsing=True) as parsed:
        assert parsed.args == []
        assert "kafka:19092" in parsed.params.values()


def test_the_walk_through_has_commands() -> None:
    assert {words[0] for words in walked()} == {"scores", "lag", "produce"}


def test_the_replay_waits_for_the_topics_and_runs_once() -> None:
    assert SERVICES["replay"]["depends_on"] == SERVICES["scorer"]["depends_on"]
    assert SERVICES["replay"]["restart"] == "no"


def test_the_image_of_the_replay_has_its_file() -> None:
    assert SERVICES["replay"]["build"]["target"] == "replay"
    assert ("COPY", "--from=flights /flights.jsonl /flights.jsonl") in stage(DOCKERFILE, "replay")
    assert ("HEALTHCHECK", "NONE") in stage(DOCKERFILE, "replay")
    assert SERVICES["replay"]["command"][1] == "/flights.jsonl"
    assert "/flights.jsonl" in str(stage(DOCKERFILE, "flights"))


def test_without_a_target_the_scorer_is_built() -> None:
    assert re.findall(r"(?m)^FROM .* AS (\w+)$", DOCKERFILE)[-1] == SERVICES["scorer"]["build"]["target"] == "scorer"
    assert stage(DOCKERFILE, "scorer") == []


def test_all_that_a_stage_copies_is_in_the_context() -> None:
    sent = context((ROOT / ".dockerignore").read_text())
    for name in ("wheel", "flights"):
        copies = [rest.split() for word, rest in stage(DOCKERFILE, name) if word == "COPY"]
        for source in [source for *sources, _ in copies for source in sources]:
            assert [path for path in sent if path == source or path.startswith(f"{source}/")], source


def test_one_in_a_hundred_flights_is_broken_and_the_others_are_events(tmp_path: Path) -> None:
    lines = runpy.run_path(str(DEPLOY / "replay" / "flights.py"))["lines"]()
    package = load_package("flight-delay")
    decoded = package.codec().decode([next(lines) for _ in range(500)])
    refused = [at for at, event in enumerate(decoded, 1) if type(event).__name__ == "Rejection"]
    assert refused == [100, 200, 300, 400, 500]


def test_gpu_scorers_do_not_share_one_by_accident() -> None:
    assert GPU["scorer"]["deploy"]["replicas"] == 1
    assert GPU["replay"]["image"].endswith(":cuda")
