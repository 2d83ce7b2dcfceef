"""What may be done to a running process over HTTP."""

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, SerializationInfo, field_serializer

from pelton.schemas.settings_groups import Group
from pelton.schemas.settings_types import Name, no_boolean

LEAST_TOKEN = 16
_LEAST = Field(json_schema_extra={"minLength": LEAST_TOKEN})
"""For readers of the schema; pydantic itself would speak of items."""


def _long_enough(token: SecretStr) -> SecretStr:
    if len(token) < LEAST_TOKEN:
        raise ValueError(f"has {len(token)} characters, and needs {LEAST_TOKEN} at least")
    return token


class Admin(Group):
    """Routes that change something, at an address of their own; there are none without a port."""

    host: Name = Field(default="127.0.0.1", description="Address that the admin routes listen on.")
    port: Annotated[int | None, Field(ge=0, le=65_535), BeforeValidator(no_boolean)] = Field(
        default=None,
        description="Port that the admin routes listen on; null for no such routes, 0 for one of the system's choice.",
    )
    token: Annotated[SecretStr, AfterValidator(_long_enough), _LEAST] | None = Field(
        default=None,
        description="What a caller has to show as `Authorization: Bearer …`, 16 characters at least; best given as "
        "`PELTON_ADMIN__TOKEN_FILE`.",
    )

    @field_serializer("token", when_used="unless-none")
    def _dump(self, token: SecretStr, info: SerializationInfo) -> Any:
        reveal = isinstance(info.context, dict) and info.context.get("secrets") is True
        return token.get_secret_value() if reveal else str(token)
