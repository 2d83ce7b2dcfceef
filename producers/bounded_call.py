"""A call that may never return, and how long it is waited for."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


def call_within(limit_s: float, call: Callable[..., None], *arguments: Any) -> None:
    """Call in a thread of its own, which is left behind when it takes longer; then raises TimeoutError."""
    outcome: Future[None] = Future()
    threading.Thread(target=_run, args=(outcome, call, arguments), name="bounded-call", daemon=True).start()
    outcome.result(limit_s)


def _run(outcome: "Future[None]", call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    try:
        call(*arguments)
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits
        outcome.set_exception(error)
    else:
        outcome.set_result(None)
