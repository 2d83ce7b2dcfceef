"""Read the rows of CSV, JSON Lines and Parquet files as JSON events, never a whole file at a time."""

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from pelton.errors import SourceFileError

_LONGEST_LINE = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_BROKEN_UP = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+([eE][+-]?[0-9]+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False}


class Row(NamedTuple):
    """One row: its number in the file from 1, its fields, and the JSON object that is sent."""

    number: int
    fields: dict[str, Any]
    value: bytes


class SourceFile:
    """A file of events, read once from its start.

    The format goes by the ending: .csv, .jsonl or .ndjson, .parquet. Empty CSV cells and Parquet
    nulls become absent fields; a CSV cell that is written as JSON would write a number or a boolean
    becomes one, except in the columns named in `text`. Raises SourceFileError, with the line.
    """

    def __init__(self, path: Path, text: Iterable[str] = ()) -> None:
        readers: dict[str, Callable[[], Iterator[Row]]] = {
            ".csv": self._csv,
            ".jsonl": self._jsonl,
            ".ndjson": self._jsonl,
            ".parquet": self._parquet,
        }
        if path.suffix.lower() not in readers:
            raise SourceFileError(f"{path}: the name must end in one of {', '.join(readers)}")
        if not path.is_file():
            raise SourceFileError(f"{path}: {'not a file' if path.exists() else 'no such file'}")
        self.path = path
        self.fraction = 0.0
        self._text = frozenset(text)
        self._encode = msgspec.json.Encoder(decimal_format="number", enc_hook=_iso).encode
        self._read = readers[path.suffix.lower()]
        if self._text and self._read != self._csv:
            raise SourceFileError(f"{path}: only columns of a CSV file can be kept as text")

    def rows(self) -> Iterator[Row]:
        """Yield the rows in file order; `fraction` tells meanwhile how much of the file is read."""
        try:
            yield from self._read()
        except OSError as error:
            raise SourceFileError(f"{self.path}: {error.strerror or error}") from error
        self.fraction = 1.0

    def _jsonl(self) -> Iterator[Row]:
        decoder = msgspec.json.Decoder()
        for number, line in self._lines():
            value = line.strip()
            if not value:
                continue
            try:
                fields = decoder.decode(value)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise self._at(number, f"not JSON: {error}") from error
            if not isinstance(fields, dict):
                raise self._at(number, "not a JSON object")
            yield Row(number, fields, value)

    def _csv(self) -> Iterator[Row]:
        reader = csv.reader(self._text_lines(), strict=True)
        names = self._next(reader)
        if not names:
            raise self._at(1, "no header line")
        if len(set(names)) < len(names):
            raise self._at(1, "two columns have one name")
        if absent := sorted(self._text - set(names)):
            raise self._at(1, f"no column {' and no column '.join(map(repr, absent))} to keep as text")
        typed = [str if name in self._text else _typed for name in names]
        while (cells := self._next(reader)) is not None:
            if not cells:
                continue
            if len(cells) != len(names):
                raise self._at(reader.line_num, f"{len(cells)} cells under {len(names)} column names")
            fields = {n: t(c) for n, t, c in zip(names, typed, cells, strict=True) if c}
            yield Row(reader.line_num, fields, self._encode(fields))

    def _next(self, reader: "Iterator[list[str]]") -> list[str] | None:
        try:
            return next(reader, None)
        except csv.Error as error:
            raise self._at(getattr(reader, "line_num", 0), str(error)) from error

    def _parquet(self) -> Iterator[Row]:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415

        number = 0
        try:
            with parquet.ParquetFile(self.path, memory_map=True, pre_buffer=False) as file:
                total = file.metadata.num_rows
                for batch in file.iter_batches(batch_size=1024):
                    for fields in batch.to_pylist():
                        number += 1
                        yield self._parquet_row(number, fields)
                    self.fraction = number / total
        except ArrowException as error:
            raise self._at(number + 1, f"not readable as Parquet: {error}") from error

    def _parquet_row(self, number: int, columns: dict[str, Any]) -> Row:
        fields = {name: value for name, value in columns.items() if value is not None}
        try:
            return Row(number, fields, self._encode(fields))
        except (TypeError, ValueError, OverflowError) as error:
            raise self._at(number, str(error)) from error

    def _text_lines(self) -> Iterator[str]:
        for number, line in self._lines():
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise self._at(number, f"not UTF-8: {error}") from error

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        size = max(1, self.path.stat().st_size)
        read = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(_bounded(file), 1):
                if len(line) > _LONGEST_LINE:
                    raise self._at(number, f"longer than {_LONGEST_LINE} bytes")
                read += len(line)
                self.fraction = min(1.0, read / size)
                yield number, line.removeprefix(_BOM) if number == 1 else line

    def _at(self, number: int, what: str) -> SourceFileError:
        return SourceFileError(f"{self.path}:{number}: {what}")


def _bounded(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.readline(_LONGEST_LINE + 1), b"")


@lru_cache(maxsize=65536)
def _typed(cell: str) -> str | int | float | bool:
    if _WHOLE.fullmatch(cell):
        return int(cell)
    if _BROKEN_UP.fullmatch(cell):
        number = float(cell)
        return number if math.isfinite(number) else cell
    return _WORDS.get(cell, cell)


def _iso(value: Any) -> str:
    # Nanosecond times arrive as pandas' own class where pandas is installed.
    if hasattr(value, "isoformat"):
        return str(value.isoformat())
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")
