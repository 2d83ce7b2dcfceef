"""Probes while workers come and go, the broker restarts, and models take long, keep the interpreter or hang."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pelton.local_kafka import LocalKafka
from tests.broker.conftest import PACKAGES
from tests.broker.outside import Outside
from tests.broker.prober import Answer, Prober, late, net_s
from tests.broker.served import eventually
from tests.chain.broker_fault import skipped_an_end, spoilt_by, unspoilt
from tests.chain.probe_judge import by_name, explains, unexplained
from tests.chain.probe_scene import Company, Drip, Form, name
from tests.chain.storm_crew import Crew
from tests.chain.storm_flow import Flow
from tests.chain.storm_scene import FINISHED_S, Scene

QUICK = {"sink_failing_s": 2, "lag_window_s": 10, "unready_after_s": 2, "ready_after_s": 3}
"""Less than a broker takes to start, and than the longest batch."""
SHORT = Form(lasts_s=28, batch_s=5, python_s=4, away_s=0, stall_s=7)
LONG = Form(lasts_s=120, batch_s=20, python_s=20, away_s=12, stall_s=30)

Tell = Callable[[str, object], None]
OwnKafka = Callable[..., LocalKafka]


@pytest.mark.timeout(150, func_only=True)
def test_b13_b17_half_a_minute_of_trouble_and_every_probe_tells_the_truth(
    own_kafka: OwnKafka, tmp_path: Path, record_property: Tell
) -> None:
    company, prober = suffer(own_kafka(), "at-least-once", SHORT, tmp_path)
    check_hang(company)
    check_probes(company, prober, record_property)


@pytest.mark.chaos
@pytest.mark.timeout(800, func_only=True)
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_b13_b17_two_minutes_of_trouble_and_every_probe_tells_the_truth(
    own_kafka: OwnKafka, tmp_path: Path, record_property: Tell, delivery: str
) -> None:
    def run(folder: Path) -> tuple[Company, Prober]:
        kafka = own_kafka()
        with spoilt_by(lambda: skipped_an_end(kafka)):
            return suffer(kafka, delivery, LONG, folder)

    company, prober = unspoilt(run, tmp_path)
    check_hang(company)
    dips = check_probes(company, prober, record_property)
    away = next(event for event in company.events if event.kind == "broker")
    without_broker = {dip.name for dip in dips if explains(away, dip)}
    assert without_broker >= {name(served) for served in company.residents}


def suffer(kafka: LocalKafka, delivery: str, form: Form, folder: Path) -> tuple[Company, Prober]:
    """Let it all happen, and find every event scored afterwards."""
    with Outside(kafka.bootstrap) as outside:
        scene = Scene(outside, delivery)
        drip, flow = Drip(kafka.bootstrap, scene.source), Flow(kafka.bootstrap, scene.sink)

        def settings(number: int) -> dict[str, Any]:
            own = {"model": str(PACKAGES / "obedient" / "1"), "drain_s": 2 * form.batch_s}
            return scene.settings(number) | own | {"health": {"stall_s": form.stall_s, **QUICK}}

        with Crew(settings, folder) as crew, Prober(folder) as prober:
            company = Company(crew, prober, drip, flow, kafka, folder)
            drip.start()
            flow.start()
            company.suffer(form)
            drip.end()
            eventually(lambda: outside.finished(scene.group, scene.source), FINISHED_S, crew.logs)
            company.dismiss()
        flow.over.set()
        flow.join(FINISHED_S)
        drip.check(outside.scores(scene.sink), once=delivery == "exactly-once")
    return company, prober


def check_hang(company: Company) -> None:
    """Find that the process which hung was replaced, and no other one."""
    (hung, pid), starts = company.hung, company.starts()
    (told,) = [line for served in company.everybody for line in served.log("worker_hangs")]
    assert (told["pid"], told["reason"].split(" for ")[0]) == (pid, "the batch in the model has not ended")
    assert starts == {each: 1 + (each is hung) for each in starts}


def check_probes(company: Company, prober: Prober, tell: Tell) -> list[Answer]:
    """Judge the answers; tell figures of them, so that a run without trouble is seen to be one.

    Returns the times of not being ready.
    """
    answers, stalls = prober.found()
    records = by_name(answers, company.events)
    dips = [dip for record in records.values() for dip in record.dips()]
    tell("answers", dict(Counter(f"{answer.probe} {answer.status}" for answer in answers)))
    tell("slowest_s", round(max(net_s(answer, stalls) for answer in answers), 3))
    tell("prober_stood_still_s", round(sum(stall.to_s - stall.from_s for stall in stalls), 3))
    tell("dips", [(dip.name, dip.reasons) for dip in dips])
    assert records.keys() == {name(served) for served in company.everybody}
    assert [wrong for record in records.values() for wrong in record.wrong()] == []
    assert [dip for record in records.values() for dip in unexplained(record.dips(), company.events)] == []
    assert late(answers, stalls) == []
    assert [pause for record in records.values() for pause in record.pauses(stalls)] == []
    return dips
