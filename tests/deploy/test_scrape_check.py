"""What the check of a real Prometheus finds fault with, by a stand-in that answers as the test says."""

from collections.abc import Callable
from typing import Any

import pytest
from scrape_check import __main__ as check
from scrape_check.ports import CheckFailed


class Answers:
    """A Prometheus with a number for every query but those that contain certain words."""

    def __init__(self, but: dict[str, list[float]] | None = None, rules: list[dict[str, Any]] | None = None) -> None:
        self._but, self._rules = but or {}, rules or []
        self.asked: list[str] = []

    def ask(self, query: str) -> list[float]:
        self.asked.append(query)
        return next((found for words, found in self._but.items() if words in query), [1.0])

    def rules(self) -> list[dict[str, Any]]:
        return self._rules


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for: what does not hold at once never does."""

    def until(what: str, condition: Callable[[], bool], within_s: float = 0) -> None:
        if not condition():
            raise CheckFailed(what)

    monkeypatch.setattr(check, "until", until)


def test_every_query_is_asked_with_every_variable_filled_in() -> None:
    answers = Answers()
    check.ask_all(answers)  # type: ignore[arg-type]
    assert len(answers.asked) > 60
    assert [query for query in answers.asked if "$" in query] == []
    assert 'group by (worker) (pelton_worker_state{job=~".*", instance=~".*"})' in answers.asked
    assert any("[10s]" in query for query in answers.asked)


@pytest.mark.parametrize("found", [[], [float("nan")]])
def test_a_query_without_a_number_fails(found: list[float]) -> None:
    with pytest.raises(CheckFailed, match=r"Share of records: .*pelton_dead_letters_total"):
        check.ask_all(Answers({"pelton_dead_letters_total": found}))  # type: ignore[arg-type]


def test_what_needs_a_gpu_may_be_without_data() -> None:
    told = check.ask_all(Answers({"pelton_gpu": []}))  # type: ignore[arg-type]
    assert told.endswith("2 would with a GPU")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"name": "Bad", "health": "err", "lastError": "many-to-many", "state": "inactive"}, "Bad: many-to-many"),
        ({"name": "Loud", "health": "ok", "state": "firing"}, "Loud"),
        ({"name": "Slow", "health": "unknown", "state": "inactive"}, "every rule was evaluated"),
    ],
)
def test_a_rule_that_cannot_be_evaluated_or_fires_fails(rule: dict[str, Any], words: str) -> None:
    fine = {"name": "Fine", "health": "ok", "state": "pending"}
    assert "2 alert rules" in check.evaluated(Answers(rules=[fine, fine]))  # type: ignore[arg-type]
    with pytest.raises(CheckFailed, match=words):
        check.evaluated(Answers(rules=[fine, rule]))  # type: ignore[arg-type]
