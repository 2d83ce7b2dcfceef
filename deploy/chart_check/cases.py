"""The cases that the chart is checked with: each file of values in its ci/ folder, rendered by Helm."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "pelton"
KEPT = ROOT / "tests" / "deploy" / "rendered"
NEWEST = "1.37"
OLDEST = "1.27"
# A model image as a volume needs a younger Kubernetes than the rest of the chart.
_OLDEST = {"keda-scale": "1.33"}


@dataclass(frozen=True, slots=True)
class Case:
    """One file of values."""

    name: str

    @property
    def values(self) -> Path:
        """The file of values."""
        return CHART / "ci" / f"{self.name}-values.yaml"

    @property
    def kept(self) -> Path:
        """The render that lies beside the tests."""
        return KEPT / f"{self.name}.yaml"

    @property
    def versions(self) -> tuple[str, str]:
        """The oldest and the newest Kubernetes that it is rendered for."""
        return _OLDEST.get(self.name, OLDEST), NEWEST


def cases() -> list[Case]:
    """Return every case, by name."""
    return [Case(path.name.removesuffix("-values.yaml")) for path in sorted((CHART / "ci").glob("*-values.yaml"))]


def lint(helm: str, case: Case) -> None:
    """Run `helm lint`; raises CalledProcessError, after Helm's own words, for a warning too."""
    _run(helm, "lint", "--strict", "--quiet", str(CHART), "--kube-version", NEWEST, "--values", str(case.values))


def render(helm: str, case: Case, version: str) -> str:
    """Return what Helm makes of the case for one Kubernetes; raises CalledProcessError after Helm's own words."""
    command = ("template", "score", str(CHART), "--namespace", "scoring", "--kube-version", version)
    return _run(helm, *command, "--values", str(case.values))


def refusal(helm: str, case: Case, *settings: str) -> str:
    """Return Helm's words for why it refuses the case with `settings` on top; empty when it takes them."""
    extra = [word for each in settings for word in ("--set-json", each)]
    command = [helm, "template", "score", str(CHART), "--kube-version", NEWEST, "--values", str(case.values)]
    done = subprocess.run([*command, *extra], capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def _run(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
