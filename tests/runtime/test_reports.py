"""The pipe from a worker to its supervisor."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import BinaryIO

import msgspec
import pytest

from pelton.partition_status import PartitionStatus
from pelton.reports import (
    MetricsReport,
    Reporter,
    StateReport,
    StatusReport,
    decode_report,
)
from pelton.states import IllegalMoveError, WorkerState

STATUS = StatusReport("flight-delay", "1@abc", "cpu", records=3, partitions=[PartitionStatus("flights", 0, lag=2)])


class Pipe:
    def __init__(self) -> None:
        read_fd, self.write_fd = os.pipe()
        self.reader: BinaryIO = os.fdopen(read_fd, "rb")
        self.lost = threading.Event()

    def reporter(self) -> Reporter:
        return Reporter(self.write_fd, self.lost.set)

    def reports(self) -> list[object]:
        return [decode_report(line) for line in self.reader]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.reader.close()


def test_states_arrive_in_order_and_the_same_again_is_not_sent(pipe: Pipe) -> None:
    reporter = pipe.reporter()
    reporter.state(WorkerState.LOADING)
    reporter.state(WorkerState.LOADING)
    reporter.state(WorkerState.LOADING, "weights of 3 GB")
    reporter.state(WorkerState.WARMING)
    reporter.close()
    assert reporter.current is WorkerState.WARMING
    assert pipe.reports() == [
        StateReport(WorkerState.LOADING),
        StateReport(WorkerState.LOADING, "weights of 3 GB"),
        StateReport(WorkerState.WARMING),
    ]


def test_the_wire_is_one_json_object_a_line(pipe: Pipe) -> None:
    reporter = pipe.reporter()
    reporter.state(WorkerState.LOADING, "line\nbreak")
    reporter.close()
    assert pipe.reader.read() == b'{"kind":"state","state":"loading","reason":"line\\nbreak"}\n'


def test_an_illegal_move_is_raised_where_it_is_made(pipe: Pipe) -> None:
    reporter = pipe.reporter()
    with pytest.raises(IllegalMoveError, match="from starting to ready"):
        reporter.state(WorkerState.READY)
    reporter.close()
    assert pipe.reports() == []


def test_status_and_metrics_come_at_once_and_again(pipe: Pipe) -> None:
    reporter = pipe.reporter()
    reporter.report_every(0.001, lambda: STATUS, lambda: "pelton_scored_total 3.0\n")
    for _ in range(2):
        assert decode_report(pipe.reader.readline()) == STATUS
        assert decode_report(pipe.reader.readline()) == MetricsReport("pelton_scored_total 3.0\n")
    reporter.close()


def test_a_status_that_raises_does_not_end_the_reports(pipe: Pipe) -> None:
    answers = iter([None, STATUS])

    def status() -> StatusReport:
        return next(answers) or msgspec.json.decode(b"?")

    reporter = pipe.reporter()
    reporter.report_every(0.001, status, lambda: "")
    assert decode_report(pipe.reader.readline()) == STATUS
    reporter.close()


def test_a_supervisor_that_does_not_read_holds_nobody_up(pipe: Pipe) -> None:
    room = fcntl.fcntl(pipe.write_fd, fcntl.F_GETPIPE_SZ)
    assert os.write(pipe.write_fd, b"\n" * room) == room
    reporter = pipe.reporter()
    told = [WorkerState.LOADING, WorkerState.WARMING, WorkerState.JOINING, WorkerState.READY]
    for state in told:
        reporter.state(state)  # would stand still for ever if it wrote by itself
    pipe.reader.read(room)
    reporter.close()
    assert pipe.reports() == [StateReport(state) for state in told]


def test_a_supervisor_that_is_gone_is_noticed(pipe: Pipe) -> None:
    pipe.reader.close()
    pipe.reporter().state(WorkerState.LOADING)
    assert pipe.lost.wait(10)


def test_a_worker_born_after_its_supervisor_died_ends_at_once(pipe: Pipe) -> None:
    pipe.reader.close()
    program = f"from pelton.reports import end_with_parent; end_with_parent({pipe.write_fd}); print('went on')"
    orphan = subprocess.run([sys.executable, "-c", program], pass_fds=[pipe.write_fd], capture_output=True, check=False)
    os.close(pipe.write_fd)
    assert (orphan.returncode, orphan.stdout, orphan.stderr) == (3, b"", b"")


@pytest.mark.parametrize("line", [b"", b"text", b"{}", b'{"kind":"state","state":"asleep"}', b'{"kind":"news"}'])
def test_anything_else_on_the_pipe_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_report(line)
