"""The codes are those of the design, each once, with these meanings."""

import pytest

from pelton.schemas.codes import CODES, Code

# code: HTTP status, dead letter, retriable
DESIGN = {
    "ok": (200, False, False),
    "malformed": (400, True, False),
    "invalid": (422, True, False),
    "not_finite": (422, True, False),
    "too_large": (413, True, False),
    "unauthorized": (401, False, False),
    "forbidden": (403, False, False),
    "unknown_model": (404, True, False),
    "rate_limited": (429, False, True),
    "overloaded": (503, False, True),
    "not_ready": (503, False, True),
    "expired": (504, False, True),
    "cancelled": (499, False, False),
    "model_error": (500, True, False),
    "internal": (500, False, True),
}


def test_codes_are_the_closed_set() -> None:
    assert [code.value for code in Code] == list(DESIGN)
    assert list(CODES) == list(Code)


@pytest.mark.parametrize("word", DESIGN)
def test_code_means_what_the_design_says(word: str) -> None:
    info = CODES[Code(word)]
    assert (info.http, info.dead_letter, info.retriable) == DESIGN[word]
    assert info.when


def test_code_reads_as_its_word() -> None:
    assert f"{Code.NOT_FINITE}" == "not_finite"
    assert Code.NOT_FINITE == "not_finite"
