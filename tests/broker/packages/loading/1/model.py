"""A model that takes ten minutes to load, and says when it begins."""

import json
import sys
import time

LOADS_S = 600


class Loading:
    def __init__(self, package_dir, device):
        sys.stderr.write(json.dumps({"event": "loads"}) + "\n")
        time.sleep(LOADS_S)

    def prepare(self, events):
        return events

    def forward(self, inputs):
        return inputs

    def finish(self, outputs):
        return outputs
