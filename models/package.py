"""A model package: one immutable version of a model, with all that scoring needs beside the weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pelton.errors import PackageError, PeltonError
from pelton.models.content_hash import ContentHash
from pelton.models.golden import GoldenCase, read_golden
from pelton.models.manifest import Manifest
from pelton.models.package_code import import_file
from pelton.models.protocol import Model
from pelton.models.repository import find_package
from pelton.schemas.codec import EventCodec
from pelton.schemas.input_schema import InputSchema

_VERBS = ("prepare", "forward", "finish")


@dataclass(frozen=True)
class ModelPackage:
    """One version of a model, read and checked but not loaded; reading it needs no torch."""

    manifest: Manifest
    folder: Path
    content: ContentHash
    input_schema: InputSchema
    golden: tuple[GoldenCase, ...]

    @property
    def name(self) -> str:
        """The model's name."""
        return self.manifest.name

    @property
    def version_address(self) -> str:
        """The version with the first 12 hex digits of the content hash, as "1@0a1b2c3d4e5f"."""
        return f"{self.manifest.version}@{self.content.hexdigest[:12]}"

    def codec(self) -> EventCodec:
        """Return a codec that decodes events for this model."""
        return EventCodec(self.input_schema, self.manifest.id_field, self.manifest.time_field)

    def load(self, device: str) -> Model:
        """Import the package's code and construct its model on a device ("auto", "cpu", "cuda", "cuda:N").

        Raises PackageError if the code does not import, the class is absent, lacks a verb or raises, the
        weights do not fit, or the folder has changed since it was read; SettingsError if there is no such
        device.
        """
        module_name, class_name = self.manifest.entry.split(":")
        module = import_file(self.folder, module_name, self.content.hexdigest)
        factory = getattr(module, class_name, None)
        if not callable(factory):
            raise PackageError(f"{self.folder}: {module_name}.py defines no class {class_name}")
        try:
            model = factory(self.folder, device)
        except PeltonError:
            raise
        except Exception as error:
            raise PackageError(f"{self._title} cannot be constructed: {type(error).__name__}: {error}") from error
        self._check(model)
        return cast("Model", model)

    @property
    def _title(self) -> str:
        return f"model {self.name} {self.version_address}"

    def _check(self, model: object) -> None:
        if missing := [verb for verb in _VERBS if not callable(getattr(model, verb, None))]:
            raise PackageError(f"{self._title} has no method {', '.join(missing)}")
        if not self.content.still_describes(self.folder):
            raise PackageError(f"{self._title} was changed while it was loaded; a version must not change")


def load_package(reference: str | Path) -> ModelPackage:
    """Find, read and check a model package, without importing its code.

    `reference` is what `find_package` takes. Raises PackageError if the manifest, the input schema or the
    golden cases are wrong, or a file that the manifest names is absent.
    """
    folder = find_package(str(reference))
    content = ContentHash.of(folder)
    manifest = Manifest.read(folder)
    if folder.parent.name == manifest.name and folder.name != manifest.version:
        raise PackageError(f"{folder} holds version {manifest.version!r} by its manifest, not {folder.name!r}")
    for name in (manifest.weights, manifest.golden):
        if name is not None and not (folder / name).is_file():
            raise PackageError(f"{folder} has no file {name}, which its manifest names")
    golden = read_golden(folder / manifest.golden) if manifest.golden else []
    schema = InputSchema.from_json_schema(manifest.input, manifest.name)
    package = ModelPackage(manifest, folder, content, schema, tuple(golden))
    package.codec()
    return package
