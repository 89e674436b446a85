"""Questions in SQL about the tables of stored files. They are answered behind the wall, in an executor of the owner."""

import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import PurePath

from pydantic import BaseModel, Field, JsonValue, ValidationError

from loci.code.ports import Executors, PythonResult, RunFailure, StoredContent
from loci.core.errors import NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.files.api import Files

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
    """A table of the file, as SQL names it."""

    name: str = Field(description="t1, t2, …: in the order of the file")
    alias: str = Field(description="another name for it: of its title, sheet or file")
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
    """Asks in the owner's executors. Each keeps the tables of the file that it was asked about last."""

    def __init__(
        self, executors: Callable[[], Executors], files: Callable[[], Files], clock: Callable[[], float]
    ) -> None:
        self._executors = executors
        self._files = files
        self._clock = clock
        self._seats: dict[str, set[int]] = {}
        self._lock = threading.Lock()

    def ask(self, owner: Owner, memory_id: str, sql: str, limit: int) -> TableAnswer:
        """The tables of the file, and the rows that answer, if anything is asked."""
        if len(sql) > LONGEST_SQL:
            raise Refused(f"The SQL is longer than {LONGEST_SQL:,} characters", "Shorten it", code="SQL_TOO_LONG")
        files = self._files()
        read = files.tables(owner, memory_id)
        stem = PurePath(read.name).stem
        path = f"get_memory_path({memory_id!r})"
        load = f"{INSIDE}.load({path}, {stem!r})"
        question = f"{INSIDE}.ask({path}, {sql!r}, {limit})" if sql.strip() else load
        only = _OnlyFile(memory_id, StoredContent("reading.json.gz", read.version, read.content))
        answer = self._in_seat(owner, partial(self._answer, owner, question, load, only))
        if answer.error is not None:
            raise _refused(answer)
        return answer

    def _answer(self, owner: Owner, question: str, load: str, only: "_OnlyFile", id: str) -> TableAnswer:
        """Ask in this executor. If it does not hold the tables, load them, which has more time, and ask again."""

        def run(code: str) -> TableAnswer:
            keep_until, seconds = self._clock() + KEPT_SECONDS, None if code == load else SECONDS
            ran = self._executors().run(owner, id, code, only, keep_until, seconds=seconds)
            return _checked(ran, {} if code == load else ENDED)

        answer = run(question)
        if not answer.tables:
            if not run(load).tables:
                advice = f"Read it again: loci files read {only.id}"
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


class _OnlyFile:
    """`StoredFiles` with what was read out of one file."""

    def __init__(self, id: str, stored: StoredContent) -> None:
        self.id = id
        self._stored = stored

    def read(self, owner: Owner, id: str) -> StoredContent:  # noqa: ARG002 (names of the port)
        if id != self.id:
            raise NotFound(f"There is no file {id[:80]!r}", "Use the id of the file", code="MEMORY_NOT_FOUND")
        return self._stored


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
    shown = "; ".join(
        f"{one.name} or {one.alias} ({', '.join(column.name for column in one.columns)})"
        for one in answer.tables[:MOST_SHOWN]
    )
    tables: list[Json] = [one.model_dump(exclude_defaults=True) for one in answer.tables[:MOST_SHOWN]]
    details: JsonObject = {"tables": tables}
    what = (answer.error or "").rstrip().removesuffix("^").rstrip()  # the mark below the place, which no longer fits
    return Refused(what, f"Correct the SQL (DuckDB's). The tables are {shown}", code="SQL_ERROR", details=details)
