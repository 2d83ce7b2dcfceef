"""What a client can be told is told nobody else."""

from pathlib import Path
from typing import Any

import pytest

from pelton.errors import SettingsError
from pelton.producers.call_options import CallOptions
from pelton.producers.client import EventProducer, RequestReplyClient, ScoreReader

NO_KEY = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"}


def test_options_are_printed_without_the_connection() -> None:
    options = CallOptions(kafka={"bootstrap.servers": "a:1", "sasl.password": "hunter2"}, requests="q", replies="a")
    assert "hunter2" not in repr(options)
    assert "requests='q'" in repr(options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RequestReplyClient(kafka=NO_KEY, requests="q", replies="a"),
        lambda: EventProducer(NO_KEY, "events"),
        lambda: ScoreReader(NO_KEY, "scores"),
    ],
)
def test_properties_that_no_client_can_be_made_with_are_a_settings_error(make: Any) -> None:
    assert not Path(NO_KEY["ssl.ca.location"]).exists()
    with pytest.raises(SettingsError, match=r"kafka: .*ssl\.ca\.location"):
        make()
