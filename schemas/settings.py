"""Every setting of Pelton, once: name, default, sentence and the rules between them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator

from pelton.errors import SettingsError
from pelton.schemas.kafka_properties import DEFAULT_SERVERS, KafkaProperties
from pelton.schemas.settings_admin import Admin
from pelton.schemas.settings_groups import (
    Batch,
    Group,
    Health,
    Log,
    Queue,
    Requests,
    Restart,
    Sidecar,
    Stream,
    Tracing,
)
from pelton.schemas.settings_problems import explain, paths
from pelton.schemas.settings_rules import NO_ROAD, contradictions
from pelton.schemas.settings_scale import Scale
from pelton.schemas.settings_sources import gather
from pelton.schemas.settings_types import Count, Name, Seconds, no_boolean


class Settings(Group):
    """The settings of one `pelton serve`: fixed once made, free of contradictions, printed without secrets.

    Construction raises SettingsError, which names each path, its value, why it is refused and the nearest right
    name. Nothing but the arguments is read: see `load_settings` for the file and the environment.
    """

    kafka: KafkaProperties = Field(
        default_factory=lambda: KafkaProperties({"bootstrap.servers": DEFAULT_SERVERS}),
        description="librdkafka properties, passed through, except those that would break a promise.",
    )
    model: Name = Field(
        description="Model to serve: a name of the zoo, `name:version`, or the path of a package folder, from where "
        "the command runs; without a version the highest."
    )
    device: str = Field(
        default="auto",
        pattern=r"^(auto|cpu|cuda(:\d+)?)$",
        description="Where the model runs: auto, cpu, cuda or cuda:N; auto is CUDA where there is one.",
    )
    threads: Count = Field(default=1, description="CPU threads that torch may use in each worker.")
    stream: Stream | None = Field(
        default=None, description="From which topics events come and where scores go; null for requests alone."
    )
    requests: Requests | None = Field(
        default=None, description="Requests to answer through Kafka, beside a stream or alone; null for none."
    )
    delivery: Literal["at-least-once", "exactly-once"] = Field(
        default="at-least-once",
        description="What a reader of scores may rely on: each at least once, repeats under the same key; or, if it "
        "reads committed records only, exactly once. Concerns the stream; answers are part of no transaction.",
    )
    replica: Name | None = Field(
        default=None,
        description="Stable name of this process among those of the group, such as its pod's, for exactly-once; the "
        "host's name by default. A restart under the same name ends at once what its predecessor left open.",
    )
    batch: Batch = Field(default=Batch(), description="When a micro-batch closes.")
    queue: Queue = Field(default=Queue(), description="How much waits between polling and scoring.")
    sidecar: Sidecar = Field(default=Sidecar(), description="The HTTP server for probes, metrics and status.")
    admin: Admin = Field(
        default=Admin(), description="Routes that change something, at an address of their own; off without a port."
    )
    workers: Annotated[int, Field(ge=0), BeforeValidator(no_boolean)] = Field(
        default=1,
        description="Worker processes, each with its own copy of the model; 0 is one for each GPU, or else for each "
        "core. With several GPUs, the devices `auto` and `cuda` give each worker the next one.",
    )
    health: Health = Field(default=Health(), description="When a worker counts as stuck or as not ready.")
    scale: Scale | None = Field(
        default=None, description="How many replicas `/scale` tells an autoscaler to want; null for no such answer."
    )
    drain_s: Seconds = Field(default=25, description="Longest time to finish the work at hand on SIGTERM, in seconds.")
    restart: Restart = Field(default=Restart(), description="How a worker that ended is started again.")
    poison_starts: Annotated[int, Field(ge=2), BeforeValidator(no_boolean)] = Field(
        default=3,
        description="A record on which the worker's process has died so many times becomes a dead letter.",
    )
    tracing: Tracing = Field(default=Tracing(), description="Spans by OpenTelemetry.")
    log: Log = Field(default=Log(), description="What is logged, and how.")

    @model_validator(mode="wrap")
    @classmethod
    def _refuse(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        origins = info.context or {}
        try:
            settings = handler(data)
        except ValidationError as error:
            without = not isinstance(data, Mapping) or not {"stream", "requests"} & set(data)
            told = [NO_ROAD.line(origins)] if without else []
            raise SettingsError("\n".join([explain(error, cls, origins), *told])) from None
        if problems := contradictions(settings):
            raise SettingsError("\n".join(problem.line(origins) for problem in problems))
        return settings

    def redacted(self) -> dict[str, Any]:
        """Return the settings as plain data for logs and /status, every secret masked."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """Return the settings as JSON for a worker process, secrets included: never log it."""
        return self.model_dump_json(context={"secrets": True})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the settings that `to_json` wrote; raises SettingsError when it did not."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise SettingsError("not the JSON of settings") from None


def load_settings(
    path: Path | None, overrides: Mapping[str, Any], environ: Mapping[str, str] | None = None
) -> Settings:
    """Return the settings of the file `path` (if any), under the environment, under `overrides` (the flags).

    Overrides are nested or dotted (`stream.sink`); those that are None were not given. Environment variables are
    PELTON_STREAM__SINK and the like; PELTON_KAFKA holds a JSON object, PELTON_KAFKA__SASL_PASSWORD one property,
    PELTON_BOOTSTRAP_SERVERS is short for the property of that name, and an empty variable counts as not set.
    Raises SettingsError for all that is wrong, before any connection.
    """
    found = gather(list(paths(Settings)), path, os.environ if environ is None else environ, overrides)
    return Settings.model_validate(found.data, context=found.origins)
