"""Answers a question in SQL about the tables of one file, with DuckDB, and prints the answer. Nobody believes it."""

import gzip
import importlib
import json
import math
import pathlib
import re
import threading
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, cast

from loci.sandbox.inside.typed_columns import typed

SETTINGS = (
    "threads = 2",
    "memory_limit = '512MB'",
    "temp_directory = ''",
    "python_enable_replacements = false",
    "autoload_known_extensions = false",
    "autoinstall_known_extensions = false",
    "enable_external_access = false",
    "lock_configuration = true",
)
"""The last two end what SQL could reach; no statement can take them back."""
READS = ("SELECT", "EXPLAIN")
NO_READ = "Only one statement that reads is allowed, such as SELECT; a PIVOT needs IN with its columns"
"""Without `IN`, DuckDB makes two statements of a `PIVOT`, and the first one creates a type."""
LARGEST_READING = 512 << 20
MOST_TABLES = 500
LONGEST_NAME = 60
LARGEST_ANSWER = 400_000
"""Characters of all rows."""

Said = dict[str, Any]


class Tables:
    """The tables of one file in a database of their own, which is only in memory."""

    def __init__(self, reading: pathlib.Path, stem: str) -> None:
        duckdb: Any = importlib.import_module("duckdb")  # only a process that is asked in SQL needs it
        self._errors: type[Exception] = duckdb.Error
        self._database: Any = duckdb.connect(":memory:")
        self.tables: list[Said] = []
        reserved = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        taken = {str(word) for (word,) in self._database.execute(reserved).fetchall()}
        with gzip.open(reading) as opened:
            sections = json.loads(opened.read(LARGEST_READING))["sections"]
        for number, table in enumerate(_tables(sections), 1):
            self.tables.append(self._add(f"t{number}", table, stem, taken))
        for one in SETTINGS:
            self._database.execute(f"SET {one}")

    def answer(self, sql: str, limit: int, seconds: float) -> Said:
        """The columns and rows, or the error."""
        try:
            statements = self._database.extract_statements(sql)
            is_pragma = sql.lstrip().lower().startswith("pragma")  # to DuckDB some of them are a SELECT
            if len(statements) != 1 or is_pragma or statements[0].type.name not in READS:
                return {"error": NO_READ}
            over = threading.Timer(seconds, self._database.interrupt)
            over.start()
            try:
                found = self._database.execute(statements[0])
                columns = [{"name": str(name), "type": str(kind)} for name, kind, *_ in found.description or ()]
                return {"columns": columns, **_rows(found, limit)}
            finally:
                over.cancel()
        except self._errors as error:
            if type(error).__name__ == "InterruptException":
                return {"error": f"It took longer than {seconds:g} seconds", "is_time": True}
            return {"error": str(error)[:1000]}

    def _add(self, name: str, table: Said, stem: str, taken: set[str]) -> Said:
        rows: list[list[str]] = table.get("rows", [])
        header: Sequence[str] = table.get("header", ())
        width = max([len(header), *map(len, rows)])
        names = _column_names(header, width)
        columns = [typed([row[at] if at < len(row) else "" for row in rows]) for at in range(width)]
        told = [{"name": one, "type": column.type} for one, column in zip(names, columns, strict=True)]
        shape = ", ".join(f"{_quoted(one)} {column.type}" for one, column in zip(names, columns, strict=True))
        self._database.execute(f"CREATE TABLE {name} ({shape})")
        if rows:
            self._fill(name, [column.values for column in columns], [column.type for column in columns])
        alias = _alias(table, stem, taken)
        self._database.execute(f"CREATE VIEW {_quoted(alias)} AS SELECT * FROM {name}")  # noqa: S608 (names are ours)
        place = {key: table[key] for key in ("title", "sheet", "page", "slide") if table.get(key)}
        return {"name": name, "alias": alias, "rows": len(rows), "columns": told, **place}

    def _fill(self, name: str, columns: list[list[Any]], types: list[str]) -> None:
        pandas: Any = importlib.import_module("pandas")
        # As texts, which DuckDB casts: pandas would turn whole numbers with a gap into floats.
        texts = {
            f"c{at}": pandas.Series([_text(one) for one in column], dtype=object) for at, column in enumerate(columns)
        }
        casts = ", ".join(f"CAST(c{at} AS {kind})" for at, kind in enumerate(types))
        self._database.register("arriving", pandas.DataFrame(texts))
        self._database.execute(f"INSERT INTO {name} SELECT {casts} FROM arriving")  # noqa: S608 (names are ours)
        self._database.unregister("arriving")


_held: dict[str, Tables] = {}
"""The tables of the file that was asked about last."""


def run(reading: pathlib.Path, stem: str, sql: str, limit: int, seconds: float) -> None:
    """Print the answer as one line of JSON."""
    tables = _held.get(str(reading))
    if tables is None:
        _held.clear()
        tables = _held[str(reading)] = Tables(reading, stem)
    answer = tables.answer(sql, limit, seconds) if sql.strip() else {}
    print(json.dumps({"tables": tables.tables, **answer}))


def _tables(sections: Iterable[Said]) -> list[Said]:
    found = [one for one in sections if one.get("header") or one.get("rows")]  # a text has neither
    return found[:MOST_TABLES]


def _column_names(header: Sequence[str], width: int) -> list[str]:
    """The names in the header, each once. SQL does not tell upper case from lower case."""
    taken: set[str] = set()
    names: list[str] = []
    for at in range(width):
        wanted = " ".join(header[at].split())[:LONGEST_NAME] if at < len(header) else ""
        names.append(_free(wanted or f"column{at + 1}", taken))
    return names


def _alias(table: Said, stem: str, taken: set[str]) -> str:
    """A name that can be written without quotation marks: of the title, the sheet or the file."""
    for source in (table.get("title"), table.get("sheet"), stem):
        words = re.sub(r"\W+", "_", str(source or "").lower()).strip("_")[:LONGEST_NAME]
        if words:
            is_free = not words[0].isdigit() and not re.fullmatch(r"t\d+", words)
            return _free(words if is_free else f"table_{words}", taken)
    return _free("table_1", taken)


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found.lower())
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return repr(value) if isinstance(value, float) else str(value)


def _rows(found: Any, limit: int) -> Said:
    rows: list[list[Any]] = []
    size = 0
    while (row := found.fetchone()) is not None:
        shown = [_json(one) for one in row]
        size += len(json.dumps(shown))
        if size > LARGEST_ANSWER and not rows:
            return {"error": f"The first row has more than {LARGEST_ANSWER:,} characters: select parts of it"}
        if len(rows) == limit or size > LARGEST_ANSWER:
            return {"rows": rows, "more": True}
        rows.append(shown)
    return {"rows": rows, "more": False}


def _json(value: Any) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            near = float(value)
            return near if Decimal(repr(near)) == value else str(value)
        case datetime() | date() | time():
            return value.isoformat()
        case list() | tuple():
            return [_json(one) for one in cast("Sequence[Any]", value)]
        case dict():
            return {str(name): _json(one) for name, one in cast("dict[Any, Any]", value).items()}
        case _:
            return str(value)
