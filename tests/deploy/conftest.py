"""The checks of deploy/ are scripts, not part of the package: the tests find them beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy"))
