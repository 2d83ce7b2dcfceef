"""The settings of `/scale`."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from pelton.schemas.settings_groups import Group
from pelton.schemas.settings_types import Count, Seconds, no_boolean


class Scale(Group):
    """How many replicas are wanted, for an autoscaler that asks `/scale`."""

    min: Annotated[int, Field(ge=0), BeforeValidator(no_boolean)] = Field(
        default=1, description="Least replicas; with 0 something else must wake the group, as nobody answers then."
    )
    max: Count | None = Field(default=None, description="Most replicas; null for as many as partitions give work.")
    drain_s: Seconds = Field(default=120, description="In how many seconds a backlog is to be gone, starts included.")
    start_s: Seconds | None = Field(
        default=None,
        description="How long a replica takes from being wanted to scoring; null for what this one took since its "
        "process began. Nodes and images that have to come first are not in that.",
    )
    cooldown_s: Seconds = Field(
        default=300, description="Fewer replicas are wanted only when no more were for so many seconds."
    )
    every_s: Seconds = Field(default=15, description="How often the broker is asked, in seconds.")
