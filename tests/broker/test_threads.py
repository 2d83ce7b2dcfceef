"""How many cores a worker's model takes."""

from .conftest import Serve
from .outside import Outside, Record, event


def test_the_model_computes_with_as_many_threads_as_are_set(serve: Serve, outside: Outside) -> None:
    """`torch.set_num_threads` counts for the thread that calls it, which is not the one that scores."""
    served = serve(model="threads", threads=3)
    (sent,) = outside.send(served.source, Record(event(1)))
    served.eventually(lambda: outside.finished(served.group, served.source))
    assert outside.scores(served.sink) == {sent: [3.0]}
