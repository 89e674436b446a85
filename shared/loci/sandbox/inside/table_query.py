"""Answers a question in SQL about the tables of some files, with DuckDB, and prints the answer. Nobody believes it."""

import gzip
import importlib
import json
import math
import pathlib
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, cast

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
COMMENT = r"--[^\n]*+|/\*(?:[^*/]|\*(?!/)|/(?!\*))*+\*/"
EXPLAIN = re.compile(rf"(?:\s|{COMMENT})*+(explain\b(?:\s*\(\s*format\s+\w+\s*\))?)(.*)", re.I | re.S)
CALLED = re.compile(r'"function_name":"((?:[^"\\]|\\.)*)"')
TABLE_FUNCTION = '"type":"TABLE_FUNCTION"'
"""Marks in the JSON that DuckDB makes of a statement. A quotation mark of the SQL's own has a backslash there."""
TABLE_FUNCTIONS = {
    *("duckdb_columns", "duckdb_functions", "duckdb_tables", "generate_series", "histogram", "histogram_values"),
    *("json_each", "json_tree", "pragma_table_info", "range", "repeat", "unnest"),
}
"""Others read files or addresses in memory, run SQL that is in a text, or change what later questions meet."""
REFUSED_FUNCTIONS = {"json_serialize_plan", "nextval", "setseed", "write_log"}
NO_READ = (
    "query_table only reads: ask one statement such as SELECT (a PIVOT needs IN with its columns),"
    " or use run_memory_code to change copies"
)
"""A `PIVOT` without `IN`: DuckDB makes two statements of it, and the first one creates a type."""
LARGEST_READING = 512 << 20
MOST_TABLES = 500
LONGEST_NAME = 60
AS_SHOWN = " as shown"
TABLES_OF_TEXT = ("csv", "tsv")
PLACES = ("file", "sheet", "page", "slide", "title")
"""What tells united tables apart, as columns."""
LARGEST_ANSWER = 400_000
"""Characters of all rows."""
Said = dict[str, Any]
EMPTY = frozenset({"", "-", "\u2013", "\u2014", "na", "n/a", "nan", "null", "none", "#n/a"})
"""Cells that stand for no value, unless their column is text."""
WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)")
DECIMAL = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)?\.\d+|[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)")
FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
LEADING_ZERO = re.compile(r"[+-]?0\d")
CURRENCY = r"(?:[$€£¥₹]|US\$|USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN)"
AMOUNT = re.compile(
    rf"(?P<open>\()? ?(?P<sign>[-\u2212])? ?{CURRENCY}? ?"
    r"(?P<number>(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d+)?|\.\d+)"
    rf" ?(?P<percent>%)? ?{CURRENCY}?(?P<after>-)? ?(?P<close>\))?"
)
"""A number as people write it: with a currency, thousands, a percent sign, or in parentheses if it is negative."""
SIGNS = frozenset({"$", "€", "£", "¥", "₹", "%", ")", "("})
DAY_FORMS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y")
BOOLEANS = {"true": True, "false": False}
LARGEST_WHOLE = 2**63 - 1
MOST_DIGITS, MOST_FRACTION = 18, 9
"""Digits of an exact decimal: its products and sums still fit into DuckDB's 38 digits."""


AskedFiles = Sequence[tuple[pathlib.Path, str, str]]
"""Each file's reading, the name that its tables get, and its label."""
ALL_FILES = "all_files"
"""The name of the rows of all tables of one shape in several files."""


class Tables:
    """The tables of some files in a database of their own, which is only in memory."""

    def __init__(self, files: AskedFiles) -> None:
        self._duckdb: Any = importlib.import_module("duckdb")  # only a process that is asked in SQL needs it
        self._database: Any = self._duckdb.connect(":memory:")
        self.tables: list[Said] = []
        self._empty: dict[str, set[str]] = {}
        """The columns of each table that have no value."""
        reserved = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
        taken = {str(word) for (word,) in self._database.execute(reserved).fetchall()}
        try:
            for reading, stem, label in files:
                found = _tables(_sections(reading))[: max(1, MOST_TABLES - len(self.tables))]
                of_others = {str(one["alias"]) for one in self.tables}
                for table in found:
                    told = (table.get("title"), table.get("sheet"), stem)
                    alias = _alias((stem,) if len(files) > 1 and len(found) == 1 else told)
                    alias = _free(f"{_words(stem)}_{alias}" if alias in of_others else alias, taken)
                    self.tables.append({**self._add(f"t{len(self.tables) + 1}", alias, table), "file": label})
            self.tables += self._united(files, taken)
        except self._duckdb.OutOfMemoryException as error:
            raise MemoryError from error
        for one in SETTINGS:
            self._database.execute(f"SET {one}")

    def answer(self, sql: str, limit: int) -> Said:
        """Read the columns and rows, or the error. The supervisor ends what takes too long."""
        asking = self._database.cursor()  # what a question sets or makes ends with its connection
        try:
            asking.execute("BEGIN TRANSACTION READ ONLY")
            explained = EXPLAIN.match(sql)
            read = explained[2] if explained else sql
            # Put together again: what follows EXPLAIN is then exactly what is judged.
            statements = asking.extract_statements(f"{explained[1]} {read}" if explained else sql)
            if len(statements) != 1 or statements[0].type.name not in READS:
                return {"error": NO_READ}
            if refused := _refused(*asking.execute("SELECT json_serialize_sql(?::VARCHAR)", [read]).fetchone()):
                return {"error": refused}
            found = asking.execute(statements[0])
            columns = [{"name": str(name), "type": str(kind)} for name, kind, *_ in found.description or ()]
            return {"columns": columns, **_rows(found, limit)}
        except self._duckdb.OutOfMemoryException as error:
            raise MemoryError from error
        except self._duckdb.Error as error:
            return {"error": str(error)[:1000]}
        finally:
            asking.interrupt()  # else closing it waits for what still computes
            asking.close()

    def _add(self, name: str, alias: str, table: Said) -> Said:
        rows: list[list[str]] = table.get("rows", [])
        header: Sequence[str] = table.get("header", ())
        width = max([len(header), *map(len, rows)])
        found: dict[str, Column] = {}
        taken_names: set[str] = set()
        for at, given in enumerate(_column_names(header, width, taken_names)):
            column = typed([row[at] if at < len(row) else "" for row in rows])
            if (at < len(header) and header[at].strip()) or not _is_spacer(column):
                found[given] = column
                if column.shown:
                    found[_free(f"{given}{AS_SHOWN}", taken_names)] = Column("VARCHAR", [*column.shown])
        names, columns = list(found), list(found.values())
        told = [{"name": one, "type": column.type} for one, column in found.items()]
        shape = ", ".join(f"{_quoted(one)} {column.type}" for one, column in zip(names, columns, strict=True))
        self._database.execute(f"CREATE TABLE {name} ({shape})")
        if rows:
            self._fill(name, [column.values for column in columns], [column.type for column in columns])
        self._name(alias, f"SELECT * FROM {name}")  # noqa: S608 (names are ours)
        self._empty[name] = {one for one, column in found.items() if all(cell is None for cell in column.values)}
        place = {key: table[key] for key in ("title", "sheet", "page", "slide") if table.get(key)}
        return {"name": name, "alias": alias, "rows": len(rows), "columns": told, **place}

    def _united(self, files: AskedFiles, taken: set[str]) -> list[Said]:
        """Name the rows of all tables of one shape: in a file after the file, and in several files."""
        found: list[Said] = []
        for stem, label in [*((stem, label) for _, stem, label in files), (ALL_FILES, None)]:
            held = [one for one in self.tables if label in (one["file"], None)]
            name = _words(stem) or "table_1"
            if label and len(held) == 1 and name not in taken:
                self._name(_free(name, taken), f"SELECT * FROM {held[0]['name']}")  # noqa: S608 (names are ours)
            groups = [one for one in _groups(held) if label or len({table["file"] for table in one}) > 1]
            found += [self._unite(_free(name, taken), group, label) for group in groups]
        return found

    def _unite(self, name: str, group: Sequence[Said], label: str | None) -> Said:
        """Name the rows of these tables, with their places as columns. A column without a value takes any type."""
        taken = {one["name"].lower() for table in group for one in table["columns"]}
        places = [one for one in PLACES if len({table.get(one) for table in group}) > 1]
        named = {one: _quoted(_free(one, taken)) for one in places}
        empty = [self._empty[table["name"]] for table in group]
        filled = {
            one["name"] for table in group for one in table["columns"] if not all(one["name"] in e for e in empty)
        }
        parts: list[str] = []
        for table in group:
            shown = [f"{_literal(table.get(one))} AS {named[one]}" for one in places]
            gaps = ", ".join(f"NULL AS {_quoted(one)}" for one in self._empty[table["name"]] & filled)
            parts.append(f"SELECT {', '.join([*shown, f'* REPLACE ({gaps})' if gaps else '*'])} FROM {table['name']}")  # noqa: S608
        self._name(name, " UNION ALL BY NAME ".join(parts))
        described = self._database.execute(f"DESCRIBE {_quoted(name)}").fetchall()
        columns = [{"name": str(one), "type": str(kind)} for one, kind, *_ in described]
        rows, names = sum(one["rows"] for one in group), [one["name"] for one in group]
        return {"name": name, "alias": name, "file": label, "unites": names, "rows": rows, "columns": columns}

    def _name(self, name: str, sql: str) -> None:
        self._database.execute(f"CREATE VIEW {_quoted(name)} AS {sql}")

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
"""The tables of the files that were asked about last."""


def load(files: AskedFiles) -> None:
    """Load the tables, and print them as one line of JSON."""
    if str(files) not in _held:
        _held.clear()
        _held[str(files)] = Tables(files)
    print(json.dumps({"tables": _held[str(files)].tables}))


def ask(files: AskedFiles, sql: str, limit: int) -> None:
    """Print the answer as one line of JSON, which has no tables if they are not loaded."""
    tables = _held.get(str(files))
    print(json.dumps({"tables": tables.tables, **tables.answer(sql, limit)} if tables else {"tables": []}))


def _refused(serialized: str) -> str | None:
    """Return why the statement may not run; None if it only reads."""
    if serialized.startswith('{"error":true'):  # it is no SELECT, such as a PRAGMA that DuckDB makes one of
        return NO_READ
    of_tables = [CALLED.search(one) for one in serialized.split(TABLE_FUNCTION)[1:]]
    names = {one[1].lower() if one else "" for one in of_tables} - TABLE_FUNCTIONS
    names |= REFUSED_FUNCTIONS & {one.lower() for one in CALLED.findall(serialized)}
    return f"query_table does not call {min(names)}()" if names else None


def _sections(reading: pathlib.Path) -> list[Said]:
    """The sections of the reading; none if it is damaged."""
    try:
        with gzip.open(reading) as opened:
            said: Said = json.loads(opened.read(LARGEST_READING))
        sections: list[Said] = said["sections"]
        # Readings of before give a table of text the sheet Sheet1.
        return [{**one, "sheet": None} for one in sections] if said.get("format") in TABLES_OF_TEXT else sections
    except (OSError, EOFError, zlib.error, ValueError):
        return []


def _tables(sections: Iterable[Said]) -> list[Said]:
    found = [one for one in sections if one.get("header") or one.get("rows")]  # a text has neither
    return found[:MOST_TABLES]


def _column_names(header: Sequence[str], width: int, taken: set[str]) -> list[str]:
    """The names in the header, each once. SQL does not tell upper case from lower case."""
    names: list[str] = []
    for at in range(width):
        wanted = " ".join(header[at].split())[:LONGEST_NAME] if at < len(header) else ""
        names.append(_free(wanted or f"column{at + 1}", taken))
    return names


def _alias(sources: Iterable[object]) -> str:
    """A name for a table, of the first source that has words."""
    return next((words for words in (_words(one) for one in sources) if words), "table_1")


def _words(source: object) -> str:
    """A name that can be written without quotation marks."""
    words = re.sub(r"\W+", "_", str(source or "").lower()).strip("_")[:LONGEST_NAME]
    return f"table_{words}" if re.fullmatch(r"\d.*|t\d+", words) else words


def _groups(tables: Iterable[Said]) -> list[list[Said]]:
    """The tables that have the same columns, the most tables first. Columns without names say nothing."""
    found: dict[tuple[str, ...], list[Said]] = {}
    for table in tables:
        names = sorted(str(one["name"]).lower() for one in table["columns"])
        shape = tuple(one for one in names if not one.endswith(AS_SHOWN))
        if not all(re.fullmatch(r"column\d+", one) for one in shape):
            found.setdefault(shape, []).append(table)
    return sorted((one for one in found.values() if len(one) > 1), key=len, reverse=True)


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found.lower())
    return found


def _literal(value: object) -> str:
    if value is None or isinstance(value, int):
        return "NULL" if value is None else str(value)
    return "'" + str(value).replace("'", "''") + "'"


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


@dataclass(frozen=True)
class Column:
    """A column: its type in SQL, and its values."""

    type: str
    values: list[Any]
    shown: Sequence[str | None] = ()
    """The cells as the sheet shows them, if the values are not written so: 7.7% for 0.077."""


def typed(cells: Sequence[str]) -> Column:
    """The column with the narrowest type that has all its values exactly."""
    stripped = [cell.strip() for cell in cells]
    filled = [cell for cell in stripped if cell.lower() not in EMPTY]
    if not filled:
        return Column("VARCHAR", [cell or None for cell in cells])
    kind = _kind(filled)
    if kind == "VARCHAR":
        return _as_meant(cells, filled) or Column(kind, [cell or None for cell in cells])
    read = READERS[kind.partition("(")[0]]
    try:
        return Column(kind, [None if cell.lower() in EMPTY else read(cell) for cell in stripped])
    except ValueError:  # such as the 31st of February
        return Column("VARCHAR", [cell or None for cell in cells])


def _as_meant(cells: Sequence[str], filled: Sequence[str]) -> Column | None:
    """Read amounts, percentages and days that are written for people; None if some cell is something else."""
    plain = _days(filled) or {cell: _plain_number(cell) for cell in filled}
    if not all(plain.values()) or len({cell.endswith("%") for cell in filled}) > 1:
        return None
    column = typed([plain.get(cell.strip(), "") or "" for cell in cells])
    return None if column.type == "VARCHAR" else Column(column.type, column.values, [cell or None for cell in cells])


def _plain_number(cell: str) -> str | None:
    """Return the number of an amount such as $1,234.50, (1,234), 12 USD or 7.7%; None if it is no amount."""
    found = AMOUNT.fullmatch(" ".join(cell.split()))
    if found is None or (found["open"] is None) != (found["close"] is None):
        return None
    number = Decimal(found["number"].replace(",", ""))
    if found["percent"]:
        number = number.scaleb(-2)
    is_negative = bool(found["open"] or found["sign"] or found["after"])
    return f"{-number if is_negative else number:f}"


def _days(filled: Sequence[str]) -> dict[str, str | None]:
    """Return the day of each cell, if all are written as days in one way; nothing if they may mean other days, too."""
    found: list[dict[str, str | None]] = []
    for form in DAY_FORMS:
        with suppress(ValueError):
            days: dict[str, str | None] = {cell: _day(cell, form) for cell in filled}
            found.append(days)
    return found[0] if found and all(days == found[0] for days in found) else {}


def _day(cell: str, form: str) -> str:
    text = cell.replace(".,", ",").replace(". ", " ") if "%b" in form else cell
    return datetime.strptime(text, form).date().isoformat()


def _is_spacer(column: Column) -> bool:
    """Return True if the column has nothing, or only the signs of the amounts beside it."""
    return column.type == "VARCHAR" and all(one is None or one.strip() in SIGNS for one in column.values)


def _kind(filled: Sequence[str]) -> str:
    if all(cell.lower() in BOOLEANS for cell in filled):
        return "BOOLEAN"
    if all(map(WHOLE.fullmatch, filled)):
        most = max(abs(_whole(cell)) for cell in filled)
        return "BIGINT" if most <= LARGEST_WHOLE else "VARCHAR"
    if all(map(DECIMAL.fullmatch, filled)):
        fraction = max(len(cell.partition(".")[2]) for cell in filled)
        digits = max(sum(map(str.isdigit, cell.partition(".")[0])) for cell in filled) + fraction
        if fraction <= MOST_FRACTION and digits <= MOST_DIGITS:
            return f"DECIMAL({MOST_DIGITS},{fraction})"
    if all(FLOAT.fullmatch(cell.replace(",", "")) and not LEADING_ZERO.match(cell) for cell in filled):
        grouped = [cell for cell in filled if "," in cell]
        return "DOUBLE" if all(map(DECIMAL.fullmatch, grouped)) else "VARCHAR"
    return _moments(filled)


def _moments(filled: Sequence[str]) -> str:
    lengths = {len(cell) for cell in filled}
    if lengths == {10} and all(cell[4] == cell[7] == "-" for cell in filled):
        return "DATE"
    if min(lengths) >= 10 and all(cell[4] == cell[7] == "-" and cell[10:11] in ("", "T", " ") for cell in filled):
        return "TIMESTAMP"
    if lengths <= {5, 8} and all(cell[2] == ":" for cell in filled):
        return "TIME"
    return "VARCHAR"


def _whole(cell: str) -> int:
    return int(cell.replace(",", ""))


def _decimal(cell: str) -> Decimal:
    return Decimal(cell.replace(",", ""))


def _float(cell: str) -> float:
    return float(cell.replace(",", ""))


def _boolean(cell: str) -> bool:
    return BOOLEANS[cell.lower()]


def _moment(cell: str) -> datetime:
    moment = datetime.fromisoformat(cell)
    if moment.tzinfo is not None:
        raise ValueError("it has a zone")
    return moment


READERS: dict[str, Any] = {
    "BOOLEAN": _boolean,
    "BIGINT": _whole,
    "DECIMAL": _decimal,
    "DOUBLE": _float,
    "DATE": date.fromisoformat,
    "TIMESTAMP": _moment,
    "TIME": time.fromisoformat,
}
