"""What is made of the answers to commits."""

from confluent_kafka import KafkaError, TopicPartition
from structlog.testing import capture_logs

from pelton.consumers.commit_answers import CommitAnswers

DENIED = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "Group authorization failed")
MOVED = KafkaError(KafkaError.ILLEGAL_GENERATION, "generation")
SOME = [TopicPartition("in", 0, 5)]


def test_a_right_that_is_missing_is_told_until_a_commit_is_taken_and_logged_once() -> None:
    answers = CommitAnswers()
    with capture_logs() as logged:
        for _ in range(5):
            answers.hear(DENIED, SOME)
    assert answers.denied == "offsets cannot be committed: Group authorization failed"
    assert (answers.n_refused, len(logged)) == (5, 1)
    answers.hear(KafkaError(KafkaError._NO_OFFSET), [])  # says nothing either way
    assert answers.denied
    answers.hear(None, SOME)
    assert answers.denied == ""
    with capture_logs() as logged:
        answers.hear(DENIED, SOME)
    assert len(logged) == 1


def test_other_refusals_are_counted_and_each_is_logged() -> None:
    answers = CommitAnswers()
    with capture_logs() as logged:
        answers.hear(MOVED, SOME)
        answers.hear(MOVED, SOME)
    assert (answers.n_refused, answers.denied, len(logged)) == (2, "", 2)
