"""The part of the table of metrics that a supervisor knows of its workers, seen from outside."""

from typing import Annotated

from prometheus_client import Counter, Gauge, Info

from pelton.metric_labels import PROBE, REPLICAS, STATE
from pelton.metric_table import MetricTable, Row


class SupervisorMetrics(MetricTable):
    """What the supervisor knows of its workers; it outlives each of their processes."""

    build: Annotated[Info, Row("pelton_build_info", "What runs: pelton, python and librdkafka, by version.")]
    healthy: Annotated[
        Gauge, Row("pelton_healthy", "What the probes answer: 1 for yes, 0 for no.", ("probe",), one_of=PROBE)
    ]
    replicas: Annotated[
        Gauge,
        Row(
            "pelton_replicas", "Replicas by `/scale`, once it is known: wanted, and there.", ("which",), one_of=REPLICAS
        ),
    ]
    restarts: Annotated[Counter, Row("pelton_restarts_total", "Times a worker had to be started again.", ("worker",))]
    worker_state: Annotated[
        Gauge,
        Row("pelton_worker_state", "1 for the state a worker is in, else 0.", ("worker", "state"), one_of=STATE),
    ]
    oldest_unfinished: Annotated[
        Gauge,
        Row("pelton_oldest_unfinished_seconds", "Age of the oldest record polled, not written.", ("worker",)),
    ]
    poll_age: Annotated[Gauge, Row("pelton_poll_age_seconds", "Since the poll loop last came round.", ("worker",))]
    batch_age: Annotated[
        Gauge, Row("pelton_batch_age_seconds", "How long the batch in the model has run.", ("worker",))
    ]
    cpu: Annotated[Counter, Row("pelton_process_cpu_seconds_total", "CPU time of a worker's process.", ("worker",))]
    resident: Annotated[
        Gauge, Row("pelton_process_resident_bytes", "Resident memory of a worker's process.", ("worker",))
    ]
    threads: Annotated[Gauge, Row("pelton_process_threads", "Threads of a worker's process.", ("worker",))]
    open_files: Annotated[
        Gauge, Row("pelton_process_open_files", "Open file descriptors of a worker's process.", ("worker",))
    ]
    gpu_used: Annotated[
        Gauge, Row("pelton_gpu_memory_used_bytes", "Memory in use on a worker's GPU, by all.", ("worker", "gpu"))
    ]
    gpu_total: Annotated[Gauge, Row("pelton_gpu_memory_total_bytes", "Memory of a worker's GPU.", ("worker", "gpu"))]
    gpu_busy: Annotated[
        Gauge, Row("pelton_gpu_busy_ratio", "Share of time in which a worker's GPU ran a kernel.", ("worker", "gpu"))
    ]
