"""Writes the reference pages from the code that they describe: settings, metrics, codes and the JSON Schemas.

Usage: python docs/generate.py (`make docs`); `tests/test_docs.py` fails when a page is out of date.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pelton.kafka_clients import consumer_properties, producer_properties
from pelton.lag_rules import RULES
from pelton.metric_labels import OPEN_LABELS
from pelton.metrics import TABLE, Metric
from pelton.schemas import wire_schemas
from pelton.schemas.codes import CODES
from pelton.schemas.kafka_properties import FORBIDDEN
from pelton.schemas.settings import Settings

HERE = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py; change the code and run `make docs`. -->"
MADE_HERE = (
    "<!-- The table is made by docs/generate.py from runtime/lag_rules.py; change the code and run `make docs`. -->"
)
END_HERE = "<!-- end -->"

KAFKA = """## kafka

Under `kafka:` stand librdkafka's properties by their own names; they go to every client of a worker. In the environment
`security.protocol` is `PELTON_KAFKA__SECURITY_PROTOCOL`. Passwords, keys and tokens are never shown;
[security.md](security.md) tells how they come from files, and which rights a worker needs.

```yaml
kafka:
  bootstrap.servers: [one:9092, two:9092]
  security.protocol: sasl_ssl
  sasl.mechanism: SCRAM-SHA-512
  sasl.username: pelton
```

Before the first connection are refused: a name that librdkafka does not know (the nearest right one is told); a value
that it does not take; a time or size with a unit, of which it would take the digits; values that contradict each
other (SASL without a `sasl.mechanism`, a `heartbeat.interval.ms` not below `session.timeout.ms`, a
`max.poll.interval.ms` below it, more than 5 `max.in.flight.requests.per.connection`, a `transaction.timeout.ms` below
2,000, with `group.protocol: consumer` what the broker decides); and these:

| refused | why |
|---|---|
{refused}

Pelton's own defaults, which you may change:

| property | default |
|---|---|
{defaults}

Partitions and topics that are added while a group runs are found within `topic.metadata.refresh.interval.ms`; with
`group.protocol: consumer` the broker tells of them.
"""

METRICS = """{made}

# Metrics

At `/metrics` of the sidecar; those of a worker have the label `worker` as well. All is observed by batch or poll.

| metric | type | labels | what |
|---|---|---|---|
{rows}

Labels have the values that are named above, or are bounded:

{open_labels}

Series of a partition go when it leaves, those of a worker with its process. Those of GPUs need `pelton[gpu]` and
NVIDIA's driver, and are left out where one of them is missing. On CUDA `pelton_device_seconds` lasts until the device
is done; a model that has no attribute `device` is not waited for, and its time shows in `pelton_finish_seconds`. What
a model takes while it warms up is not counted.

`deploy/prometheus/rules/pelton.yml` has alerts ([what to do about each](alerts.md)), `deploy/grafana/dashboards/` a
dashboard of all of them.
"""


def settings_page() -> str:
    """Return the page of all settings, each with its path, default and sentence."""
    rows = "\n".join(f"| `{path}` | {_default(field)} | {field.description} |" for path, field in _fields(Settings, ""))
    return (
        f"{MADE}\n\n# Settings\n\nFrom `pelton.yaml`, the environment (`PELTON_BATCH__MAX_SIZE`) and flags; flags win"
        " over the environment, the environment over the file.\n\n| setting | default | what |\n|---|---|---|\n"
        + rows
        + "\n\n"
        + _kafka_section()
    )


def metrics_page() -> str:
    """Return the page of all metrics."""
    rows = "\n".join(f"| `{metric.name}` | {metric.kind} | {_labels(metric)} | {metric.help} |" for metric in TABLE)
    open_labels = "\n".join(f"- `{label}`: {bound}." for label, bound in OPEN_LABELS.items())
    return METRICS.format(made=MADE, rows=rows, open_labels=open_labels)


def _labels(metric: Metric) -> str:
    """Return the labels of a metric, each closed one with its values."""
    closed = {label: f": {', '.join(metric.one_of[label])}" for label in metric.one_of}
    return "; ".join(f"{label}{closed.get(label, '')}" for label in metric.labels) or "-"


def codes_page() -> str:
    """Return the page of the closed set of codes."""
    rows = "\n".join(
        f"| `{code.value}` | {info.http} | {_yes(info.dead_letter)} | {_yes(info.retriable)} | {info.when} |"
        for code, info in CODES.items()
    )
    return f"{MADE}\n\n# Codes\n\n| code | HTTP | dead letter | retriable | when |\n|---|---|---|---|---|\n{rows}\n"


def health_page() -> str:
    """Return the page on health with the table of the rules on lag, the text around it as it is."""
    rows = "\n".join(
        f"| {number} | {rule.state.value.upper()} | {rule.when.format(window='the window')} |"
        for number, rule in enumerate(RULES, 1)
    )
    table = f"| | verdict | when |\n|---|---|---|\n{rows}\n"
    before, _, rest = (HERE / "health.md").read_text().partition(MADE_HERE)
    return f"{before}{MADE_HERE}\n{table}{END_HERE}{rest.partition(END_HERE)[2]}"


PAGES = {"health.md": health_page, "settings.md": settings_page, "metrics.md": metrics_page, "codes.md": codes_page}


def _kafka_section() -> str:
    """Return what is under `kafka:`, which is refused and why, and what Pelton sets unless told otherwise."""
    by_reason: dict[str, list[str]] = {}
    for name, why in FORBIDDEN.items():
        by_reason.setdefault(why, []).append(f"`{name}`")
    refused = "\n".join(f"| {', '.join(names)} | {why} |" for why, names in by_reason.items())
    defaults = "\n".join(f"| `{name}` | `{json.dumps(value)}` |" for name, value in sorted(_kafka_defaults().items()))
    return KAFKA.format(refused=refused, defaults=defaults)


def _kafka_defaults() -> dict[str, Any]:
    stream = {"topics": ["events"], "group": "scorers", "sink": "scores"}
    settings = Settings(model="any", stream=stream, delivery="exactly-once")
    ours = consumer_properties(settings, settings.stream, 0) | producer_properties(settings, transactional_id="any")
    return {name: value for name, value in ours.items() if name not in FORBIDDEN and name not in settings.kafka}


def _fields(group: type[BaseModel], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in group.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        inner = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if inner is None or inner is not field.annotation:
            yield f"{prefix}{name}", field
        if inner is not None:
            yield from _fields(inner, f"{prefix}{name}.")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return "see there"
    value: Any = field.default
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def main() -> None:
    """Write every page and every JSON Schema."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page())
    wire_schemas.write()


if __name__ == "__main__":
    main()
