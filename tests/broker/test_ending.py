"""Workers that are told to stop in the middle of their work."""

import signal

from .conftest import Serve
from .outside import Hold, Outside, Record, event
from .served import COMMITS_S, Served


def test_b10_stopped_in_mid_batch_finishes_it_commits_leaves_and_a_restart_completes_the_rest(
    serve: Serve, outside: Outside, hold: Hold
) -> None:
    served = serve(drain_s=10, batch={"max_size": 32})
    wishes = {5: {"hold": hold.file}}
    sent = outside.send(served.source, *(Record(event(x, **wishes.get(x, {}))) for x in range(100)))
    served.eventually(hold.reached)
    served.tell(signal.SIGTERM)
    served.eventually(lambda: served.health("ready")[0] == 503, within_s=1)
    assert served.health("live")[0] == 200
    hold.release()
    assert served.ended(within_s=9) == 0
    done = outside.committed(served.group, served.source)[0]
    assert done > 5
    assert sorted(outside.scores(served.sink)) == sent[:done]
    assert outside.members(served.group) == set()
    assert "Traceback" not in served.log_text()

    again = serve(settings=served.settings)
    again.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {at: [2.0 * x] for x, at in enumerate(sent)}
    _stopped_twice(again, outside, Hold(hold.folder))


def _stopped_twice(served: Served, outside: Outside, hold: Hold) -> None:
    """Nothing of a batch that does not end is committed, and nobody waits for it after a second signal."""
    (stuck,) = outside.send(served.source, Record(event(1, hold=hold.file)))
    served.eventually(hold.reached)
    served.eventually(lambda: served.age_s("batch") > COMMITS_S)
    served.tell(signal.SIGTERM)
    served.eventually(lambda: any("waiting" in line for line in served.log("draining")))
    assert served.stop(signal.SIGTERM, within_s=4) == 0
    assert outside.committed(served.group, served.source) == {0: stuck.offset}
    assert stuck not in outside.scores(served.sink)
    assert outside.members(served.group) == set()
