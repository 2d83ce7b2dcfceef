"""`make audit`: what is known against the distributions that ship, and which of them nobody could be asked about.

pip-audit calls a package that its service does not know, or does not answer about, skipped, and ends with 0. Here that
ends with 2: an audit that did not happen is none. Arguments go to pip-audit, such as `-s osv`.
"""

import json
import subprocess
import sys
import tempfile
from typing import Any

from shipped import shipped

FOUND, NOT_AUDITED = 1, 2


def main(arguments: list[str]) -> int:
    """Return 0 when all was audited and nothing is known, 1 when something is, 2 when something was not audited."""
    wanted = shipped()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.writelines(f"{name}=={version.partition('+')[0]}\n" for name, version in wanted.items())
        pins.flush()
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--format",
            "json",
            "--progress-spinner",
            "off",
            "--timeout",
            "10",
        ]
        command += ["--no-deps", "--disable-pip", "-r", pins.name, *arguments]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    try:
        answers: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no word of why"])[-1]
        sys.stderr.write(f"not audited: pip-audit could not ask its service: {last}\n")
        return NOT_AUDITED
    return report(answers, set(wanted))


def report(answers: list[dict[str, Any]], wanted: set[str]) -> int:
    """Tell what was answered, and return the exit code."""
    known = [(each, vulnerability) for each in answers for vulnerability in each.get("vulns", ())]
    for each, vulnerability in known:
        fixed = ", ".join(vulnerability["fix_versions"]) or "no version yet"
        sys.stdout.write(f"{each['name']} {each['version']}: {vulnerability['id']}, fixed in {fixed}\n")
    audited = {each["name"] for each in answers if "vulns" in each}
    missed = sorted(wanted - audited)
    sys.stdout.write(f"{len(audited)} of {len(wanted)} distributions audited, {len(known)} vulnerabilities known\n")
    if missed:
        sys.stderr.write(f"not audited, as the service does not answer about them: {', '.join(missed)}\n")
    return FOUND if known else NOT_AUDITED if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
