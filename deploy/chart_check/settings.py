"""Rules for the settings: Pelton's own loader reads them with the environment that the pod would have."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from chart_check.rendered import Object, Rendered
from pelton.errors import SettingsError
from pelton.schemas.kafka_properties import is_secret
from pelton.schemas.settings import Settings, load_settings

NAMESPACE, POD = "scoring", "score-pelton-0"
IDENTITY = "$(POD_NAMESPACE).$(POD_NAME)"
_VARIABLE = re.compile(r"\$\((\w+)\)")


def file_of(chart: Rendered) -> str:
    """Return the text of pelton.yaml. Raises SettingsError where the pod does not get one."""
    mounted = {each["name"]: each["mountPath"] for each in chart.scorer.get("volumeMounts", ())}
    path = chart.scorer["args"][-1]
    for volume in chart.template.spec.get("volumes", ()):
        if "configMap" in volume and mounted.get(volume["name"]) == str(Path(path).parent):
            found = chart.named("ConfigMap", volume["configMap"]["name"])
            text = (found or {}).get("data", {}).get(Path(path).name)
            if text is not None:
                return str(text)
    raise SettingsError(f"no ConfigMap of this chart is mounted as {path}")


def environment(container: Object, pod: str = POD) -> dict[str, str]:
    """Return the container's environment as Kubernetes would make it for a pod; secrets get a stand-in."""
    fields = {"metadata.name": pod, "metadata.namespace": NAMESPACE}
    made: dict[str, str] = {}
    for variable in container.get("env", ()):
        if "value" in variable:
            made[variable["name"]] = _VARIABLE.sub(lambda found: made.get(found[1], found[0]), variable["value"])
        else:
            field = variable["valueFrom"].get("fieldRef", {}).get("fieldPath")
            made[variable["name"]] = fields[field] if field else "stand-in"
    return made


def secret_files(chart: Rendered) -> set[str]:
    """Return the paths at which the scorer finds single keys of Secrets."""
    mounted = {each["name"]: each["mountPath"] for each in chart.scorer.get("volumeMounts", ())}
    return {
        f"{mounted.get(volume['name'])}/{item['path']}"
        for volume in chart.template.spec.get("volumes", ())
        for source in volume.get("projected", {}).get("sources", ())
        for item in source["secret"]["items"]
    }


def settings_of(chart: Rendered, pod: str = POD) -> Settings:
    """Return the settings of a pod, with stand-ins for secrets. Raises SettingsError as `pelton serve` would."""
    with tempfile.TemporaryDirectory() as folder:
        path, stand_in = Path(folder) / "pelton.yaml", Path(folder) / "stand-in"
        path.write_text(file_of(chart))
        stand_in.write_text("stand-in")
        secrets = secret_files(chart)
        made = environment(chart.scorer, pod)
        found = {name: str(stand_in) if value in secrets else value for name, value in made.items()}
        return load_settings(path, {}, found)


def settings_load(chart: Rendered) -> Iterator[str]:
    """Pelton takes the settings, in every container that reads them."""
    if chart.scorer["args"][:2] != ["serve", "--config"]:
        yield f"scorer: is started with {chart.scorer['args']}"
    try:
        settings = settings_of(chart)
    except SettingsError as error:
        yield f"settings: {error}"
        return
    if settings.sidecar.host != "0.0.0.0":
        yield f"sidecar.host: probes cannot reach {settings.sidecar.host}"


def identity(chart: Rendered) -> Iterator[str]:
    """Each pod has names of its own in group and transactions: two with one name would fence each other."""
    given = {each["name"]: each.get("value") for each in chart.scorer.get("env", ())}
    if given.get("PELTON_REPLICA") != IDENTITY:
        yield f"PELTON_REPLICA: is {given.get('PELTON_REPLICA')}, not {IDENTITY}"
    stream = settings_of(chart).stream
    static_id = stream and stream.static_id
    if static_id and given.get("PELTON_STREAM__STATIC_ID") != IDENTITY:
        yield f"stream.static_id: every pod has {static_id}"


def no_secrets(chart: Rendered) -> Iterator[str]:
    """No secret is written down: neither in the settings nor in a variable."""
    told: dict[str, Any] = yaml.safe_load(file_of(chart)) or {}
    names = [f"{group}.{name}" for group, value in told.items() for name in (value if isinstance(value, dict) else ())]
    for name in filter(is_secret, [*names, *told]):
        yield f"{name}: lies in a ConfigMap; take it from a Secret"
    for pod in chart.pods:
        for container in pod.containers():
            for variable in container.get("env", ()):
                name = variable["name"]
                if "value" in variable and is_secret(name.replace("_", ".")) and not name.endswith("_FILE"):
                    yield f"{pod.name}/{container['name']}: {name} is written down; take it from a Secret"


def gpu(chart: Rendered) -> Iterator[str]:
    """A pod that wants CUDA has exactly one GPU and one worker, and one that has a GPU wants CUDA."""
    settings = settings_of(chart)
    bounds = chart.scorer["resources"].get("limits", {})
    gpus = {name: count for name, count in bounds.items() if "nvidia.com/" in name}
    if settings.device.startswith("cuda") != bool(gpus):
        yield f"device {settings.device} with {gpus or 'no GPU'}"
    if gpus and list(gpus.values()) != [1]:
        yield f"{gpus}: one pod has one GPU"
    if gpus and settings.workers != 1:
        yield f"workers: {settings.workers} would share the GPU of the pod"


RULES = (settings_load, identity, no_secrets, gpu)
