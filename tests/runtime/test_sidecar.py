"""The sidecar's answers."""

import asyncio
import io
import logging
import socket
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from pelton import listener
from pelton.errors import SettingsError
from pelton.health import Verdict
from pelton.sidecar import Sidecar


class Subject:
    verdict = Verdict()
    metrics = "pelton_scored_total 3.0\n"


@pytest.fixture
async def sidecar() -> AsyncIterator[Sidecar]:
    verdicts = {"live": lambda: Subject.verdict, "ready": lambda: Verdict(("worker 0 is loading",))}
    sidecar = Sidecar(verdicts, lambda: Subject.metrics, lambda: {"state": "running", "workers": []})
    await sidecar.start("127.0.0.1", 0)
    yield sidecar
    await sidecar.close()


@pytest.fixture
async def http(sidecar: Sidecar) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{sidecar.port}") as session:
        yield session


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What all loggers write."""
    handler = logging.StreamHandler(io.StringIO())
    logging.getLogger().addHandler(handler)
    yield handler.stream
    logging.getLogger().removeHandler(handler)


async def test_a_probe_is_200_or_503_with_its_reasons(http: aiohttp.ClientSession) -> None:
    async with http.get("/health/live") as answer:
        assert (answer.status, await answer.json()) == (200, {"status": "ok", "reasons": []})
    async with http.get("/health/ready") as answer:
        told = {"status": "failing", "reasons": ["worker 0 is loading"]}
        assert (answer.status, await answer.json()) == (503, told)
    async with http.head("/health/live") as answer:
        assert answer.status == 200


async def test_metrics_come_in_the_text_format(http: aiohttp.ClientSession) -> None:
    async with http.get("/metrics") as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert (answer.status, await answer.text()) == (200, "pelton_scored_total 3.0\n")


async def test_status_is_json_and_other_paths_are_not_found(http: aiohttp.ClientSession) -> None:
    async with http.get("/status") as answer:
        assert await answer.json() == {"state": "running", "workers": []}
    async with http.get("/health/other") as answer:
        assert answer.status == 404
    async with http.post("/status") as answer:
        assert answer.status == 405


async def test_the_root_names_every_route_and_each_of_them_answers(http: aiohttp.ClientSession) -> None:
    async with http.get("/") as answer:
        assert (answer.status, answer.content_type) == (200, "application/json")
        routes = (await answer.json())["routes"]
    assert routes == ["/health/live", "/health/ready", "/metrics", "/status"]
    for route in routes:
        async with http.get(route) as answer:
            assert answer.status in (200, 503)


async def test_what_is_no_request_is_answered_and_leaves_no_line_in_the_log(
    sidecar: Sidecar, logged: io.StringIO
) -> None:
    heads = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
    for bad in (b"GET /" + b"a" * 5000, heads + b"s3cret" * 1000, heads + b"s3cret\r\nContent-Length: -1\r\n\r\n"):
        reader, writer = await asyncio.open_connection("127.0.0.1", sidecar.port)
        writer.write(bad)
        assert (await reader.readline()).startswith(b"HTTP/1.0 400")
        writer.close()
    assert logged.getvalue() == ""


async def test_a_fault_of_ours_is_told_in_the_log(logged: io.StringIO) -> None:
    sidecar = Sidecar({}, lambda: str(1 / 0), dict)
    await sidecar.start("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sidecar.port}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        assert answer.status == 500
    assert "ZeroDivisionError" in logged.getvalue()
    await sidecar.close()


async def test_a_connection_that_idles_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "IDLE_S", 0.1)
    sidecar = Sidecar({}, str, dict)
    await sidecar.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", sidecar.port)
    writer.write(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(), 10)).endswith(b"{}")  # to its end
    writer.close()
    await sidecar.close()


async def test_open_connections_do_not_hold_up_the_end(sidecar: Sidecar) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", sidecar.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    await asyncio.wait_for(sidecar.close(), 5)
    assert sidecar.port == 0
    writer.close()


async def test_an_address_that_cannot_be_had_is_named_with_the_cause() -> None:
    refused = Sidecar({}, str, dict)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=rf":{port}: another process .*; choose another sidecar\.port"):
            await refused.start("127.0.0.1", port)
    with pytest.raises(SettingsError, match="this machine does not have that address"):
        await refused.start("192.0.2.1", port)
    await refused.start("127.0.0.1", 0)
    await refused.close()


async def test_scale_is_there_where_it_is_wanted_and_503_while_it_is_unknown() -> None:
    found: dict[str, int] | None = None
    sidecar = Sidecar({}, lambda: "", dict, lambda: found)
    await sidecar.start("127.0.0.1", 0)
    async with aiohttp.ClientSession(f"http://127.0.0.1:{sidecar.port}") as session:
        async with session.get("/scale") as answer:
            assert (answer.status, await answer.json()) == (503, {"reason": "the broker has told nothing yet"})
        found = {"wanted_replicas": 3}
        async with session.get("/scale") as answer:
            assert (answer.status, await answer.json()) == (200, {"wanted_replicas": 3})
        async with session.get("/") as answer:
            assert "/scale" in (await answer.json())["routes"]
    await sidecar.close()


async def test_without_settings_for_it_there_is_no_scale(http: aiohttp.ClientSession) -> None:
    async with http.get("/scale") as answer:
        assert (answer.status, await answer.json()) == (404, {"reason": "the settings have no `scale:`"})
