"""Files of events: what each format becomes, and that every fault names its line."""

import datetime
import json
import tracemalloc
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pelton.errors import SourceFileError
from pelton.source_files import SourceFile


def written(tmp_path: Path, name: str, content: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


def values(path: Path, **options: list[str]) -> list[dict[str, object]]:
    return [json.loads(row.value) for row in SourceFile(path, **options).rows()]


def test_csv_cells_become_the_json_value_they_are_written_as(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"id,n,x,ok,zip,empty\nF1,-3,2.50,true,007,\nF2,0,1.0e3,False,12,z\n")
    assert values(path) == [
        {"id": "F1", "n": -3, "x": 2.5, "ok": True, "zip": "007"},
        {"id": "F2", "n": 0, "x": 1000.0, "ok": False, "zip": 12, "empty": "z"},
    ]


def test_csv_columns_named_as_text_stay_text(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b"flight,n\n1545,1\n")
    assert values(path, text=["flight"]) == [{"flight": "1545", "n": 1}]


def test_a_column_to_keep_as_text_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match=r"a\.csv:1: no column 'nocol' to keep as text"):
        values(written(tmp_path, "a.csv", b"flight,n\n1545,1\n"), text=["n", "nocol"])
    with pytest.raises(SourceFileError, match=r"a\.jsonl: only columns of a CSV file"):
        values(written(tmp_path, "a.jsonl", b'{"n":1}\n'), text=["n"])


@pytest.mark.parametrize("cell", ["nan", "inf", "1e5", "1.0e999", "0x10", "1_000", "+1", " 1", "9" * 19])
def test_csv_never_makes_a_number_that_json_would_not_write(tmp_path: Path, cell: str) -> None:
    assert values(written(tmp_path, "a.csv", f"x\n{cell}\n".encode())) == [{"x": cell}]


def test_csv_reads_quotes_line_breaks_in_cells_a_byte_order_mark_and_blank_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b'\xef\xbb\xbfa,b\r\n"x, ""y""\nz",1\r\n\r\n\xc3\xa9,2\r\n')
    assert values(path) == [{"a": 'x, "y"\nz', "b": 1}, {"a": "é", "b": 2}]


@pytest.mark.parametrize(
    ("name", "content", "line", "word"),
    [
        ("a.csv", b"a,b\n1,2\n1,2,3\n", 3, "3 cells"),
        ("a.csv", b"a,b\n1\n", 2, "1 cells"),
        ("a.csv", b"a,a\n1,2\n", 1, "one name"),
        ("a.csv", b"", 1, "no header"),
        ("a.csv", b"a\nok\n\xff\n", 3, "UTF-8"),
        ("a.csv", b'a\n"b" c\n', 2, "expected"),
        ("a.csv", b'a\n"never closed\n', 2, "unexpected end"),
        ("a.jsonl", b'{"a":1}\n\n{"a":\n', 3, "not JSON"),
        ("a.jsonl", b"[1]\n", 1, "object"),
        ("a.jsonl", b'{"a":1}\n{"a":NaN}\n', 2, "not JSON"),
        ("a.ndjson", b'{"a":"\xff"}\n', 1, "not JSON"),
        ("a.jsonl", b"[" * 100_000, 1, "not JSON"),
        ("a.parquet", b"PAR1 but no more", 1, "Parquet"),
    ],
)
def test_a_fault_names_the_file_and_the_line(tmp_path: Path, name: str, content: bytes, line: int, word: str) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(SourceFileError) as caught:
        values(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_rows_before_a_fault_are_delivered(tmp_path: Path) -> None:
    rows = SourceFile(written(tmp_path, "a.jsonl", b'{"a":1}\nbroken\n')).rows()
    assert next(rows).fields == {"a": 1}
    with pytest.raises(SourceFileError, match=":2:"):
        next(rows)


def test_json_lines_are_sent_byte_for_byte(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jsonl", b'  {"b": 1.50, "a": 12345678901234567890}\r\n\n{"c":null}')
    rows = list(SourceFile(path).rows())
    assert [row.value for row in rows] == [b'{"b": 1.50, "a": 12345678901234567890}', b'{"c":null}']
    assert [row.number for row in rows] == [1, 3]
    assert rows[1].fields == {"c": None}


def test_parquet_nulls_are_absent_and_values_have_json_forms(tmp_path: Path) -> None:
    noon = datetime.datetime(2013, 9, 1, 12, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "id": ["a", "b"],
            "n": pa.array([1, None], pa.int32()),
            "at": pa.array([noon, None], pa.timestamp("ns", tz="UTC")),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(6, 2)),
            "x": [0.5, float("nan")],
            "list": [[1, 2], None],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert values(tmp_path / "a.parquet") == [
        {"id": "a", "n": 1, "at": "2013-09-01T12:00:00+00:00", "price": 1.5, "x": 0.5, "list": [1, 2]},
        {"id": "b", "x": None},
    ]


def test_parquet_is_read_in_pieces(tmp_path: Path) -> None:
    table = pa.table({"n": range(20_000), "text": ["x" * 100] * 20_000})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2_000)
    source = SourceFile(tmp_path / "a.parquet")
    tracemalloc.start()
    try:
        numbers = [row.fields["n"] for row in source.rows()]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert numbers == list(range(20_000))
    assert peak < 4_000_000  # every row as a dict at once would be above 8 MB


def test_fraction_grows_to_one(tmp_path: Path) -> None:
    source = SourceFile(written(tmp_path, "a.jsonl", b'{"a":1}\n' * 4))
    rows = source.rows()
    seen = [source.fraction for _ in rows]
    assert seen == [0.25, 0.5, 0.75, 1.0]
    assert source.fraction == 1.0


@pytest.mark.parametrize(("name", "word"), [("a.xls", ".csv"), ("none.csv", "no such file"), ("d.csv", "not a")])
def test_a_file_that_cannot_be_read_is_refused_at_once(tmp_path: Path, name: str, word: str) -> None:
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(SourceFileError, match=word):
        SourceFile(tmp_path / name)
