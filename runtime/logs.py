"""Where log lines go: readable ones on a terminal, JSON, one object a line, everywhere else."""

import logging
import os
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "console", "json"]


def configure_logs(level: Level = "info", style: Format = "auto", stream: TextIO | None = None, **fields: Any) -> None:
    """Send all logs of this process, also those of libraries, to `stream` (standard error).

    `auto` is console on a terminal and JSON otherwise; `fields` are added to every line.
    """
    stream = stream or sys.stderr
    threshold = logging.getLevelNamesMapping()[level.upper()]
    console = style == "console" or (style == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _add(fields),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    colors = stream.isatty() and not os.environ.get("NO_COLOR")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_rendering(console, colors))
    )
    logging.basicConfig(level=max(threshold, logging.INFO), handlers=[handler], force=True)
    for ours in ("pelton", "__main__"):
        logging.getLogger(ours).setLevel(threshold)
    logging.captureWarnings(capture=True)


def _add(fields: dict[str, Any]) -> Processor:
    def add(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {**fields, **event}

    return add


def _rendering(console: bool, colors: bool) -> list[Processor]:
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if console:
        # Rich's traceback, which is taken by default, prints every local variable: passwords among them.
        return [strip, structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]
    return [
        strip,
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
