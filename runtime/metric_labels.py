"""The labels of metrics, and the values each may have: closed sets, or what bounds them."""

OPEN_LABELS = {
    "topic": "the topics under `stream.topics` and `requests.topics`",
    "partition": "the partitions held now",
    "worker": "0 to the number of workers",
    "gpu": "the UUID of the GPU that the worker computes on",
}
"""What bounds the labels whose values are not known beforehand."""

LANE = {"lane": ("stream", "requests")}
BATCH = {**LANE, "reason": ("size", "cost", "wait", "deadline")}
UNDECODED = {"code": ("malformed", "invalid", "not_finite")}
BURIED = {"code": (*UNDECODED["code"], "too_large", "unknown_model", "model_error")}
ANSWER = {
    "code": (
        "ok",
        *BURIED["code"],
        "unauthorized",
        "forbidden",
        "rate_limited",
        "overloaded",
        "not_ready",
        "expired",
        "cancelled",
        "internal",
    )
}
MOVE = {"kind": ("assigned", "revoked", "lost")}
TRANSACTION = {"end": ("committed", "aborted", "lost")}
REPLY = {"end": ("delivered", "no_topic", "forbidden", "failed")}
_STATES = ("starting", "loading", "warming", "joining", "ready", "rebalancing", "blocked", "draining", "stopped")
STATE = {"state": (*_STATES, "restarting")}
VERDICT = {"verdict": ("ok", "unknown", "warn", "rewind", "stall", "stop")}
PROBE = {"probe": ("startup", "live", "ready")}
REPLICAS = {"which": ("wanted", "present")}
