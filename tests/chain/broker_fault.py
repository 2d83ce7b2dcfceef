"""A fault of the broker itself that looks like ours: the end of a transaction that it never writes."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pelton.local_kafka import LocalKafka

SKIPPED = "these partitions are likely deleted already and hence can be skipped"
"""What Kafka 4.4 logs when it starts, takes partitions that have no leader for a moment for deleted ones, and calls a
transaction ended without having written so into them (see DESIGN.md, "Known limits")."""


@contextmanager
def excused(kafka: LocalKafka) -> Iterator[None]:
    """Excuse that something inside the block never comes to pass, where the broker has left a transaction open.

    What has come, and is wrong, is not excused.
    """
    try:
        yield
    except pytest.fail.Exception as error:
        if skips(kafka):
            pytest.xfail(f"the broker skipped the end of a transaction: {str(error)[:200]}")
        raise


def skips(kafka: LocalKafka) -> list[str]:
    """Return what the broker said of ends that it skipped, in its last two lives."""
    logs = (kafka.log_file, kafka.log_file.with_suffix(".log.1"))
    lines = (line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines())
    return [line for line in lines if SKIPPED in line]
