"""Pods of the chart have names of their own in the group and in transactions, and the same again after a restart."""

from pathlib import Path

from chart_check.rendered import Rendered
from chart_check.settings import settings_of

from pelton.kafka_clients import consumer_properties
from pelton.replica import Seat

CHART = Rendered((Path(__file__).parent / "rendered" / "gpu-exactly-once.yaml").read_text())
PODS = ["score-pelton-0", "score-pelton-1", "score-pelton-10"]


def instance_id(pod: str) -> str:
    settings = settings_of(CHART, pod)
    assert settings.stream is not None
    return str(consumer_properties(settings, settings.stream, 0)["group.instance.id"])


def transactional_id(pod: str, tmp: Path) -> str:
    """Return the id that the first worker of a pod takes; each pod has a /tmp of its own."""
    settings = settings_of(CHART, pod)
    assert settings.stream is not None
    seat = Seat(settings.stream.group, settings.replica, tmp)
    seat.give_up()
    return seat.transactional_id


def test_b60_no_two_pods_have_one_name(tmp_path: Path) -> None:
    assert [instance_id(pod) for pod in PODS] == [f"scoring.{pod}-0" for pod in PODS]
    ids = [transactional_id(pod, tmp_path) for pod in PODS]
    assert ids == [f"pelton-payment-risk-scoring.{pod}-0" for pod in PODS]


def test_b60_a_pod_that_comes_back_has_the_names_it_had(tmp_path: Path) -> None:
    new = tmp_path / "of-a-new-pod"
    new.mkdir()
    for pod in PODS:
        assert transactional_id(pod, tmp_path) == transactional_id(pod, new)
