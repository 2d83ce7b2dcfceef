"""The objects of a rendered chart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that the chart makes, by itself or from a template."""

    name: str
    labels: dict[str, str]
    spec: Object

    def containers(self) -> Iterator[Object]:
        """Yield the containers, those that come first as well."""
        yield from self.spec.get("initContainers", ())
        yield from self.spec["containers"]


class Rendered:
    """What `helm template` printed: each object once, in its order."""

    def __init__(self, text: str) -> None:
        self.objects: list[Object] = [each for each in yaml.safe_load_all(text) if each]

    def of(self, kind: str) -> list[Object]:
        """Return the objects of one kind."""
        return [each for each in self.objects if each["kind"] == kind]

    def named(self, kind: str, name: str) -> Object | None:
        """Return the object of that kind and name, None where there is none."""
        return next((each for each in self.of(kind) if name_of(each) == name), None)

    @property
    def pods(self) -> list[Pod]:
        """Every pod: that of the StatefulSet, and those that stand alone."""
        return [self.template, *(Pod(name_of(each), labels_of(each), each["spec"]) for each in self.of("Pod"))]

    @property
    def statefulset(self) -> Object:
        """The scorers. Raises ValueError where there is not exactly one StatefulSet."""
        (found,) = self.of("StatefulSet")
        return found

    @property
    def template(self) -> Pod:
        """The pod of the StatefulSet."""
        template = self.statefulset["spec"]["template"]
        return Pod(name_of(self.statefulset), labels_of(template), template["spec"])

    @property
    def scorer(self) -> Object:
        """The container that scores."""
        return next(each for each in self.template.spec["containers"] if each["name"] == "scorer")

    @property
    def scalers(self) -> list[Object]:
        """What changes the number of replicas."""
        return self.of("ScaledObject") + self.of("HorizontalPodAutoscaler")


def name_of(each: Object) -> str:
    """Return the name of an object."""
    return str(each["metadata"]["name"])


def labels_of(each: Object) -> dict[str, str]:
    """Return the labels of an object or a template."""
    return dict(each["metadata"].get("labels", {}))
