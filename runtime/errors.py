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
    ├── CallError                a call got no score; `code` says why, by the table of `pelton.schemas.codes`
    │   ├── InvalidRequest       malformed, invalid, not_finite, too_large: no repeat will help
    │   ├── CallRefused          unauthorized, forbidden, unknown_model
    │   ├── Overloaded           rate_limited, overloaded, not_ready         (retriable)
    │   │   └── CircuitOpen      not even sent: too many calls before it failed  (retriable)
    │   ├── CallExpired          no answer by the call's deadline            (retriable)
    │   ├── CallCancelled        the caller took it back
    │   │   └── ClientClosed     the client was closed, or is that of another process
    │   ├── ModelFailed          model_error: the model raised on these inputs
    │   ├── ServerFault          internal: not the caller's fault            (retriable)
    │   └── UnreadableReply      what came back is no reply of ours
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

    def __init__(self, text: str, *, of_the_client: bool = False, of_the_settings: bool = False) -> None:
        super().__init__(text)
        self.of_the_client = of_the_client
        """Whether the client itself is stuck: nobody has refused anything."""
        self.of_the_settings = of_the_settings
        """Whether another one would fare no better before somebody changes the settings."""


class Fenced(KafkaFailure):
    """Another process took over this one's instance id or transactional id."""


class CallError(PeltonError):
    """A call was not answered with a score."""

    usual_code: ClassVar[str] = "internal"

    def __init__(self, text: str, *, code: str | None = None, trace_id: str = "") -> None:
        super().__init__(text)
        self.code = code or self.usual_code
        """One of the closed set of codes."""
        self.trace_id = trace_id
        """What to quote when asking about this answer; empty where none came."""


class InvalidRequest(CallError):
    """The request cannot be scored as it is: malformed, against the schema, not finite or too large."""

    usual_code = "invalid"


class CallRefused(CallError):
    """The caller may not do this, or asked for a model that is not served."""

    usual_code = "forbidden"


class Overloaded(CallError):
    """There was no room for the call, or nobody ready to take it."""

    retriable = True
    usual_code = "overloaded"


class CircuitOpen(Overloaded):
    """The call was not sent, because most calls before it failed."""

    usual_code = "not_ready"
    retry_after_s = 0.0
    """Seconds until a call is let through to try, 0 when one is on its way already."""


class CallExpired(CallError):
    """No answer came by the call's deadline."""

    retriable = True
    usual_code = "expired"


class CallCancelled(CallError):
    """The caller took the call back."""

    usual_code = "cancelled"


class ClientClosed(CallCancelled):
    """The client is not open: closed, not started, or inherited from a parent process by a fork."""


class ModelFailed(CallError):
    """The model raised on these inputs, or gave a score that is none."""

    usual_code = "model_error"


class ServerFault(CallError):
    """Something on the other side broke that is not the caller's fault."""

    retriable = True


class UnreadableReply(CallError):
    """An answer came, but not one that can be read."""


class LocalKafkaError(PeltonError):
    """The Kafka on this machine could not be fetched, started or stopped."""


class SourceFileError(PeltonError):
    """A file to replay cannot be read."""


class DemoFailed(PeltonError):
    """The demo ran, but one of its checks did not hold."""
