"""Stands in for the process that asks the broker: prints the lines of a file once told its settings, then waits."""

import json
import sys
import time
from pathlib import Path

given = json.loads(sys.stdin.read())
assert given["scale"]["every_s"] == 15
script = Path(sys.argv[1])
for line in script.read_text().splitlines():
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
with script.with_suffix(".starts").open("a") as starts:
    starts.write("again\n")
if sys.argv[2:] != ["die"]:
    time.sleep(60)
