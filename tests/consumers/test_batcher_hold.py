"""A held queue gives out what was admitted, and nothing else."""

import pytest

from pelton.consumers.batcher import Batcher
from pelton.schemas.records import Records


def block(partition: int, n: int) -> Records:
    offsets = list(range(n))
    return Records("in", partition, 1, [None] * n, offsets, list(offsets), n, 0.0)


@pytest.fixture
def batcher() -> Batcher:
    made = Batcher(max_size=4, max_wait_s=0, max_records=100, max_bytes=10**6)
    made.put(block(0, 10))
    made.put(block(1, 2))
    made.hold(held=True)
    return made


def test_nothing_leaves_a_held_queue(batcher):
    assert batcher.take() is None
    assert batcher.due_in_s() == float("inf")
    batcher.put(block(2, 50))
    assert batcher.take() is None


def test_what_is_admitted_leaves_once_in_batches_of_the_usual_size(batcher):
    batcher.admit(6)
    assert batcher.due_in_s() == 0
    assert batcher.take().parts[0].offsets == [0, 1, 2, 3]
    assert batcher.take().parts[0].offsets == [4, 5]
    assert batcher.take() is None
    assert batcher.n_records == 6
    assert batcher.head.offsets == [6, 7, 8, 9]


def test_a_batch_of_a_held_queue_has_records_of_one_partition(batcher):
    batcher.admit(10)
    assert [batcher.take().parts[0].offsets for _ in range(3)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    batcher.admit(2)
    (part,) = batcher.take().parts
    assert (part.partition, part.offsets) == (1, [0, 1])


def test_holding_again_changes_nothing_and_an_end_sets_all_free(batcher):
    batcher.admit(1)
    batcher.hold(held=True)
    assert batcher.take().n_records == 1
    batcher.hold(held=False)
    assert [batcher.take().n_records for _ in range(3)] == [4, 4, 3]


def test_an_admission_dies_with_the_records_it_was_for(batcher):
    batcher.admit(1)
    batcher.drop(lambda records: records.partition == 0)
    assert batcher.head.partition == 1
    assert batcher.take() is None


def test_an_admission_outlives_the_drop_of_others(batcher):
    batcher.admit(1)
    batcher.drop(lambda records: records.partition == 1)
    assert batcher.take().n_records == 1
