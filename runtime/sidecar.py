"""The HTTP server beside the workers: health, metrics and status."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from pelton.health import Verdict
from pelton.listener import Listener

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sidecar:
    """Serves what the three callables return; it never waits for a worker.

    `/health/startup`, `/health/live`, `/health/ready` answer 200 or 503 with
    `{"status": "ok" | "failing", "reasons": [...]}` and, where there are any, "notes"; `/metrics`
    in Prometheus' text format; `/status` as JSON, and `/scale`, which answers 503 while `scale` returns None.
    `/` names them all.
    """

    def __init__(
        self,
        verdicts: Mapping[str, Callable[[], Verdict]],
        metrics: Callable[[], str],
        status: Callable[[], Mapping[str, Any]],
        scale: Callable[[], Mapping[str, Any] | None] | None = None,
    ) -> None:
        app = web.Application()
        for name, verdict in verdicts.items():
            app.router.add_get(f"/health/{name}", _probe(verdict))
        app.router.add_get("/metrics", _text(metrics))
        app.router.add_get("/status", _json(status))
        if scale is not None:
            app.router.add_get("/scale", _json_or_503(scale))
        routes = [resource.canonical for resource in app.router.resources()]
        if scale is None:
            app.router.add_get("/scale", _not_set)
        app.router.add_get("/", _json(lambda: {"routes": routes}))
        self._listener = Listener("sidecar", app)

    @property
    def port(self) -> int:
        """Return the port it listens on, 0 while it does not; of use where 0 was asked for."""
        return self._listener.port

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises SettingsError when the address cannot be had."""
        await self._listener.start(host, port)

    async def close(self) -> None:
        """Stop listening and end open connections within a second."""
        await self._listener.close()


_Handler = Callable[[web.Request], Awaitable[web.Response]]


def _probe(verdict: Callable[[], Verdict]) -> _Handler:
    async def probe(_request: web.Request) -> web.Response:
        given = verdict()
        return web.json_response(given.describe(), status=200 if given.ok else 503)

    return probe


def _text(metrics: Callable[[], str]) -> _Handler:
    async def text(_request: web.Request) -> web.Response:
        return web.Response(body=metrics().encode(), headers={"Content-Type": _METRICS_TYPE})

    return text


async def _not_set(_request: web.Request) -> web.Response:
    return web.json_response({"reason": "the settings have no `scale:`"}, status=404)


def _json_or_503(known: Callable[[], Mapping[str, Any] | None]) -> _Handler:
    async def json(_request: web.Request) -> web.Response:
        found = known()
        if found is None:
            return web.json_response({"reason": "the broker has told nothing yet"}, status=503)
        return web.json_response(found)

    return json


def _json(status: Callable[[], Mapping[str, Any]]) -> _Handler:
    async def json(_request: web.Request) -> web.Response:
        return web.json_response(status())

    return json
