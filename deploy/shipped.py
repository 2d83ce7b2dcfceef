"""What is installed along with Pelton: the distributions that its extras need, by the metadata of this environment."""

from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("serve", "local", "replay")


def shipped(extras: Iterable[str] = EXTRAS) -> dict[str, str]:
    """Return name and version of every distribution that `pelton` with these extras needs, itself left out."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [("pelton", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found[name] = distribution(name).version
        except PackageNotFoundError:
            continue  # needed on other platforms only
        waiting += _needs(name, extra)
    del found["pelton"]
    return dict(sorted(found.items()))


def _needs(name: str, extra: str) -> Iterator[tuple[str, str]]:
    for line in distribution(name).requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(needed.name), each) for each in ("", *needed.extras))
