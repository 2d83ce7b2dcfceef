"""Rules for what must find each other: selectors, Services, volumes, ports, budgets and networks."""

from collections.abc import Iterator
from typing import Any

from chart_check.rendered import Rendered, name_of
from chart_check.settings import settings_of


def selectors(chart: Rendered) -> Iterator[str]:
    """Whatever selects pods selects those of the StatefulSet, and no others of this chart."""
    others = [pod for pod in chart.pods if pod.name != chart.template.name]
    for where, wanted in _selectors(chart):
        if not wanted or not wanted.items() <= chart.template.labels.items():
            yield f"{where}: selects {wanted}, which the scorers are not"
        if found := [pod.name for pod in others if wanted.items() <= pod.labels.items()]:
            yield f"{where}: selects {found} too"


def _selectors(chart: Rendered) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind in ("StatefulSet", "PodDisruptionBudget", "PodMonitor"):
        for each in chart.of(kind):
            yield f"{kind} {name_of(each)}", each["spec"]["selector"].get("matchLabels", {})
    for each in chart.of("NetworkPolicy"):
        yield f"NetworkPolicy {name_of(each)}", each["spec"]["podSelector"].get("matchLabels", {})
    for each in chart.of("Service"):
        yield f"Service {name_of(each)}", each["spec"].get("selector", {})
    for number, each in enumerate(chart.template.spec.get("topologySpreadConstraints", ())):
        yield f"topologySpreadConstraints[{number}]", each["labelSelector"]["matchLabels"]


def services(chart: Rendered) -> Iterator[str]:
    """The StatefulSet's Service exists and is headless, and every Service leads to a port of the scorer."""
    governing = chart.named("Service", chart.statefulset["spec"]["serviceName"])
    if governing is None or governing["spec"].get("clusterIP") != "None":
        yield "serviceName: names no headless Service of this chart"
    names = {port["name"] for port in chart.scorer.get("ports", ())}
    for service in chart.of("Service"):
        if lost := [port["targetPort"] for port in service["spec"]["ports"] if port["targetPort"] not in names]:
            yield f"Service {name_of(service)}: leads to {lost}, which the scorer has not"


def mounts(chart: Rendered) -> Iterator[str]:
    """Every mount has its volume, every volume is mounted, and only /tmp and a package that is fetched are written."""
    for pod in chart.pods:
        volumes = {volume["name"]: volume for volume in pod.spec.get("volumes", ())}
        used: set[str] = set()
        for container in pod.containers():
            for mount in container.get("volumeMounts", ()):
                used.add(mount["name"])
                if mount["name"] not in volumes:
                    yield f"{pod.name}: no volume {mount['name']}"
                elif not mount.get("readOnly") and "emptyDir" not in volumes[mount["name"]]:
                    yield f"{pod.name}/{container['name']}: {mount['mountPath']} can be written"
        if unused := sorted(volumes.keys() - used):
            yield f"{pod.name}: {unused} are mounted nowhere"
        if endless := [name for name, each in volumes.items() if each.get("emptyDir", {"sizeLimit": 1}) == {}]:
            yield f"{pod.name}: {endless} may fill the node's disk"


def budget(chart: Rendered) -> Iterator[str]:
    """A node can be drained: the budget lets a pod go, and one that is not ready at once."""
    for each in chart.of("PodDisruptionBudget"):
        if each["spec"].get("maxUnavailable") in (None, 0, "0%"):
            yield "PodDisruptionBudget: lets no pod go"
        if each["spec"].get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            yield "PodDisruptionBudget: holds pods that are not ready, for example while Kafka is away"


def network(chart: Rendered) -> Iterator[str]:
    """Into the pod: chosen namespaces, to the sidecar only. Out of it: names, and the ports of the brokers."""
    for each in chart.of("NetworkPolicy"):
        spec = each["spec"]
        if sorted(spec.get("policyTypes", ())) != ["Egress", "Ingress"]:
            yield "NetworkPolicy: must rule both ways"
        for rule in spec.get("ingress") or ():
            if [port["port"] for port in rule.get("ports", ())] != ["sidecar"]:
                yield "NetworkPolicy: lets others reach more than the sidecar"
            if not rule.get("from") or not all(_is_named(peer) for peer in rule["from"]):
                yield "NetworkPolicy: lets every namespace in"
        out = [rule for rule in spec.get("egress") or () if rule.get("ports")]
        ports = {(port["protocol"], port["port"]) for rule in out for port in rule["ports"]}
        if lacking := {("UDP", 53), ("TCP", 53), *_brokers(chart)} - ports:
            yield f"NetworkPolicy: keeps the scorer from {sorted(lacking)}"
        if any(not rule.get("ports") and not rule.get("to") for rule in spec.get("egress") or ()):
            yield "NetworkPolicy: lets everything out"


def _is_named(peer: dict[str, Any]) -> bool:
    return bool(peer.get("namespaceSelector", {}).get("matchLabels"))


def _brokers(chart: Rendered) -> set[tuple[str, int]]:
    servers = str(settings_of(chart).kafka["bootstrap.servers"]).split(",")
    return {("TCP", int(server.rsplit(":", 1)[1])) for server in servers}


RULES = (selectors, services, mounts, budget, network)
