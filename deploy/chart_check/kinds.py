"""Every object against the schema of its kind, unknown fields refused."""

import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from chart_check.rendered import Object, Rendered, name_of

_KEPT = "x-kubernetes-preserve-unknown-fields"


def against_kubernetes(chart: Rendered, version: str, custom: Mapping[str, Any]) -> Iterator[str]:
    """Yield what Kubernetes `version` would refuse, and kinds that neither it nor `custom` knows."""
    from kubernetes_validate import SchemaNotFoundError, ValidationError, validate  # noqa: PLC0415

    for each in chart.objects:
        if each["kind"] in custom:
            continue
        try:
            validate(each, version, strict=True)
        except ValidationError as error:
            yield f"{_where(each)}: {'.'.join(map(str, error.path))}: {error.message}"
        except SchemaNotFoundError as error:
            yield f"{_where(each)}: {error.message}"


def against_definitions(chart: Rendered, custom: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the custom resource definitions, by kind, would refuse; a kind that has None is judged elsewhere."""
    for each in chart.objects:
        definition = custom.get(each["kind"])
        if definition is None:
            continue
        validator = Draft202012Validator(closed(schema_of(definition, each["apiVersion"])))
        for error in validator.iter_errors(each):
            yield f"{_where(each)}: {'.'.join(map(str, error.path))}: {error.message}"


def against_types(program: str, text: str) -> Iterator[str]:
    """Yield what the Prometheus Operator's types (deploy/operator_types) do not know in a rendered text."""
    done = subprocess.run([program], input=text, stdout=subprocess.PIPE, text=True, check=True)
    yield from done.stdout.splitlines()


def schema_of(definition: Object, api_version: str) -> Any:
    """Return the schema of one version of a custom resource. Raises KeyError where it is not served."""
    group, _, version = api_version.partition("/")
    spec = definition["spec"]
    for each in spec["versions"] if spec["group"] == group else ():
        if each["name"] == version and each["served"]:
            return each["schema"]["openAPIV3Schema"]
    raise KeyError(f"{api_version} is not served")


def closed(schema: Any, *, top: bool = True) -> Any:
    """Return the schema with unknown fields refused, where the definition does not keep them itself."""
    if isinstance(schema, list):
        return [closed(each, top=False) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value, top=False) for key, value in schema.items() if key != "properties"}
    if isinstance(properties := schema.get("properties"), dict):
        made["properties"] = {name: closed(each, top=False) for name, each in properties.items()}
        if not schema.get(_KEPT) and "additionalProperties" not in schema:
            made["additionalProperties"] = False
    if top:  # the definition leaves the metadata to Kubernetes
        made["properties"] = made.get("properties", {}) | {"metadata": {"type": "object"}}
    return made


def _where(each: Object) -> str:
    return f"{each['kind']} {name_of(each)}"
