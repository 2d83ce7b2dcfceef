"""What is to be said of a partition's lag: the first rule that holds, of a table in order.

The rules are Burrow's (https://github.com/linkedin/Burrow/wiki/Consumer-Lag-Evaluation-Rules), for a reader that knows
more of itself than its commits: whether it polls, whether its model is at work, and where it stands each second.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from pelton.consumers.lag_window import GAP_S, LagWindow
from pelton.states import LagState

STOP_S = 10.0
"""A poll loop that has been silent for so many seconds polls no more."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What is known of a partition at the moment `now_s` of the monotonic clock; without more, of one that is fine."""

    window: LagWindow
    now_s: float
    in_hand: int = 0
    """Records polled that have no outcome yet."""
    rebalancing: bool = False
    silent_s: float = 0.0
    """How long ago the poll loop last came round."""
    at_work: bool = False
    """Whether the model has a batch that is not older than it may be, or had one just now."""

    @property
    def full(self) -> bool:
        """Whether the window has all its samples."""
        return self.window.span_s(self.now_s) >= self.window.window_s

    @property
    def waits_for_model(self) -> bool:
        """Whether the partition can only wait: its records, or the room for them, are behind a model at work."""
        return self.at_work and (self.in_hand > 0 or self.window.held_back)


class Rule(NamedTuple):
    """One line of the table."""

    name: str
    state: LagState
    holds: Callable[[Scene], bool]
    when: str
    """When it holds, for the documentation; `{window}` stands for the setting."""
    reason: str
    """What `/status` says, filled from the scene."""


RULES = (
    Rule(
        "no-end",
        LagState.UNKNOWN,
        lambda scene: scene.window.age_s(scene.now_s) > GAP_S,
        f"no broker has told for {GAP_S:g} s where the partition ends",
        "nobody has told where the partition ends",
    ),
    Rule(
        "empty",
        LagState.OK,
        lambda scene: scene.window.records == 0,
        "nothing is left to read",
        "nothing is left to read",
    ),
    Rule(
        "rebalance",
        LagState.OK,
        lambda scene: scene.rebalancing,
        "partitions have left, and the group has not said yet which come instead",
        "partitions are moving",
    ),
    Rule(
        "silent",
        LagState.STOP,
        lambda scene: scene.silent_s > STOP_S,
        f"the poll loop has not come round for {STOP_S:g} s",
        "the poll loop has been silent for {silent_s:.0f} s, with {records} records left",
    ),
    Rule(
        "set-back",
        LagState.REWIND,
        lambda scene: scene.window.set_back > 0,
        "within {window} the worker stood further on than it does now",
        "the worker stands {set_back} offsets before where it stood, with {records} records left",
    ),
    Rule(
        "caught-up",
        LagState.OK,
        lambda scene: scene.window.caught_up,
        "nothing was left to read at some moment of {window}",
        "it has caught up of late",
    ),
    Rule(
        "young",
        LagState.OK,
        lambda scene: not scene.full,
        "the partition came, or the broker came back, less than {window} ago",
        "it has been followed for {span_s:.0f} s only",
    ),
    Rule(
        "waits",
        LagState.OK,
        lambda scene: not scene.window.moved and scene.waits_for_model,
        "nothing was finished, but records, or the room for them, wait for a model at work: its batch is younger than "
        "`health.stall_s`, or ended just now",
        "{records} records wait for the batch in the model",
    ),
    Rule(
        "stands",
        LagState.STALL,
        lambda scene: not scene.window.moved,
        "nothing was finished over all of {window}",
        "none of {records} records was finished in {span_s:.0f} s",
    ),
    Rule(
        "grows",
        LagState.WARN,
        lambda scene: not scene.window.shrank,
        "records were finished, but the lag never shrank from one second to the next",
        "the lag of {records} records never shrank in {span_s:.0f} s",
    ),
    Rule(
        "shrinks",
        LagState.OK,
        lambda _: True,
        "records are finished, and the lag shrinks now and then",
        "records are finished, {records} are left",
    ),
)
"""Every rule; the first that holds counts, and the last always does."""


def judge(scene: Scene) -> tuple[LagState, str]:
    """Return what is to be said of a partition, and why."""
    rule = next(rule for rule in RULES if rule.holds(scene))
    window = scene.window
    return rule.state, rule.reason.format(
        records=window.records,
        set_back=window.set_back,
        span_s=window.span_s(scene.now_s),
        silent_s=scene.silent_s,
    )
