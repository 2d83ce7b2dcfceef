"""What every input record must be, whatever the model."""

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Event(BaseModel):
    """A record of an input topic.

    Its id is the first of these that exists: the field that the model's input schema declares as id; the headers
    `ce_source` and `ce_id` (CloudEvents), joined by a slash; the header `idempotency-key`;
    `topic/partition/offset`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: bytes | None = Field(default=None, description="Any bytes; kept, never read as text.")
    headers: list[tuple[str, bytes | None]] = Field(
        default=[], description="Names in UTF-8, values any bytes; kept, never read as text but for the id."
    )
    value: dict[str, JsonValue] | None = Field(
        description="One JSON object in UTF-8, by the model's input schema, without NaN or Infinity; fields the "
        "schema does not name are ignored, and of a name given twice the last counts. Null is a tombstone: "
        "skipped and counted. Anything else goes to the dead-letter topic."
    )
