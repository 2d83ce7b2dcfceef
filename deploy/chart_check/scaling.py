"""Rules for scaling: one owner of the number of replicas, and triggers that tell the truth about long batches."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from chart_check.rendered import Rendered, name_of
from chart_check.settings import settings_of
from pelton.metrics import TABLE

NEVER = {"excludePersistentLag", "allowIdleConsumers", "scaleToZeroOnInvalidOffset"}


def owner(chart: Rendered) -> Iterator[str]:
    """Either the chart says how many replicas there are, or one scaler does, for this StatefulSet."""
    fixed = "replicas" in chart.statefulset["spec"]
    if len(chart.scalers) + fixed != 1:
        yield f"replicas: set by {len(chart.scalers)} scalers{' and the StatefulSet itself' if fixed else ''}"
    wanted = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name_of(chart.statefulset)}
    for scaler in chart.scalers:
        if scaler["spec"]["scaleTargetRef"] != wanted:
            yield f"{scaler['kind']}: scales {scaler['spec']['scaleTargetRef']}"


def bounds(chart: Rendered) -> Iterator[str]:
    """At least one replica unless Kafka itself wakes the group, a way down that waits, and a fallback."""
    for scaler in chart.scalers:
        spec = scaler["spec"]
        keda = scaler["kind"] == "ScaledObject"
        least, most = (spec.get(f"m{x}Replica{'Count' if keda else 's'}", -1) for x in ("in", "ax"))
        woken = keda and all(each["type"] == "kafka" for each in spec["triggers"])
        if least < (0 if woken else 1) or most < max(1, least):
            yield f"{scaler['kind']}: between {least} and {most} replicas"
        advanced = spec.get("advanced", {}).get("horizontalPodAutoscalerConfig", {})
        behavior = advanced.get("behavior", {}) if keda else spec.get("behavior", {})
        if behavior.get("scaleDown", {}).get("stabilizationWindowSeconds", 0) < 60:
            yield f"{scaler['kind']}: scales in at once; each time is a rebalance"
        if keda and spec.get("fallback", {}).get("replicas", 0) < 1:
            yield "ScaledObject: no fallback for when nobody can be asked"


def kafka_triggers(chart: Rendered) -> Iterator[str]:
    """Each topic of each group has a trigger, limited to partitions with lag, and slow batches count as lag."""
    settings = settings_of(chart)
    roads = [road for road in (settings.stream, settings.requests) if road]
    read = sorted((road.group, topic) for road in roads for topic in road.topics)
    for scaler in chart.of("ScaledObject"):
        told = [each["metadata"] for each in scaler["spec"]["triggers"] if each["type"] == "kafka"]
        watched = sorted((each.get("consumerGroup", ""), each.get("topic", "")) for each in told)
        if told and watched != read:
            yield f"kafka triggers: watch {watched}, not {read}"
        for each in told:
            yield from _trigger_problems(each)


def _trigger_problems(told: dict[str, Any]) -> Iterator[str]:
    where = f"kafka trigger of {told.get('topic')}"
    if told.get("limitToPartitionsWithLag") != "true":
        yield f"{where}: limitToPartitionsWithLag is not set, so members may idle"
    if wrong := sorted(NEVER & told.keys()):
        yield f"{where}: {wrong} must not be set: a batch longer than a poll would look like nothing to do"


def scale_triggers(chart: Rendered) -> Iterator[str]:
    """A trigger on /scale asks a Service of this chart for the number of replicas, one each."""
    settings = settings_of(chart)
    port, scale = settings.sidecar.port, settings.scale
    for scaler in chart.of("ScaledObject"):
        for each in scaler["spec"]["triggers"]:
            if each["type"] != "metrics-api":
                continue
            told, url = each["metadata"], urlsplit(each["metadata"].get("url", ""))
            service = chart.named("Service", str(url.hostname).split(".")[0])
            if (
                service is None
                or service["spec"].get("clusterIP") == "None"
                or (url.port, url.path) != (port, "/scale")
            ):
                yield f"metrics-api trigger: nothing answers at {told.get('url')}"
            if (told.get("valueLocation"), told.get("targetValue")) != ("wanted_replicas", "1"):
                yield "metrics-api trigger: wanted_replicas, one each, are the replicas"
            bounds = scaler["spec"].get("minReplicaCount"), scaler["spec"].get("maxReplicaCount")
            if scale is None:
                yield "metrics-api trigger: no pod answers, as the settings have no scale"
            elif (scale.min, scale.max) != bounds:
                yield f"metrics-api trigger: scales between {bounds}, while /scale answers by {scale}"
            if each.get("metricType") != "AverageValue":
                yield "metrics-api trigger: only an AverageValue of 1 makes the value the number of replicas"


def metrics(chart: Rendered) -> Iterator[str]:
    """What a HorizontalPodAutoscaler asks for are metrics of ours."""
    known = {metric.name for metric in TABLE}
    for scaler in chart.of("HorizontalPodAutoscaler"):
        asked = {each["external"]["metric"]["name"] for each in scaler["spec"]["metrics"]}
        if unknown := sorted(asked - known):
            yield f"HorizontalPodAutoscaler: asks for {unknown}, which nobody tells"


RULES = (owner, bounds, kafka_triggers, scale_triggers, metrics)
