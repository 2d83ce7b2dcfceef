"""`make sbom`: the bill of materials of what ships, as CycloneDX JSON, checked against the schema of that."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name
from shipped import shipped

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "build" / "sbom.cdx.json"


def main() -> int:
    """Write the file; return 0, or 1 when it is no CycloneDX or lacks something that ships."""
    bom = shipped_only(_of_environment(), set(wanted := shipped()))
    told = json.dumps(bom, indent=2)
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(told + "\n")
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(told):
        sys.stderr.write(f"{OUTPUT}: {wrong}\n")
        return 1
    if missing := set(wanted) - {canonicalize_name(each["name"]) for each in bom["components"]}:
        sys.stderr.write(f"{OUTPUT}: lacks {', '.join(sorted(missing))}\n")
        return 1
    sys.stdout.write(f"{OUTPUT.relative_to(ROOT)}: {len(bom['components'])} components\n")
    return 0


def _of_environment() -> dict[str, Any]:
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    command += ["--sv", "1.6", "--output-reproducible", sys.executable]
    bom: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return bom


def shipped_only(bom: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a bill without the components that are in this environment for development only."""
    kept = [each for each in bom["components"] if canonicalize_name(each["name"]) in names]
    known = {each["bom-ref"] for each in kept} | {bom["metadata"]["component"]["bom-ref"]}
    graph = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in known]}
        for each in bom.get("dependencies", ())
        if each["ref"] in known
    ]
    return {**bom, "components": kept, "dependencies": graph}


if __name__ == "__main__":
    sys.exit(main())
