"""The supervisor with real worker processes that carry no model: fake_worker.py."""

import asyncio
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from pelton import supervisor as supervisor_module
from pelton.deadline import Deadline
from pelton.errors import SettingsError
from pelton.schemas.settings import Settings
from pelton.supervisor import Supervisor

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")
PATIENCE_S = 20.0


def settings(**changes: Any) -> Settings:
    return Settings(
        **{
            "model": "flight-delay",
            "stream": {"topics": ["flights"], "group": "g", "sink": "scores"},
            "sidecar": {"port": 0},
            "restart": {"first_s": 0.02, "max_s": 0.05},
            "drain_s": 10.0,
            **changes,
        }
    )


class Client:
    """Asks a running supervisor's sidecar."""

    def __init__(self, http: aiohttp.ClientSession, supervisor: Supervisor) -> None:
        self.http, self.supervisor = http, supervisor

    async def text(self, path: str) -> tuple[int, str]:
        async with self.http.get(f"http://127.0.0.1:{self.supervisor.sidecar.port}{path}") as answer:
            return answer.status, await answer.text()

    async def health(self, name: str) -> tuple[int, list[str]]:
        async with self.http.get(f"http://127.0.0.1:{self.supervisor.sidecar.port}/health/{name}") as answer:
            return answer.status, (await answer.json())["reasons"]

    async def workers(self) -> list[dict[str, Any]]:
        async with self.http.get(f"http://127.0.0.1:{self.supervisor.sidecar.port}/status") as answer:
            return list((await answer.json())["workers"])


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    deadline = Deadline.after(PATIENCE_S)
    while not await condition():
        assert not deadline.expired, "it did not come to pass"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def serving(*conduct: str, **changes: Any) -> AsyncIterator[tuple[Client, asyncio.Task[int]]]:
    command = conduct if len(conduct) > 1 else (sys.executable, str(FAKE_WORKER), *conduct)
    supervisor = Supervisor(settings(**changes), command)
    task = asyncio.create_task(supervisor.serve())
    async with aiohttp.ClientSession() as http:

        async def listening() -> bool:
            return bool(supervisor.sidecar.port) or task.done()

        await until(listening)
        try:
            yield Client(http, supervisor), task
        finally:
            supervisor.stop()
            for keeper in supervisor._keepers:
                keeper.kill()
            await asyncio.wait({task})


async def all_ready(client: Client) -> bool:
    return (await client.health("ready"))[0] == 200


async def test_workers_become_ready_show_up_and_end_cleanly() -> None:
    async with serving("serve", workers=2) as (client, task):
        assert (await client.health("ready"))[0] == 503
        await until(lambda: all_ready(client))
        assert (await client.health("startup"))[0] == (await client.health("live"))[0] == 200
        first, second = await client.workers()
        assert (first["worker"], second["worker"], first["state"]) == (0, 1, "ready")
        assert first["pid"] not in {second["pid"], None, os.getpid()}
        client.supervisor.stop()
        assert await client.health("ready") == (503, ["the supervisor is draining"])
        assert await task == 0


async def test_a_worker_shows_up_and_its_series_vanish_with_it() -> None:
    async with serving("serve", restart={"first_s": 60, "max_s": 60}) as (client, task):

        async def scored() -> bool:
            return 'pelton_scored_total{worker="0"} 7.0' in (await client.text("/metrics"))[1]

        async def gone() -> bool:
            return (await client.workers())[0]["state"] == "restarting"

        await until(scored)
        [worker] = await client.workers()
        assert worker["model"] == {"name": "flight-delay", "version": "1@abc", "device": "cpu"}
        held = {"topic": "flights", "partition": 0, "position": 10, "committed": 8}
        unknown = {"lag": 2, "lag_s": None, "drain_s": None, "verdict": "unknown", "reason": ""}
        assert worker["partitions"] == [held | unknown]
        assert worker["lag"] == {"verdict": "ok", "reason": "", "unready": ""}
        os.kill(worker["pid"], signal.SIGKILL)
        await until(gone)
        assert "pelton_scored_total" not in (await client.text("/metrics"))[1]
        assert "worker 0 is restarting: killed by SIGKILL" in (await client.health("ready"))[1]
        assert (await client.health("live"))[0] == 200
        client.supervisor.stop()
        assert await task == 0, "a stop must not wait for the end of the back-off"


async def test_the_gpu_of_a_worker_shows_by_its_uuid_and_its_series_vanish_with_the_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 6 of 8 bytes in use, a quarter of the time at work; another GPU is there as well.
    memory = {"GPU-other": (1, 2), "GPU-aaaa-bbbb": (6, 8)}
    nvml = SimpleNamespace(
        NVMLError=LookupError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID=lambda uuid: memory[uuid],
        nvmlDeviceGetMemoryInfo=lambda device: SimpleNamespace(used=device[0], total=device[1]),
        nvmlDeviceGetUtilizationRates=lambda _: SimpleNamespace(gpu=25),
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    async with serving("compute=aaaa-bbbb", restart={"first_s": 60, "max_s": 60}) as (client, _):

        async def lines() -> set[str]:
            return {line for line in (await client.text("/metrics"))[1].splitlines() if line.startswith("pelton_gpu")}

        async def shown() -> bool:
            return len(await lines()) == 3

        async def gone() -> bool:
            return not await lines()

        await until(shown)
        assert await lines() == {
            'pelton_gpu_memory_used_bytes{gpu="aaaa-bbbb",worker="0"} 6.0',
            'pelton_gpu_memory_total_bytes{gpu="aaaa-bbbb",worker="0"} 8.0',
            'pelton_gpu_busy_ratio{gpu="aaaa-bbbb",worker="0"} 0.25',
        }
        os.kill((await client.workers())[0]["pid"], signal.SIGKILL)
        await until(gone)


async def test_a_crash_loop_goes_on_and_is_told() -> None:
    async with serving("sh", "-c", "exit 3") as (client, _):

        async def looping() -> bool:
            return any("crash loop" in reason for reason in (await client.health("ready"))[1])

        await until(looping)
        [worker] = await client.workers()
        assert worker["restarts"] >= 2
        restarts = re.search(r'pelton_restarts_total\{worker="0"\} (\d+)', (await client.text("/metrics"))[1])
        assert restarts
        assert int(restarts[1]) >= 2
        assert (await client.health("live"))[0] == 200


async def test_a_first_start_that_refuses_its_settings_ends_everything() -> None:
    async with serving("refuse") as (_, task):
        with pytest.raises(SettingsError, match="no package 'nowhere'"):
            await task


def test_b60_a_worker_whose_identity_was_taken_is_not_started_into_a_duel(tmp_path: Path) -> None:
    conduct = f"fenced_once={tmp_path / 'fenced'}"
    supervisor = Supervisor(settings(workers=2), (sys.executable, str(FAKE_WORKER), conduct))
    assert supervisor.run() == 4
    told = [worker["reason"] for worker in supervisor.describe()["workers"]]
    assert "another process took over" in told
    assert [worker["restarts"] for worker in supervisor.describe()["workers"]] == [0, 0]


def test_why_a_start_was_refused_is_logged_once() -> None:
    with capture_logs() as lines:
        assert Supervisor(settings(), (sys.executable, str(FAKE_WORKER), "refuse")).run() == 2
    [told] = [line for line in lines if "nowhere" in str(line) and line["log_level"] != "debug"]
    assert (told["event"], told["reason"]) == ("cannot_serve", "model: there is no package 'nowhere'")


def test_an_address_in_use_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        supervisor = Supervisor(settings(sidecar={"port": port}), ("false",))
        with pytest.raises(SettingsError, match=rf"127\.0\.0\.1:{port}: another process listens there"):
            asyncio.run(supervisor.serve())
        assert Supervisor(settings(sidecar={"port": port}), ("false",)).run() == 2


async def test_b10_whoever_outlasts_the_grace_is_killed() -> None:
    async with serving("deaf", drain_s=0.1) as (client, task):
        await until(lambda: all_ready(client))
        client.supervisor.stop()
        assert await task == 1
        assert client.supervisor.describe()["workers"][0]["reason"] == "killed by SIGKILL"


async def test_b10_a_second_signal_shortens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_module, "_HURRY_S", 0.1)
    async with serving("deaf", drain_s=PATIENCE_S * 2) as (client, task):
        await until(lambda: all_ready(client))
        client.supervisor.stop()
        client.supervisor.stop()
        assert await asyncio.wait_for(task, PATIENCE_S) == 1


async def test_b05_a_hanging_worker_is_replaced(tmp_path: Path) -> None:
    async with serving(f"hang_once={tmp_path / 'marker'}", health={"stall_s": 0.5}, drain_s=0.1) as (client, _):

        async def replaced() -> bool:
            return (await client.workers())[0]["restarts"] == 1 and await all_ready(client)

        await until(replaced)
        assert (await client.health("live"))[0] == 200


async def test_b05_not_live_once_the_replacement_hangs_as_well() -> None:
    async with serving("hang", health={"stall_s": 0.3}, drain_s=0.1) as (client, _):

        async def dead() -> bool:
            return (await client.health("live"))[0] == 503

        await until(dead)
        assert (await client.workers())[0]["restarts"] == 1
        assert "replacing it did not help" in (await client.health("live"))[1][0]


async def test_b13_probes_answer_at_once_while_workers_hold_the_lock_or_stand_still() -> None:
    async with serving("spin", workers=2, drain_s=0.1) as (client, _):
        await until(lambda: all_ready(client))
        os.kill((await client.workers())[0]["pid"], signal.SIGSTOP)
        for path in ("/health/live", "/health/ready", "/metrics", "/status") * 3:
            began_s = time.monotonic()
            assert (await client.text(path))[0] == 200
            assert time.monotonic() - began_s < 0.5


PROGRAM = """
import sys
from pelton.schemas.settings import Settings
from pelton.supervisor import Supervisor
code = Supervisor(Settings.from_json(sys.argv[1]), sys.argv[2:]).run()
print("torch" in sys.modules, flush=True)
raise SystemExit(code)
"""


def start(conduct: str, port: int) -> subprocess.Popen[str]:
    told = settings(sidecar={"port": port}).to_json()
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, told, sys.executable, str(FAKE_WORKER), conduct],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@asynccontextmanager
async def process(conduct: str) -> AsyncIterator[tuple[subprocess.Popen[str], int]]:
    """Run a supervisor as its own process; yield it and the pid of its worker once that is ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = start(conduct, port)
    try:
        yield running, await ready_pid(port)
    finally:
        running.kill()
        running.communicate()


async def ready_pid(port: int) -> int:
    found: list[dict[str, Any]] = []

    async def ready() -> bool:
        try:
            async with http.get(f"http://127.0.0.1:{port}/status") as answer:
                found[:] = (await answer.json())["workers"]
        except aiohttp.ClientConnectionError:
            return False
        return found[0]["state"] == "ready"

    async with aiohttp.ClientSession() as http:
        await until(ready)
    return int(found[0]["pid"])


async def test_sigterm_ends_with_zero_and_without_torch() -> None:
    async with process("serve") as (running, _):
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=PATIENCE_S)
        assert (running.returncode, output.splitlines()[-1]) == (0, "False")


async def test_no_worker_outlives_a_supervisor_that_is_killed() -> None:
    async with process("spin") as (running, pid):
        watch = os.pidfd_open(pid)
        try:
            running.kill()
            ended, _, _ = select.select([watch], [], [], PATIENCE_S)
            assert ended
        finally:
            os.close(watch)


async def test_whoever_has_the_token_can_drain_and_a_repeat_hurries_nobody() -> None:
    token = "a-token-of-some-length"
    async with serving("serve", admin={"port": 0, "token": token}) as (client, task):
        assert client.supervisor.admin is not None
        await until(lambda: all_ready(client))
        drain = f"http://127.0.0.1:{client.supervisor.admin.port}/admin/drain"
        async with client.http.post(drain) as answer:
            assert answer.status == 401
        assert await all_ready(client)
        for _ in range(2):
            async with client.http.post(drain, headers={"Authorization": f"Bearer {token}"}) as answer:
                assert (answer.status, await answer.json()) == (202, {"state": "draining"})
        assert not client.supervisor._hurry.is_set()
        assert await task == 0


async def test_the_sidecar_has_no_admin_routes() -> None:
    async with serving("serve", admin={"port": 0, "token": "a-token-of-some-length"}) as (client, _):
        for path in ("/admin", "/admin/drain"):
            address = f"http://127.0.0.1:{client.supervisor.sidecar.port}{path}"
            async with client.http.post(address, headers={"Authorization": "Bearer a-token-of-some-length"}) as answer:
                assert answer.status == 404
