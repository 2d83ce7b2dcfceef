"""A logger for what a client says of itself, where its errors reach us besides."""

import logging


def silent_log(name: str) -> logging.Logger:
    """Return a logger whose lines go nowhere, unless somebody adds a handler to it by its name."""
    log = logging.getLogger(name)
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return log
