"""Topics are asked for by a client that may not even come to be."""

import pytest

from pelton.errors import SettingsError
from pelton.topics import create, describe


def test_properties_of_which_no_client_can_be_made_are_a_fault_of_the_settings() -> None:
    """librdkafka looks for the file only now, where another start would not find it either."""
    kafka = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "ssl", "ssl.ca.location": "/nowhere/ca.pem"}
    with pytest.raises(SettingsError, match=r"^kafka: .*ssl\.ca\.location"):
        describe(kafka, ["events"])
    with pytest.raises(SettingsError, match=r"^kafka: .*ssl\.ca\.location"):
        create(kafka, {"events": 1})
