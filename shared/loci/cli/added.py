"""Files that `loci add` adds one after the other, and the outcome for each, for people and for programs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from loci.cli.terminal import error_view, printable, shown_progress
from loci.core.errors import LociError, Refused
from loci.core.finding import counted

STDIN: Final = "-"
Stage = Callable[[str], None]
"""Called with what is done with a file just now."""


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome for one file."""

    path: str
    failure: LociError | None = None
    """The error because of which it is not stored."""
    row: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer of the tool ingestion_status about it, if it is stored."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The answer of the tool fetch_memory about it, if it is stored."""
    is_new: bool = False

    @property
    def reason(self) -> str | None:
        """The reason why it was not read."""
        if self.failure is not None:
            return str(self.failure)
        return None if self.row["status"] == "okay" else self.row["reason"] or f"It is {self.row['status']}"

    @property
    def line(self) -> str:
        """For people."""
        if self.reason is not None:
            return f"{self.path}: {self.reason}"
        row, facts = self.row, self.facts
        parts = [facts.get("format") or "", f"version {row['version']}"]
        parts += [counted(facts["num_pages"], "page")] if facts.get("num_pages") else []
        parts += [counted(len(facts["sheet_names"]), "sheet")] if facts.get("sheet_names") else []
        parts += [counted(facts["num_tables"], "table")] if facts.get("num_tables") else []
        parts += [counted(row["num_chunks"], "passage")]
        unchanged = "" if self.is_new else "; unchanged"
        remarks = "".join(f"\n    {one}" for one in facts.get("remarks") or ())
        return f"{row['name']}  {row['id']}  ({', '.join(parts)}{unchanged}){remarks}"


def add_each(wanted: Sequence[str], add: Callable[[str, Stage], Added]) -> list[Added]:
    """Add the files, and show how far that is. One that fails does not keep the others from it."""
    done: list[Added] = []
    with shown_progress() as progress:
        for number, path in enumerate(wanted, 1):

            def stage(text: str, path: str = path, before: int = number - 1) -> None:
                if sys.stderr.isatty():
                    progress(before, len(wanted), f"{path}: {text}")

            try:
                done.append(add(path, stage))
            except LociError as error:
                done.append(Added(path, error))
            if len(wanted) > 1 or done[-1].failure is None:
                progress(number, len(wanted), path)
    return done


def content_of(path: str, check_size: Callable[[int], None] = lambda _: None) -> tuple[bytes, str]:
    """The content of a file and its name, or what arrives at standard input."""
    if path == STDIN:
        return sys.stdin.buffer.read(), STDIN
    found = Path(path).expanduser()
    try:
        check_size(found.stat().st_size)
        return found.read_bytes(), found.name
    except OSError as error:
        raise Refused(f"Cannot read it ({error.strerror})", "Correct the path or its permissions") from None


def view(done: Sequence[Added]) -> dict[str, object]:
    """For programs: the answer of add_memory for all files, and the errors of those that are not stored.

    Raises the error if there is no other file.
    """
    match done:
        case [Added(path=path, failure=LociError() as error)]:
            raise type(error)(f"{path}: {error.what}", error.resolution, code=error.code)
        case _:
            failed = [{"path": one.path, **error_view(one.failure)} for one in done if one.failure]
            stored = [one.row for one in done if one.row]
            return {"result": stored, "upload": None, **({"failed": failed} if failed else {})}


def text(done: Sequence[Added]) -> str:
    """For people: each file, and how many there are."""
    good = [one for one in done if one.reason is None]
    bad = [one for one in done if one.reason is not None]
    lines = ["\n".join(map(printable, one.line.split("\n"))) for one in good]
    lines += ["Not read:", *(f"  {printable(one.line)}" for one in bad)] if bad else []
    passages = sum(one.row["num_chunks"] for one in good)
    return "\n".join(
        [*lines, f"{counted(len(good), 'file')} read, {counted(passages, 'passage')}; {len(bad)} not read."]
    )
