"""The cases that the chart is checked with: each file of values in its ci/ folder, rendered by Helm."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "pelton"
KEPT = ROOT / "tests" / "deploy" / "rendered"
NEWEST = "1.37"
OLDEST = "1.27"
COPIES = ("# Source: pelton/templates/prometheusrule.yaml", "# Source: pelton/templates/dashboard.yaml")
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


@dataclass(frozen=True, slots=True)
class Helm:
    """Helm's program, and a copy of the chart in which links are files: of links Helm warns at every turn."""

    program: str
    chart: Path

    def lint(self, case: Case) -> None:
        """Run `helm lint`; raises CalledProcessError, after Helm's own words, for a warning too."""
        self._run(
            "lint", "--strict", "--quiet", str(self.chart), "--kube-version", NEWEST, "--values", str(case.values)
        )

    def render(self, case: Case, version: str) -> str:
        """Return what Helm makes of the case for one Kubernetes; raises CalledProcessError after Helm's own words."""
        return self._run(*self._template(case, version))

    def refusal(self, case: Case, *settings: str) -> str:
        """Return Helm's words for why it refuses the case with `settings` on top; empty when it takes them."""
        extra = [word for each in settings for word in ("--set-json", each)]
        command = [self.program, *self._template(case, NEWEST), *extra]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr if done.returncode else ""

    def _template(self, case: Case, version: str) -> list[str]:
        where = ["--namespace", "scoring", "--kube-version", version]
        return ["template", "score", str(self.chart), *where, "--values", str(case.values)]

    def _run(self, *words: str) -> str:
        return subprocess.run([self.program, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


@contextmanager
def helm(program: str) -> Iterator[Helm]:
    """Give Helm the chart."""
    with tempfile.TemporaryDirectory() as folder:
        yield Helm(program, Path(shutil.copytree(CHART, Path(folder) / "pelton")))


def kept_part(text: str) -> str:
    """Return a render without the copies of files that lie elsewhere in deploy/ and change by themselves."""
    first, *parts = text.split("---\n")
    return "---\n".join([first, *(part for part in parts if not part.startswith(COPIES))])
