"""Questions in SQL about the tables of stored files. They are answered behind the wall, in an executor of the owner."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import PurePath

from pydantic import BaseModel, Field, JsonValue, ValidationError

from loci.code.ports import Executors, PythonResult, RunFailure, StoredContent
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.files.api import FileContent, Files
from loci.files.file import id_and_version

SECONDS = 10.0
"""Time that SQL may take. API Gateway ends a request after 29, and a machine may have to be started first."""
SEATS = 4
"""Questions of an owner at a time. Each has an executor, which stays for the next one."""
KEPT_SECONDS = 24 * 3600.0
LONGEST_SQL = 20_000
MOST_SHOWN = 20
"""Tables in an error."""
INSIDE = '__import__("loci.sandbox.inside.table_query", fromlist=["ask"])'
ENDED = {
    "SANDBOX_TIMEOUT": ("SQL_TIMEOUT", f"It took longer than {SECONDS:g} seconds"),
    "SANDBOX_MEMORY": ("SQL_MEMORY", "It wanted more memory than a question may have"),
    "SANDBOX_EXITED": ("SQL_MEMORY", "DuckDB ended while it answered: the machine or the question ran out of memory"),
}
"""Errors of a question that its executor could not answer, by the reason why its run ended."""


class ColumnOfTable(BaseModel):
    name: str
    type: str = Field(description="as DuckDB names it, such as BIGINT, DECIMAL(18,2), DATE, VARCHAR")


class KnownTable(BaseModel):
    """A table, as SQL names it."""

    name: str = Field(description="t1, t2, …: in the order of the file")
    alias: str = Field(description="another name for it: of its title, sheet or file")
    file: str | None = Field(default=None, description="of several", exclude_if=lambda one: one is None)
    unites: list[str] | None = Field(
        default=None, description="tables of one shape that it has the rows of", exclude_if=lambda one: one is None
    )
    title: str = ""
    sheet: str | None = None
    page: int | None = None
    slide: int | None = None
    rows: int
    columns: list[ColumnOfTable]


class TableAnswer(BaseModel):
    """The answer to a question in SQL. It comes from behind the wall."""

    tables: list[KnownTable]
    columns: list[ColumnOfTable] = []
    rows: list[list[JsonValue]] = []
    more: bool = False
    error: str | None = None


class TableQueries:
    """Asks in the owner's executors. Each keeps the tables of the files that it was asked about last."""

    def __init__(
        self, executors: Callable[[], Executors], files: Callable[[], Files], clock: Callable[[], float]
    ) -> None:
        self._executors = executors
        self._files = files
        self._clock = clock
        self._seats: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def ask(self, owner: Owner, memory_ids: Sequence[str], sql: str, limit: int) -> TableAnswer:
        """The tables of the files, and the rows that answer, if anything is asked."""
        if len(sql) > LONGEST_SQL:
            raise Refused(f"The SQL is longer than {LONGEST_SQL:,} characters", "Shorten it", code="SQL_TOO_LONG")
        files = self._files()
        asked = _AskedFiles({id: files.tables(owner, *id_and_version(id)) for id in memory_ids})
        load = f"{INSIDE}.load({asked.as_code})"
        question = f"{INSIDE}.ask({asked.as_code}, {sql!r}, {limit})" if sql.strip() else load
        answer = self._in_seat(owner, partial(self._answer, owner, question, load, asked))
        if len(memory_ids) == 1:
            for one in answer.tables:
                one.file = None
        if answer.error is not None:
            raise _refused(answer)
        return answer

    def _answer(self, owner: Owner, question: str, load: str, asked: "_AskedFiles", id: str) -> TableAnswer:
        """Ask in this executor. If it does not hold the tables, load them, which has more time, and ask again."""

        def run(code: str) -> TableAnswer:
            keep_until, seconds = self._clock() + KEPT_SECONDS, None if code == load else SECONDS
            ran = self._executors().run(owner, id, code, asked, keep_until, seconds=seconds)
            return _checked(ran, {} if code == load else ENDED)

        answer = run(question)
        if not answer.tables:
            loaded = {one.file for one in run(load).tables}
            if damaged := asked.without(loaded):
                advice = f"Read it again: loci files read {damaged}"
                raise Refused("The reading of the file is damaged, or has no table", advice, code="READING_DAMAGED")
            answer = run(question)
        if not answer.tables:
            raise Unavailable("The tables were put away while they were asked", "Ask again", code="SQL_FAILED")
        return answer

    def _in_seat(self, owner: Owner, ask: Callable[[str], TableAnswer]) -> TableAnswer:
        tried: list[int] = []
        try:
            while True:
                tried.append(self._seat(owner))
                try:
                    return ask(f"executor-{content_id(owner.key, 'tables', str(tried[-1]), length=32)}")
                except Refused as error:  # another Loci asks in it
                    if error.code != "EXECUTOR_BUSY" or len(tried) == SEATS:
                        raise
        finally:
            with self._lock:
                self._seats[owner.key] -= set(tried)

    def _seat(self, owner: Owner) -> int:
        with self._lock:
            taken = self._seats.setdefault(owner.key, set())
            free = next((one for one in range(SEATS) if one not in taken), None)
            if free is None:
                raise Unavailable(
                    f"{SEATS} questions of yours are being answered", "Ask again when one is done", code="SANDBOX_BUSY"
                )
            taken.add(free)
            return free


class _AskedFiles:
    """`StoredFiles` with what was read out of the files that are asked about, and of no others."""

    def __init__(self, read: Mapping[str, FileContent]) -> None:
        self._read = read
        versions = {id: "" if (number := id_and_version(id)[1]) is None else f" v{number}" for id in read}
        self._labels = {id: f"{one.name}{versions[id]}" for id, one in read.items()}
        stems = {id: PurePath(one.name).stem for id, one in read.items()}
        is_shared = {stem: count > 1 for stem, count in Counter(stems.values()).items()}
        whole = {
            id: str(PurePath(read[id].name).with_suffix("")) if is_shared[one] else one for id, one in stems.items()
        }
        parts = [f"(get_memory_path({id!r}), {whole[id] + versions[id]!r}, {self._labels[id]!r})" for id in read]
        self.as_code = f"[{', '.join(parts)}]"
        """The files as code: a path, the name that its tables get, and a label for each."""

    def read(self, owner: Owner, id: str) -> StoredContent:  # noqa: ARG002 (names of the port)
        if id not in self._read:
            raise NotFound(f"There is no file {id[:80]!r}", "Use the id of the file", code="MEMORY_NOT_FOUND")
        return StoredContent("reading.json.gz", self._read[id].version, self._read[id].content)

    def without(self, labels: Collection[str | None]) -> str | None:
        """The id of the first file that has none of these labels."""
        return next((id_and_version(id)[0] for id, label in self._labels.items() if label not in labels), None)


def _checked(ran: PythonResult, known_ends: Mapping[str, tuple[str, str]]) -> TableAnswer:
    if isinstance(ran.outcome, RunFailure):
        if ran.outcome.code in known_ends:
            code, what = known_ends[ran.outcome.code]
            raise Refused(what, "Ask for less, such as fewer rows or joins", code=code)
        raise Unavailable(
            f"The tables could not be queried: {ran.outcome.what}",
            "Ask for less, or use run_memory_code",
            code="SQL_FAILED",
        )
    try:
        return TableAnswer.model_validate_json(ran.stdout)
    except ValidationError:
        raise Unavailable("The tables gave no answer", "Ask again", code="SQL_FAILED") from None


def _refused(answer: TableAnswer) -> Refused:
    first = sorted(answer.tables, key=lambda one: one.unites is None)[:MOST_SHOWN]
    shown = "; ".join(f"{_names(one)} ({', '.join(column.name for column in one.columns)})" for one in first)
    tables: list[Json] = [one.model_dump(exclude_defaults=True) for one in first]
    details: JsonObject = {"tables": tables}
    what = (answer.error or "").rstrip().removesuffix("^").rstrip()  # the mark below the place, which no longer fits
    return Refused(what, f"Correct the SQL (DuckDB's). The tables are {shown}", code="SQL_ERROR", details=details)


def _names(table: KnownTable) -> str:
    """Name a table as SQL may call it, and say where it is from."""
    if table.unites is None:
        return f"{table.name} or {table.alias}" + (f" of {table.file}" if table.file else "")
    ends = table.unites if len(table.unites) < 4 else [table.unites[0], "…", table.unites[-1]]
    return f"{table.name}: {', '.join(ends)} together"
