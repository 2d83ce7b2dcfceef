"""A Java program with Spring Kafka's ReplyingKafkaTemplate, and nothing of ours in it, asks a served model."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.broker.asked import desk
from tests.broker.conftest import Serve
from tests.broker.outside import Outside

HERE = Path(__file__).parent
N = 200


@pytest.mark.interop
@pytest.mark.timeout(300, func_only=True)
def test_a_spring_kafka_caller_is_answered(
    serve: Serve, outside: Outside, topic_factory: Callable[..., str], tmp_path: Path
) -> None:
    asked = desk(serve, topic_factory, outside)
    arguments = " ".join(map(str, (outside.brokers, asked.requests, asked.replies, N)))
    build = [f"-DbuildDirectory={tmp_path}", "-q", "-B", "-f", str(HERE / "pom.xml")]
    command = ["mvn", *build, "compile", "exec:java", f"-Dexec.args={arguments}"]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout
    said = re.findall(r"(group|partition) (\d+) (\d+) (\{.*\})", done.stdout)  # Maven colours the first line
    answers = [(way, int(number), json.loads(value)) for way, number, _, value in said]
    assert [(way, number, told["data"]) for way, number, told in answers] == [
        (way, number, 2 * number) for way in ("group", "partition") for number in range(N)
    ]
    assert {told["code"] for _, _, told in answers} == {"ok"}
    assert {partition for way, _, partition, _ in said if way == "partition"} == {"2"}
    served = asked.served
    served.eventually(lambda: outside.finished(asked.group, asked.requests))
