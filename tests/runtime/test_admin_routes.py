"""Who may do what over HTTP: nothing without a port, and nothing without the token."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest
from structlog.testing import capture_logs

from pelton.admin_routes import AdminRoutes
from pelton.listener import MOST_BODY_BYTES, MOST_HEADER_BYTES
from pelton.schemas.settings_admin import Admin

TOKEN = "hunter2-must-not-show"
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def drained() -> list[str]:
    return []


@pytest.fixture
async def http(drained: list[str]) -> AsyncIterator[aiohttp.ClientSession]:
    def drain() -> str:
        drained.append("draining")
        return "draining"

    routes = AdminRoutes(Admin(port=0, token=TOKEN), drain)  # type: ignore[arg-type]
    await routes.start()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{routes.port}") as session:
        yield session
    await routes.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": TOKEN}, 401),
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, 403),
        ({"Authorization": f"Bearer {TOKEN}x"}, 403),
        ({"Authorization": "Bearer wr\u00f6ng"}, 403),
        (RIGHT, 202),
        ({"Authorization": f"bearer {TOKEN}"}, 202),
    ],
)
async def test_only_the_token_drains(
    http: aiohttp.ClientSession, drained: list[str], headers: dict[str, str], status: int
) -> None:
    async with http.post("/admin/drain", headers=headers) as answer:
        assert answer.status == status
        assert TOKEN not in await answer.text()
        assert ("WWW-Authenticate" in answer.headers) is (status == 401)
    assert drained == (["draining"] if status == 202 else [])


async def test_which_paths_there_are_is_told_to_nobody_without_the_token(http: aiohttp.ClientSession) -> None:
    for path in ("/", "/admin/drain", "/admin/other", "/status"):
        async with http.get(path) as answer:
            assert answer.status == 401
    async with http.get("/admin/other", headers=RIGHT) as answer:
        assert answer.status == 404
    async with http.get("/admin/drain", headers=RIGHT) as answer:
        assert answer.status == 405


async def test_large_bodies_and_headers_are_refused(http: aiohttp.ClientSession, drained: list[str]) -> None:
    async with http.post("/admin/drain", headers=RIGHT, data=b"x" * (MOST_BODY_BYTES + 1)) as answer:
        assert answer.status == 413
    async with http.post("/admin/drain", headers={**RIGHT, "X": "x" * (MOST_HEADER_BYTES + 1)}) as answer:
        assert answer.status == 400
    assert drained == []


async def test_wrong_tokens_are_logged_now_and_then_and_not_told(http: aiohttp.ClientSession) -> None:
    with capture_logs() as logged:
        for _ in range(5):
            async with http.post("/admin/drain", headers={"Authorization": "Bearer hunter3"}) as answer:
                assert answer.status == 403
    assert [line["event"] for line in logged] == ["admin_refused"]
    assert "hunter" not in str(logged)


async def test_one_connection_that_says_nothing_holds_nobody_up(http: aiohttp.ClientSession) -> None:
    port = http._base_url.port if http._base_url else None
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /admin/drain HTTP/1.1\r\nHost: x\r\n")
    async with http.post("/admin/drain", headers=RIGHT) as answer:
        assert answer.status == 202
    writer.close()
    await writer.wait_closed()
