"""Every error Pelton raises, one tree:

    PeltonError
    ├── SettingsError            the settings are wrong, incomplete or contradict each other
    ├── PackageError             a model package cannot be used: manifest, code, weights or golden cases
    ├── ModelError               the model broke its contract, for the whole batch
    │   ├── OutOfMemory          the device has no room for a batch of this size
    │   └── DeviceLost           the device context is dead; only a new process helps
    ├── KafkaFailure             something between us and the broker
    │   ├── BrokerUnavailable    no broker answers, or not in time           (retriable)
    │   ├── TopicMissing         a topic we need does not exist              (retriable)
    │   ├── AccessDenied         wrong credentials or missing rights         (retriable)
    │   ├── DeliveryFailed       a score could not be written
    │   ├── TransactionAborted   a transaction could not be committed; its work is sent again (retriable)
    │   ├── ProducerLost         a transactional producer is of no more use; a new one is
    │   └── Fenced               another process took this one's identity
    ├── LocalKafkaError          the Kafka on this machine could not be fetched, started or stopped
    ├── SourceFileError          a file to replay cannot be read
    └── DemoFailed               the demo's own checks did not hold

`retriable` says whether the same call can succeed later without anybody changing anything.
"""

from typing import ClassVar


class PeltonError(Exception):
    """The root of every error Pelton raises."""

    retriable: ClassVar[bool] = False


class SettingsError(PeltonError):
    """The settings are wrong, incomplete or contradict each other."""


class PackageError(PeltonError):
    """A model package cannot be used: its manifest, code, weights or golden cases are at fault."""


class ModelError(PeltonError):
    """The model broke its contract for a whole batch, not for one record."""


class OutOfMemory(ModelError):
    """The device has no room for a batch of this size."""

    retriable = True


class DeviceLost(ModelError):
    """The device context is dead: every later call would fail or answer nonsense."""


class KafkaFailure(PeltonError):
    """Something between this process and the broker failed."""


class BrokerUnavailable(KafkaFailure):
    """No broker answers, or none answered in time."""

    retriable = True


class TopicMissing(KafkaFailure):
    """A topic that is needed does not exist."""

    retriable = True


class AccessDenied(KafkaFailure):
    """The broker refuses the credentials, or the principal lacks a right."""

    retriable = True


class DeliveryFailed(KafkaFailure):
    """A record could not be written, and not because of what is in it."""


class TransactionAborted(KafkaFailure):
    """A transaction could not be committed and has to be aborted; the same work can be sent again."""

    retriable = True

    def __init__(self, text: str, *, of_the_group: bool = False) -> None:
        super().__init__(text)
        self.of_the_group = of_the_group
        """Whether only the group refused: its members have changed since the records were read."""


class ProducerLost(KafkaFailure):
    """A transactional producer is of no more use; another one has to do its work again."""

    def __init__(self, text: str, *, of_the_client: bool = False) -> None:
        super().__init__(text)
        self.of_the_client = of_the_client
        """Whether the client itself is stuck: nobody has refused anything."""


class Fenced(KafkaFailure):
    """Another process took over this one's instance id or transactional id."""


class LocalKafkaError(PeltonError):
    """The Kafka on this machine could not be fetched, started or stopped."""


class SourceFileError(PeltonError):
    """A file to replay cannot be read."""


class DemoFailed(PeltonError):
    """The demo ran, but one of its checks did not hold."""
