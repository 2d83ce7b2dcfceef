"""The roads that the settings ask for, around one warm model."""

from collections.abc import Mapping

from pelton.assembly import assemble
from pelton.consumers.lag import Lag
from pelton.engine import Engine
from pelton.kafka_clients import client_properties
from pelton.kafka_errors import of_settings
from pelton.request_assembly import assemble_desk
from pelton.road import Road
from pelton.schemas.settings import Settings
from pelton.topics import limits


def build_roads(
    settings: Settings, engine: Engine, index: int, topics: Mapping[str, int], transactional_id: str | None
) -> dict[Road, Lag]:
    """Build each road and what tells how far it is behind; opens the connections, joins nothing yet.

    `topics` has the partitions of the stream's sink. Raises SettingsError where no client can be made.
    """
    properties, roads = client_properties(settings), dict[Road, Lag]()
    with of_settings():
        if stream := settings.stream:
            loop = assemble(
                settings,
                stream,
                engine,
                index=index,
                sink_partitions=topics[stream.sink],
                limits=limits(dict(settings.kafka), [stream.sink, stream.dead_letter]),
                transactional_id=transactional_id,
            )
            roads[loop] = Lag(properties, stream.group, stream.reset)
        if requests := settings.requests:
            roads[assemble_desk(settings, requests, engine)] = Lag(properties, requests.group, "earliest")
    return roads
