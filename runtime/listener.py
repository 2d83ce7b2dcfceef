"""An HTTP server of this process: where it listens, and what it takes from strangers."""

import errno
import logging

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from pelton.errors import SettingsError

MOST_BODY_BYTES = 1024
MOST_HEADER_BYTES = 4096
"""Of the request line, and of each header; there may be 100 of those at most."""
IDLE_S = 15.0
_CLOSE_S = 1.0
_CAUSES = {
    errno.EADDRINUSE: "another process listens there",
    errno.EACCES: "this user may not listen there",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}


def _is_ours(record: logging.LogRecord) -> bool:
    """Tell whether a line is about a fault of ours: any stranger could fill the log, with what a request held too."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


_http_log = logging.getLogger("pelton.listener.http")
_http_log.addFilter(_is_ours)


class Listener:
    """Serves an application at one address; `name` is the group of settings that it belongs to."""

    def __init__(self, name: str, app: web.Application) -> None:
        self._name, self._app = name, app
        self._runner: web.AppRunner | None = None

    @property
    def port(self) -> int:
        """Return the port it listens on, 0 while it does not; of use where 0 was asked for."""
        addresses = self._runner.addresses if self._runner else []
        return int(addresses[0][1]) if addresses else 0

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises SettingsError when the address cannot be had."""
        self._runner = web.AppRunner(
            self._app,
            access_log=None,
            logger=_http_log,
            shutdown_timeout=_CLOSE_S,
            keepalive_timeout=IDLE_S,
            max_line_size=MOST_HEADER_BYTES,
            max_field_size=MOST_HEADER_BYTES,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self.close()
            cause = _CAUSES.get(error.errno or 0, error.strerror or str(error))
            cause += f"; choose another {self._name}.port" if error.errno == errno.EADDRINUSE else ""
            raise SettingsError(f"{self._name}: cannot listen on {host}:{port}: {cause}") from error

    async def close(self) -> None:
        """Stop listening and end open connections within a second."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None
