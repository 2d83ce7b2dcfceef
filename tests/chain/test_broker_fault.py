"""What a fault of the broker spoils: a wait or a check that fails, and nothing without the broker's own word."""

from pathlib import Path

import pytest

from pelton.local_kafka import LocalKafka
from tests.chain.broker_fault import SKIPPED, Spoilt, skipped_an_end, spoilt_by, unspoilt

TOLD = f"INFO TransactionMarkerChannelManager - Couldn't find leader endpoint for partitions Set(s-0), {SKIPPED}"


def broker(folder: Path, *lines: str) -> LocalKafka:
    kafka = LocalKafka(folder)
    kafka.log_file.write_text("\n".join(("started", *lines)))
    return kafka


FAILURES = pytest.mark.parametrize("failure", [pytest.fail.Exception("not in time"), AssertionError("twice")], ids=str)


@FAILURES
@pytest.mark.parametrize("lives_since", [0, 1])
def test_a_run_is_spoilt_by_the_brokers_own_word(tmp_path: Path, failure: BaseException, lives_since: int) -> None:
    kafka = broker(tmp_path, TOLD)
    if lives_since:
        kafka.log_file.replace(kafka.log_file.with_suffix(".log.1"))
    with pytest.raises(Spoilt, match=str(failure)), spoilt_by(lambda: skipped_an_end(kafka)):
        raise failure


@FAILURES
def test_without_it_what_fails_fails(tmp_path: Path, failure: BaseException) -> None:
    kafka = broker(tmp_path)
    with pytest.raises(type(failure), match=str(failure)), spoilt_by(lambda: skipped_an_end(kafka)):
        raise failure


def test_a_spoilt_run_is_made_once_more_and_only_once(tmp_path: Path) -> None:
    left, runs = [Spoilt("once")], list[str]()

    def run(folder: Path) -> str:
        runs.append(folder.name)
        if left:
            raise left.pop()
        return "proven"

    assert unspoilt(run, tmp_path) == "proven"
    left += [Spoilt("twice"), Spoilt("once")]
    with pytest.raises(Spoilt, match="twice"):
        unspoilt(run, tmp_path)
    assert runs == ["first", "second"] * 2
