"""Routes that change something: for whoever has the token, and for nobody else."""

import hmac
from collections.abc import Awaitable, Callable

import structlog
from aiohttp import web

from pelton.deadline import Deadline
from pelton.listener import MOST_BODY_BYTES, Listener
from pelton.schemas.settings_admin import Admin

log = structlog.get_logger(__name__)

TELL_EVERY_S = 10.0
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class AdminRoutes:
    """`POST /admin/drain` begins to drain, as a signal does, and answers 202 with the state; again changes nothing.

    401 without a token, 403 with a wrong one, whatever the path, and only then 404, 405 or 413.
    """

    def __init__(self, admin: Admin, drain: Callable[[], str]) -> None:
        assert admin.token is not None, "the settings refuse a port without a token"
        self._admin, self._drain = admin, drain
        self._token = admin.token.get_secret_value().encode()
        self._tell_due = Deadline.after(0)
        app = web.Application(middlewares=[self._guard], client_max_size=MOST_BODY_BYTES)
        app.router.add_post("/admin/drain", self._on_drain)
        self._listener = Listener("admin", app)

    @property
    def port(self) -> int:
        """Return the port it listens on, 0 while it does not."""
        return self._listener.port

    async def start(self) -> None:
        """Listen. Raises SettingsError when the address cannot be had."""
        await self._listener.start(self._admin.host, self._admin.port or 0)
        log.info("admin_listens", host=self._admin.host, port=self.port)

    async def close(self) -> None:
        """Stop listening and end open connections within a second."""
        await self._listener.close()

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not shown:
            return web.json_response({"error": "a token is needed"}, status=401, headers={"WWW-Authenticate": "Bearer"})
        # Takes as long for a token that is nearly right.
        if not hmac.compare_digest(shown.strip().encode("utf-8", "surrogateescape"), self._token):
            self._tell(request)
            return web.json_response({"error": "this token is not the right one"}, status=403)
        return await handler(request)

    async def _on_drain(self, request: web.Request) -> web.Response:
        await request.read()  # raises 413 beyond the limit
        log.info("drain_asked_for", by=request.remote)
        return web.json_response({"state": self._drain()}, status=202)

    def _tell(self, request: web.Request) -> None:
        if self._tell_due.expired:
            self._tell_due = Deadline.after(TELL_EVERY_S)
            log.warning("admin_refused", by=request.remote, path=request.path)
