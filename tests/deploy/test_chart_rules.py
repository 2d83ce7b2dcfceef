"""Each rule of chart_check holds for what the chart makes, and fails for a chart that is broken on purpose.

`rendered/` holds what Helm made of each file of values; `make check-deploy` fails when that is stale.
"""

from pathlib import Path
from typing import Any

import pytest
from chart_check.__main__ import RULES, problems
from chart_check.rendered import Rendered

KEPT = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "rendered").glob("*.yaml"))}
ROOT = Path(__file__).resolve().parents[2]
GONE = object()
WITH_PASSWORD = "kafka: {sasl.password: hunter2}\nmodel: m\nstream: {topics: [a], group: g, sink: b}"
WITH_TOKEN = "admin: {token: 0123456789abcdef}\nmodel: m\nstream: {topics: [a], group: g, sink: b}"
WITH_TYPO = "model: m\nstram: {topics: [a], group: g, sink: b}"
_SHORT = {
    "pod": "StatefulSet/spec/template/spec",
    "scorer": "StatefulSet/spec/template/spec/containers/0",
    "trigger": "ScaledObject/spec/triggers/0",
}


def chart(name: str) -> Rendered:
    return Rendered(KEPT[name])


def broken(name: str, path: str, value: Any) -> Rendered:
    """Return the render of a case with one thing changed; `path` leads to it by kind, keys, numbers and `env:NAME`."""
    made = chart(name)
    first, *rest = path.split("/")
    kind, *keys = [*_SHORT.get(first, first).split("/"), *rest]
    place: Any = made.of(kind)[0]
    for key in keys[:-1]:
        place = place[_at(place, key)]
    if value is GONE:
        del place[_at(place, keys[-1])]
    else:
        place[_at(place, keys[-1])] = value
    return made


def _at(place: Any, key: str) -> str | int:
    if isinstance(place, dict):
        return key.replace("~", "/")
    if key.startswith("env:"):
        return [each["name"] for each in place].index(key.removeprefix("env:"))
    return int(key)


def test_there_is_a_render_of_every_file_of_values() -> None:
    values = {path.name.removesuffix("-values.yaml") for path in (ROOT / "deploy/helm/pelton/ci").iterdir()}
    assert set(KEPT) == values
    assert {"minimal", "cpu", "gpu-exactly-once", "keda-kafka", "keda-scale", "hpa", "requests"} <= values


@pytest.mark.parametrize("name", KEPT)
def test_what_the_chart_makes_breaks_no_rule(name: str) -> None:
    assert list(problems(chart(name))) == []


# A case, what is broken in its render, by which value (or GONE), and the words that must be found for it.
UNSCALED = "{model: /models/m/1, stream: {topics: [t], group: g, sink: s}, kafka: {bootstrap.servers: 'kafka:9092'}}"
BROKEN: list[tuple[str, str, Any, str]] = [
    # pods
    ("cpu", "pod/securityContext/runAsNonRoot", False, "no_root: score-pelton: may run as root"),
    ("cpu", "pod/securityContext/runAsUser", 0, "no_root: score-pelton: may run as root"),
    ("cpu", "pod/securityContext/seccompProfile", GONE, "no_root: score-pelton: has not the seccomp"),
    ("cpu", "pod/automountServiceAccountToken", True, "no_root: score-pelton: gets a token"),
    ("cpu", "ServiceAccount/automountServiceAccountToken", True, "no_root: ServiceAccount score-pelton: hands"),
    ("cpu", "pod/hostNetwork", True, "no_root: score-pelton: takes part in its host"),
    ("cpu", "pod/volumes/0/hostPath", {"path": "/"}, "no_root: score-pelton: sees files of its host"),
    ("cpu", "scorer/securityContext/readOnlyRootFilesystem", False, "no_privileges: score-pelton/scorer: readOnly"),
    ("cpu", "scorer/securityContext/capabilities/add", ["NET_ADMIN"], "no_privileges: score-pelton/scorer: capab"),
    ("cpu", "scorer/securityContext/runAsUser", 0, "no_privileges: score-pelton/scorer: securityContext says"),
    ("cpu", "scorer/securityContext/privileged", True, "no_privileges: score-pelton/scorer: securityContext says"),
    ("cpu", "pod/initContainers/0/securityContext", GONE, "no_privileges: score-pelton/package: allowPrivilege"),
    ("cpu", "scorer/resources/limits/memory", GONE, "limits: score-pelton/scorer: no limits of ['memory']"),
    ("cpu", "Pod/spec/containers/0/resources", GONE, "limits: score-pelton-doctor/doctor: no requests"),
    ("cpu", "scorer/image", "pelton", "images: score-pelton/scorer: image pelton is not pinned"),
    ("cpu", "scorer/image", "registry.example:5000/pelton", "images: score-pelton/scorer: image registry"),
    ("cpu", "scorer/image", "pelton:latest", "images: score-pelton/scorer"),
    ("cpu", "scorer/livenessProbe", GONE, "probes: livenessProbe: asks None"),
    ("cpu", "scorer/readinessProbe/httpGet/path", "/health/live", "probes: readinessProbe: asks /health/live"),
    ("cpu", "scorer/ports/0/containerPort", 80, "probes: startupProbe: asks port sidecar, where"),
    ("cpu", "scorer/livenessProbe/timeoutSeconds", 1, "probes: livenessProbe: gives up too early"),
    ("cpu", "scorer/startupProbe/failureThreshold", 1, "probes: startupProbe: leaves no time"),
    ("cpu", "pod/terminationGracePeriodSeconds", 38, "grace: terminationGracePeriodSeconds: 38 is too short"),
    ("cpu", "scorer/lifecycle/preStop/exec/command/1", "30", "grace: terminationGracePeriodSeconds: 44 is too"),
    ("cpu", "scorer/lifecycle", GONE, "grace: preStop: is missing"),
    ("cpu", "StatefulSet/spec/podManagementPolicy", "OrderedReady", "parallel: podManagementPolicy: is OrderedReady"),
    ("cpu", "pod/initContainers/0/name", "await-kafka", "no_start_order: await-kafka: only the package"),
    # settings
    ("cpu", "ConfigMap/data/pelton.yaml", WITH_TYPO, "the nearest right name is stream"),
    ("cpu", "ConfigMap/data", {"other.yaml": ""}, "settings: no ConfigMap of this chart is mounted"),
    ("cpu", "scorer/volumeMounts/0/mountPath", "/etc", "settings: no ConfigMap of this chart is mounted"),
    ("cpu", "scorer/args/0", "doctor", "scorer: is started with ['doctor'"),
    ("cpu", "scorer/env/env:PELTON_SIDECAR__HOST/value", "127.0.0.1", "sidecar.host: probes cannot reach 127.0.0.1"),
    ("cpu", "scorer/env/env:PELTON_REPLICA/value", "scorer", "identity: PELTON_REPLICA: is scorer"),
    (
        "gpu-exactly-once",
        "scorer/env/env:PELTON_STREAM__STATIC_ID/value",
        "one",
        "identity: stream.static_id: every pod has one",
    ),
    ("cpu", "ConfigMap/data/pelton.yaml", WITH_PASSWORD, "no_secrets: kafka.sasl.password: lies in a Config"),
    (
        "cpu",
        "scorer/env/env:PELTON_KAFKA__SASL_PASSWORD_FILE",
        {"name": "PELTON_KAFKA__SASL_PASSWORD", "value": "hunter2"},
        "no_secrets: score-pelton/scorer: PELTON_KAFKA",
    ),
    ("gpu-exactly-once", "scorer/resources/limits/nvidia.com~gpu", GONE, "gpu: device cuda with no GPU"),
    ("gpu-exactly-once", "scorer/resources/limits/nvidia.com~gpu", 2, "gpu: {'nvidia.com/gpu': 2}: one pod"),
    ("gpu-exactly-once", "scorer/env/env:PELTON_DEVICE/value", "cpu", "gpu: device cpu with {'nvidia.com/gpu': 1}"),
    ("gpu-exactly-once", "scorer/env/env:PELTON_DEVICE", {"name": "PELTON_WORKERS", "value": "2"}, "gpu: workers"),
    # links
    ("cpu", "StatefulSet/spec/selector/matchLabels/tier", "a", "selectors: StatefulSet score-pelton: selects"),
    ("cpu", "PodDisruptionBudget/spec/selector/matchLabels/tier", "a", "selectors: PodDisruptionBudget score-pelton"),
    ("cpu", "PodMonitor/spec/selector/matchLabels", {}, "selectors: PodMonitor score-pelton: selects {}"),
    ("cpu", "NetworkPolicy/spec/podSelector/matchLabels/tier", "a", "selectors: NetworkPolicy score-pelton: selects"),
    ("cpu", "Service/spec/selector/app.kubernetes.io~component", GONE, "selects ['score-pelton-doctor'] too"),
    ("cpu", "pod/topologySpreadConstraints/0/labelSelector/matchLabels/x", "y", "selectors: topologySpreadConstraints"),
    ("cpu", "Service/spec/clusterIP", "", "services: serviceName: names no headless"),
    ("cpu", "StatefulSet/spec/serviceName", "other", "services: serviceName: names no headless"),
    ("cpu", "Service/spec/ports/0/targetPort", "http", "services: Service score-pelton: leads to ['http']"),
    ("cpu", "pod/volumes/1", GONE, "mounts: score-pelton: no volume tmp"),
    ("cpu", "scorer/volumeMounts/2/mountPath", "/elsewhere", "settings: PELTON_KAFKA__SASL_PASSWORD_FILE"),
    ("cpu", "scorer/volumeMounts/3", GONE, "mounts: score-pelton: ['secret-0'] are mounted nowhere"),
    ("cpu", "scorer/volumeMounts/0/readOnly", False, "mounts: score-pelton/scorer: /etc/pelton can be written"),
    ("cpu", "pod/volumes/1/emptyDir", {}, "mounts: score-pelton: ['tmp'] may fill"),
    ("cpu", "PodDisruptionBudget/spec/maxUnavailable", 0, "budget: PodDisruptionBudget: lets no pod go"),
    ("cpu", "PodDisruptionBudget/spec/unhealthyPodEvictionPolicy", GONE, "budget: PodDisruptionBudget: holds pods"),
    ("cpu", "NetworkPolicy/spec/policyTypes", ["Ingress"], "network: NetworkPolicy: must rule both ways"),
    ("cpu", "NetworkPolicy/spec/ingress/0/from", GONE, "network: NetworkPolicy: lets every namespace in"),
    ("cpu", "NetworkPolicy/spec/ingress/0/from/0", {"namespaceSelector": {}}, "network: NetworkPolicy: lets every"),
    ("cpu", "NetworkPolicy/spec/ingress/0/ports", GONE, "network: NetworkPolicy: lets others reach more"),
    ("cpu", "NetworkPolicy/spec/egress/1/ports/0/port", 9092, "keeps the scorer from [('TCP', 9093)]"),
    ("cpu", "NetworkPolicy/spec/egress/0/ports/0", GONE, "keeps the scorer from [('UDP', 53)]"),
    ("cpu", "NetworkPolicy/spec/egress/0", {}, "network: NetworkPolicy: lets everything out"),
    # scaling
    ("hpa", "StatefulSet/spec/replicas", 3, "owner: replicas: set by 1 scalers and the StatefulSet"),
    ("cpu", "StatefulSet/spec/replicas", GONE, "owner: replicas: set by 0 scalers"),
    ("hpa", "HorizontalPodAutoscaler/spec/scaleTargetRef/kind", "Deployment", "owner: HorizontalPodAutoscaler: scales"),
    ("keda-kafka", "ScaledObject/spec/scaleTargetRef/name", "other", "owner: ScaledObject: scales"),
    ("hpa", "HorizontalPodAutoscaler/spec/minReplicas", 0, "bounds: HorizontalPodAutoscaler: between 0 and 16"),
    ("hpa", "HorizontalPodAutoscaler/spec/maxReplicas", 1, "bounds: HorizontalPodAutoscaler: between 2 and 1"),
    ("keda-scale", "ScaledObject/spec/minReplicaCount", 0, "bounds: ScaledObject: between 0 and 8"),
    ("keda-kafka", "ScaledObject/spec/fallback", GONE, "bounds: ScaledObject: no fallback"),
    (
        "hpa",
        "HorizontalPodAutoscaler/spec/behavior/scaleDown",
        GONE,
        "bounds: HorizontalPodAutoscaler: scales in at once",
    ),
    ("keda-kafka", "trigger/metadata/excludePersistentLag", "true", "['excludePersistentLag'] must not be set"),
    ("keda-kafka", "trigger/metadata/allowIdleConsumers", "true", "['allowIdleConsumers'] must not be set"),
    ("keda-kafka", "trigger/metadata/limitToPartitionsWithLag", GONE, "limitToPartitionsWithLag is not set"),
    (
        "keda-kafka",
        "trigger/metadata/consumerGroup",
        "other",
        "watch [('flight-delay', 'diversions'), ('other', 'flights')], not",
    ),
    ("keda-kafka", "ScaledObject/spec/triggers/1", GONE, "kafka triggers: watch [('flight-delay', 'flights')], not"),
    ("cpu", "PodMonitor/spec/podMetricsEndpoints/0/port", "metrics", "scraped: PodMonitor: asks metrics/metrics"),
    (
        "minimal",
        "StatefulSet/spec/template/metadata/annotations/prometheus.io~port",
        "9",
        "scraped: annotations: ask port 9",
    ),
    ("requests", "trigger/metadata/topic", "other", "kafka triggers: watch [('delay-requests', 'other')], not"),
    ("cpu", "ConfigMap/data/pelton.yaml", WITH_TOKEN, "no_secrets: admin.token: lies in a Config"),
    ("hpa", "HorizontalPodAutoscaler/spec/metrics/0/external/metric/name", "pelton_lag", "metrics: HorizontalPodAuto"),
    ("keda-scale", "ScaledObject/spec/maxReplicaCount", 9, "scales between (2, 9), while /scale answers by min=2"),
    ("keda-scale", "ScaledObject/spec/minReplicaCount", 1, "scales between (1, 8), while"),
    ("keda-scale", "trigger/metadata/targetValue", "2", "scale_triggers: metrics-api trigger: wanted_replicas"),
    ("keda-scale", "trigger/metadata/url", "http://score-pelton-scale:8080/metrics", "nothing answers at"),
    ("keda-scale", "trigger/metadata/url", "http://score-pelton.scoring.svc:8080/scale", "nothing answers at"),
    ("keda-scale", "trigger/metricType", GONE, "only an AverageValue of 1"),
    ("keda-scale", "ConfigMap/data/pelton.yaml", UNSCALED, "no pod answers, as the settings have no scale"),
]


@pytest.mark.parametrize(("name", "path", "value", "words"), BROKEN, ids=[f"{each[0]}: {each[1]}" for each in BROKEN])
def test_a_broken_chart_is_found(name: str, path: str, value: Any, words: str) -> None:
    found = list(problems(broken(name, path, value)))
    assert [line for line in found if words in line], found


def test_every_rule_is_shown_to_fail() -> None:
    lines = [line for name, path, value, _ in BROKEN for line in problems(broken(name, path, value))]
    by_rule = {line.split(":")[0] for line in lines}
    assert {rule.__name__ for rule in RULES} - {"settings_load", "alerts", "dashboard"} <= by_rule
    assert {"settings", "sidecar.host", "scorer"} <= by_rule, "these are the words of settings_load"
