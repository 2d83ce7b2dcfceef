"""What a worker walks: the road of events, that of requests, or both."""

from pelton.desk import Desk
from pelton.loop import Loop

Road = Loop | Desk
