"""Objects are held against the schemas of their kinds; an unknown field or a wrong type is found."""

from pathlib import Path
from typing import Any

import pytest
from chart_check.kinds import against_definitions, against_kubernetes, schema_of
from chart_check.rendered import Rendered

RENDERED = Path(__file__).parent / "rendered"
CUSTOM: dict[str, Any] = {"ScaledObject": None, "PodMonitor": None, "PrometheusRule": None}
# In the manner of KEDA's definition; `make check-deploy` takes the real one.
DEFINITION = {
    "spec": {
        "group": "keda.sh",
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object"},
                            "spec": {
                                "type": "object",
                                "required": ["triggers"],
                                "properties": {
                                    "maxReplicaCount": {"type": "integer"},
                                    "triggers": {
                                        "type": "array",
                                        "items": {
                                            "type": "object",
                                            "properties": {
                                                "type": {"type": "string"},
                                                "metadata": {
                                                    "type": "object",
                                                    "additionalProperties": {"type": "string"},
                                                },
                                            },
                                        },
                                    },
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            },
                        },
                    }
                },
            }
        ],
    }
}


def scaled_object(**spec: Any) -> Rendered:
    chart = Rendered("")
    chart.objects = [
        {"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "s"}, "spec": spec}
    ]
    return chart


@pytest.mark.parametrize("path", sorted(RENDERED.glob("*.yaml")), ids=lambda path: path.stem)
def test_kubernetes_takes_what_the_chart_makes(path: Path) -> None:
    assert list(against_kubernetes(Rendered(path.read_text()), "1.37", CUSTOM)) == []


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("podManagementPolicy: Parallel", "podManagmentPolicy: Parallel", "'podManagmentPolicy' was unexpected"),
        ("replicas: 3", "replicas: many", "spec.replicas: 'many'"),
        ("  serviceName: score-pelton", "  serviceName: [score-pelton]", "spec.serviceName: ['score-pelton']"),
        (
            "apiVersion: policy/v1\n",
            "apiVersion: policy/v1beta9\n",
            "Couldn't find schema for kind PodDisruptionBudget",
        ),
    ],
)
def test_what_kubernetes_would_refuse_is_found(was: str, now: str, words: str) -> None:
    text = (RENDERED / "cpu.yaml").read_text()
    assert was in text
    (line,) = against_kubernetes(Rendered(text.replace(was, now, 1)), "1.37", CUSTOM)
    assert words in line


def test_a_field_younger_than_the_cluster_is_found() -> None:
    young = Rendered((RENDERED / "keda-scale.yaml").read_text())  # has an image as a volume
    assert list(against_kubernetes(young, "1.33", CUSTOM)) == []
    assert any("'image' was unexpected" in line for line in against_kubernetes(young, "1.27", CUSTOM))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"triggers": [{"type": "kafka", "metadata": {"topic": "t"}}], "free": {"a": 1}}, ""),
        (
            {"triggers": [{"type": "kafka", "metadata": {"lagThreshold": 5}}]},
            "spec.triggers.0.metadata.lagThreshold: 5",
        ),
        ({"triggers": [{"type": "kafka", "metadaten": {}}]}, "'metadaten' was unexpected"),
        ({"triggers": [], "maxReplicas": 3}, "'maxReplicas' was unexpected"),
        ({"maxReplicaCount": 3}, "'triggers' is a required property"),
    ],
)
def test_a_custom_resource_is_held_against_its_definition(spec: dict[str, Any], words: str) -> None:
    found = list(against_definitions(scaled_object(**spec), {"ScaledObject": DEFINITION}))
    assert [words in line for line in found] == ([True] if words else [])


def test_a_version_that_is_not_served_is_no_version() -> None:
    with pytest.raises(KeyError, match=r"keda\.sh/v1beta1 is not served"):
        schema_of(DEFINITION, "keda.sh/v1beta1")
