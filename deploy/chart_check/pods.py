"""Rules for pods: who they run as, what they may take, how they begin and end."""

import re
from collections.abc import Iterator

from chart_check.rendered import Object, Rendered
from chart_check.settings import settings_of

KILLED_S = 5
"""What the supervisor waits for a worker it had to kill; it must come before Kubernetes' own SIGKILL."""
PROBES = {"startupProbe": "/health/startup", "livenessProbe": "/health/live", "readinessProbe": "/health/ready"}


def no_root(chart: Rendered) -> Iterator[str]:
    """Every pod runs as a number that is not root, behind the runtime's seccomp profile, without a token."""
    for pod in chart.pods:
        security = pod.spec.get("securityContext", {})
        if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
            yield f"{pod.name}: may run as root"
        if security.get("seccompProfile") != {"type": "RuntimeDefault"}:
            yield f"{pod.name}: has not the seccomp profile RuntimeDefault"
        if pod.spec.get("automountServiceAccountToken") is not False:
            yield f"{pod.name}: gets a token of the cluster"
        if taken := {"hostNetwork", "hostPID", "hostIPC"} & pod.spec.keys():
            yield f"{pod.name}: takes part in its host by {sorted(taken)}"
        if any("hostPath" in volume for volume in pod.spec.get("volumes", ())):
            yield f"{pod.name}: sees files of its host"
    for account in chart.of("ServiceAccount"):
        if account.get("automountServiceAccountToken") is not False:
            yield f"ServiceAccount {account['metadata']['name']}: hands out a token"


def no_privileges(chart: Rendered) -> Iterator[str]:
    """No container writes its root file system, gains privileges or keeps a capability."""
    wanted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    for pod in chart.pods:
        for container in pod.containers():
            where = f"{pod.name}/{container['name']}"
            given = container.get("securityContext", {})
            for name, value in wanted.items():
                if given.get(name) != value:
                    yield f"{where}: {name} is {given.get(name)!r}, not {value!r}"
            # What a container says of itself would win over its pod.
            if more := sorted(given.keys() - wanted.keys()):
                yield f"{where}: securityContext says {more} beside"


def limits(chart: Rendered) -> Iterator[str]:
    """Every container asks for CPU and memory and is bounded in both; memory is not promised beyond the request."""
    for pod in chart.pods:
        for container in pod.containers():
            resources = container.get("resources", {})
            for bound in ("requests", "limits"):
                if lacking := {"cpu", "memory"} - resources.get(bound, {}).keys():
                    yield f"{pod.name}/{container['name']}: no {bound} of {sorted(lacking)}"


def images(chart: Rendered) -> Iterator[str]:
    """Every image has a tag or a digest, and the tag is not `latest`."""
    for pod in chart.pods:
        for container in pod.containers():
            image = container["image"]
            if not re.search(r"(:(?!latest$)[\w.-]+|@sha256:[0-9a-f]{64})$", image):
                yield f"{pod.name}/{container['name']}: image {image} is not pinned"


def probes(chart: Rendered) -> Iterator[str]:
    """The scorer has its three probes, each at its own path and at the port that the sidecar listens on."""
    ports = {each["name"]: each["containerPort"] for each in chart.scorer.get("ports", ())}
    for name, path in PROBES.items():
        asked = chart.scorer.get(name, {}).get("httpGet", {})
        if asked.get("path") != path:
            yield f"{name}: asks {asked.get('path')}, not {path}"
        elif ports.get(asked["port"]) != settings_of(chart).sidecar.port:
            yield f"{name}: asks port {asked['port']}, where the sidecar does not listen"
        elif chart.scorer[name].get("timeoutSeconds", 1) < 2:
            yield f"{name}: gives up too early for a busy node"
    startup = chart.scorer.get("startupProbe", {})
    if startup.get("periodSeconds", 10) * startup.get("failureThreshold", 3) < 10:
        yield "startupProbe: leaves no time to load a model"


def grace(chart: Rendered) -> Iterator[str]:
    """Kubernetes kills later than preStop, drain_s and the supervisor's own kill take together."""
    drain_s = settings_of(chart).drain_s
    stop_s = _pre_stop_s(chart.scorer)
    if not stop_s:
        yield "preStop: is missing, so endpoints are asked that have begun to end"
    given_s = chart.template.spec.get("terminationGracePeriodSeconds", 30)
    if given_s < stop_s + drain_s + KILLED_S:
        yield f"terminationGracePeriodSeconds: {given_s} is too short for {stop_s} + {drain_s:g} + {KILLED_S}"


def _pre_stop_s(container: Object) -> float:
    command = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", [])
    return float(command[1]) if command[:1] == ["sleep"] else 0.0


def parallel(chart: Rendered) -> Iterator[str]:
    """Pods start together: in order, one that is not ready would hold up those that would cure its lag."""
    if (policy := chart.statefulset["spec"].get("podManagementPolicy")) != "Parallel":
        yield f"podManagementPolicy: is {policy}, not Parallel"


def no_start_order(chart: Rendered) -> Iterator[str]:
    """Nothing in the pod waits for Kafka, or ends because it is away: the worker itself waits, and says so."""
    for container in chart.template.spec.get("initContainers", ()):
        if "bootstrap" in str(container) or container["name"] != "package":
            yield f"{container['name']}: only the package is fetched before the scorer starts"


RULES = (no_root, no_privileges, limits, images, probes, grace, parallel, no_start_order)
