"""`pelton serve` around another worker: python serve_as.py WORKER.py [ARGUMENT...] --config FILE."""

import sys
from pathlib import Path

from pelton.logs import configure_logs
from pelton.schemas.settings import load_settings
from pelton.supervisor import Supervisor


def main() -> int:
    *worker, _, config = sys.argv[1:]
    settings = load_settings(Path(config), {})
    configure_logs(settings.log.level, settings.log.format)
    return Supervisor(settings, (sys.executable, *worker)).run()


if __name__ == "__main__":
    sys.exit(main())
