"""Render the chart with each file of values and check what comes out; `--write` keeps the renders for the tests."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import yaml

from chart_check import links, observing, pods, scaling, settings
from chart_check.cases import NEWEST, ROOT, Case, Helm, cases, helm, kept_part
from chart_check.kinds import against_definitions, against_kubernetes, against_types
from chart_check.rendered import Rendered

RULES = (*settings.RULES, *pods.RULES, *links.RULES, *scaling.RULES, *observing.RULES)
OPERATOR: dict[str, Any] = {"PodMonitor": None, "PrometheusRule": None}
"""Kinds that the Prometheus Operator's types judge, not a definition."""

REFUSED = (
    ("settings.replica", "minimal", 'settings.replica="one"'),
    ("settings.stream.static_id", "minimal", 'settings.stream.static_id="one"'),
    ("settings.sidecar", "minimal", 'settings.sidecar={"port":1}'),
    ("settings.model", "minimal", 'package={"kind":"claim","claim":{"name":"models"}}'),
    ("settings.workers", "minimal", "gpu.enabled=true;settings.workers=2"),
    ("staticMembership", "requests", "staticMembership=true"),
    ("package.image.reference", "minimal", 'package={"kind":"image","mountPath":"/m"};settings.model="/m/a"'),
    ("package.claim.name", "minimal", 'package={"kind":"claim","mountPath":"/m"};settings.model="/m/a"'),
    ("package.init.image", "minimal", 'package={"kind":"init","mountPath":"/m"};settings.model="/m/a"'),
    ("autoscaling.keda.scaleToZero", "minimal", 'autoscaling={"kind":"keda-scale","keda":{"scaleToZero":true}}'),
    ("settings.scale.max", "keda-scale", "settings.scale.max=3"),
    ("autoscaling.minReplicas", "minimal", 'autoscaling={"kind":"hpa","minReplicas":9,"maxReplicas":3}'),
    ("excludePersistentLag", "keda-kafka", 'autoscaling.keda.metadata={"excludePersistentLag":"true"}'),
    ("replicaz", "minimal", "replicaz=3"),
    ("nameOverride", "minimal", 'nameOverride="Scorer"'),
    ("fullnameOverride", "minimal", 'fullnameOverride="team_a"'),
    ("every pod would have the same", "minimal", r'settings.stream\.static_id="one"'),
    ("PELTON_REPLICA comes from the chart", "minimal", 'env=[{"name":"PELTON_REPLICA","value":"one"}]'),
    ("PELTON_DRAIN_S comes from the chart", "minimal", 'env=[{"name":"PELTON_DRAIN_S","value":"300"}]'),
    ("admin.token would lie open", "minimal", 'settings.admin={"token":"hunter2hunter2hu"}'),
    ("sasl.password would lie open", "minimal", 'settings.kafka={"bootstrap.servers":"k:1","sasl.password":"x"}'),
    ("kafka.ssl.key.pem would lie open", "minimal", r'settings.kafka\.ssl\.key\.pem="x"'),
)
"""Values that the chart must refuse: words it must say, the case they go on top of, and the values."""


def problems(chart: Rendered) -> Iterator[str]:
    """Yield every rule that a rendered chart breaks."""
    if unread := list(settings.settings_load(chart)):
        yield from unread  # the other rules need them
        return
    for rule in RULES:
        yield from (f"{rule.__name__}: {each}" for each in rule(chart))


@dataclass(frozen=True, slots=True)
class Judges:
    """What knows the kinds that are not Kubernetes' own: KEDA's definition, and the Prometheus Operator's types."""

    scaled_object: Any
    operator_types: str

    def problems(self, text: str, version: str) -> Iterator[str]:
        """Yield what they and Kubernetes' schemas refuse in a render."""
        chart, custom = Rendered(text), {"ScaledObject": self.scaled_object, **OPERATOR}
        yield from against_kubernetes(chart, version, custom)
        yield from against_definitions(chart, custom)
        yield from against_types(self.operator_types, text)


def check(helm: Helm, case: Case, judges: Judges, *, write: bool) -> Iterator[str]:
    """Yield what is wrong with one case."""
    helm.lint(case)
    for version in case.versions:
        text = helm.render(case, version)
        # Rules may stumble over what a schema refuses.
        yield from list(judges.problems(text, version)) or problems(Rendered(text))
    if write:
        case.kept.write_text(kept_part(text))
    elif not case.kept.is_file() or case.kept.read_text() != kept_part(text):
        yield f"{case.kept.relative_to(ROOT)}: is not what the chart makes now; run deploy/chart.sh --write"


def blind(judges: Judges) -> Iterator[str]:
    """Yield each kind in which a field that nobody knows is not found."""
    for kind, group in (("ScaledObject", "keda.sh/v1alpha1"), ("PodMonitor", "monitoring.coreos.com/v1")):
        broken = {"apiVersion": group, "kind": kind, "metadata": {"name": "broken"}, "spec": {"unknown": 1}}
        if not any("unknown" in line for line in judges.problems(yaml.safe_dump(broken), NEWEST)):
            yield f"{kind}: an unknown field is not found"


def refused(helm: Helm) -> Iterator[str]:
    """Yield each contradiction that the chart takes, or refuses for another reason."""
    for words, case, values in REFUSED:
        if words not in helm.refusal(Case(case), *values.split(";")):
            yield f"{case} with {values}: is not refused by {words}"


def main() -> int:
    """Check every case and every refusal; return 1 when anything is wrong."""
    parser = argparse.ArgumentParser(prog="chart_check", description=__doc__)
    parser.add_argument("--helm", required=True)
    parser.add_argument("--scaled-object", required=True, type=Path, help="KEDA's definition of a ScaledObject")
    parser.add_argument("--operator-types", required=True, help="the program of deploy/operator_types")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    judges = Judges(yaml.safe_load(given.scaled_object.read_text()), given.operator_types)
    found = list(blind(judges))
    with helm(given.helm) as chart:
        for case in cases():
            try:
                found += [f"{case.name}: {each}" for each in check(chart, case, judges, write=given.write)]
            except CalledProcessError as error:  # Helm's own words are on the screen
                found.append(f"{case.name}: `helm {error.cmd[1]}` fails")
        found += refused(chart)
    sys.stdout.writelines(f"{each}\n" for each in dict.fromkeys(found))
    if not found:
        sys.stdout.write(f"{len(cases())} renders keep {len(RULES)} rules; {len(REFUSED)} contradictions are refused\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
