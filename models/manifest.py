"""The manifest of a model package: `model.yaml`."""

import re
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import ErrorDetails

from pelton.errors import PackageError
from pelton.schemas.settings_problems import no_such, paths
from pelton.schemas.yaml_loader import SafeLoader

MANIFEST_NAME = "model.yaml"

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)]
_ENTRY = re.compile(r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")


class BatchShapes(StrEnum):
    """Which batch sizes a model is called with; other sizes are padded up."""

    ANY = "any"
    POWERS_OF_TWO = "powers-of-two"
    FIXED = "fixed"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Batching(_Part):
    """How batches for this model may look."""

    shapes: BatchShapes = BatchShapes.ANY


class Manifest(_Part):
    """What `model.yaml` says about one version of a model.

    `finite_inputs: false` is for models that take NaN for a missing value: prepared inputs are then not
    checked. `tolerance` is how far a golden score may be off, absolute and relative.
    """

    name: Name
    version: Name
    entry: str
    weights: str | None = None
    input: dict[str, Any]
    output: dict[str, Any]
    id_field: str | None = None
    time_field: str | None = None
    batching: Batching = Batching()
    golden: str | None = None
    tolerance: float = Field(default=1e-6, ge=0, allow_inf_nan=False)
    finite_inputs: bool = True

    @field_validator("version", mode="before")
    @classmethod
    def _version_is_text(cls, version: Any) -> Any:
        if isinstance(version, int) and not isinstance(version, bool):
            return str(version)
        if isinstance(version, float):
            # YAML reads 1.10 as 1.1: the text that was meant is lost.
            raise ValueError(f'put it in quotes, as in version: "{version}"; YAML reads a bare one as a number')
        return version

    @field_validator("entry")
    @classmethod
    def _entry_names_a_class(cls, entry: str) -> str:
        if not _ENTRY.match(entry):
            raise ValueError('must be "file:Class", as in "model:FlightDelay"')
        return entry

    @field_validator("weights", "golden")
    @classmethod
    def _stays_inside(cls, name: str | None) -> str | None:
        if name is not None:
            path = PurePosixPath(name)
            if not path.parts or path.is_absolute() or ".." in path.parts:
                raise ValueError("must name a file inside the package folder")
        return name

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of the package in `folder`.

        Raises PackageError if it is absent, is not YAML, or has a wrong, missing or unknown field; each is
        named.
        """
        path = folder / MANIFEST_NAME
        try:
            content = yaml.load(path.read_text(encoding="utf-8"), Loader=SafeLoader)
        except FileNotFoundError:
            raise PackageError(f"{folder} is not a model package: it has no {MANIFEST_NAME}") from None
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise PackageError(f"{path} cannot be read: {error}") from error
        if not isinstance(content, dict):
            raise PackageError(f"{path} must hold a mapping, not {type(content).__name__}")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise PackageError(f"{path} is wrong: {_problems(error)}") from None


def _problems(error: ValidationError) -> str:
    return "; ".join(map(_line, error.errors(include_url=False)))


def _line(problem: ErrorDetails) -> str:
    place = ".".join(map(str, problem["loc"])) or "manifest"
    if problem["type"] == "extra_forbidden":
        return f"{place}: {no_such(place, paths(Manifest), 'key')}"
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}"
