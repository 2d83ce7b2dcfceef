"""Faults of the broker and of the generator of events that look like ours, after a restart of the broker."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from pelton.local_kafka import LocalKafka

T = TypeVar("T")
SKIPPED = "these partitions are likely deleted already and hence can be skipped"
"""What Kafka 4.4 logs when it starts, takes partitions that have no leader for a moment for deleted ones, and calls a
transaction ended without having written so into them (see DESIGN.md, "Known limits"): readers of committed records wait
there, or see once more what was sent again because the offsets beside it were not committed."""


class Spoilt(Exception):
    """A run that broker or generator have spoilt: it proves nothing, neither way."""


@contextmanager
def spoilt_by(why: Callable[[], str]) -> Iterator[None]:
    """Tell a run spoilt if something inside the block fails, and `why` knows a fault outside of Pelton."""
    try:
        yield
    except (pytest.fail.Exception, AssertionError) as error:
        if reason := why():
            raise Spoilt(f"{reason}: {str(error)[:200]}") from error
        raise


def unspoilt(run: Callable[[Path], T], folder: Path) -> T:
    """Return what a run gives, made once more if it was spoilt; a second spoilt one fails."""
    first, second = folder / "first", folder / "second"
    first.mkdir(exist_ok=True)
    second.mkdir(exist_ok=True)
    try:
        return run(first)
    except Spoilt as spoilt:
        sys.stderr.write(f"a spoilt run is made once more: {spoilt}\n")
    return run(second)


def skipped_an_end(kafka: LocalKafka) -> str:
    """Say that the broker skipped the end of a transaction, by its own word in its last two lives; else nothing."""
    logs = (kafka.log_file, kafka.log_file.with_suffix(".log.1"))
    told = any(SKIPPED in log.read_text(errors="replace") for log in logs if log.exists())
    return "the broker skipped the end of a transaction" if told else ""
