"""Files that `loci add` adds one after the other, and the outcome for each, for people and for programs."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
    reason: str | None = None
    """The reason why it was not read."""
    failure: LociError | None = None
    """The error because of which it is not stored."""
    row: Mapping[str, object] | None = None
    """The answer of the tool add_memory about it. None: it is not stored."""
    id: str | None = None
    name: str = ""
    version: int = 0
    format: str | None = None
    pages: int | None = None
    sheets: Sequence[str] = ()
    tables: int = 0
    passages: int = 0
    remarks: Sequence[str] = ()
    is_new: bool = False

    @property
    def line(self) -> str:
        """For people."""
        if self.reason is not None:
            return f"{self.path}: {self.reason}"
        parts = [self.format or "", f"version {self.version}"]
        parts += [counted(self.pages, "page")] if self.pages else []
        parts += [counted(len(self.sheets), "sheet")] if self.sheets else []
        parts += [counted(self.tables, "table")] if self.tables else []
        parts += [counted(self.passages, "passage")]
        unchanged = "" if self.is_new else "; unchanged"
        remarks = "".join(f"\n    {one}" for one in self.remarks)
        return f"{self.name}  {self.id}  ({', '.join(parts)}{unchanged}){remarks}"


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
                done.append(Added(path, str(error), error))
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
            stored = [one.row for one in done if one.row is not None]
            return {"result": stored, "upload": None, **({"failed": failed} if failed else {})}


def text(done: Sequence[Added]) -> str:
    """For people: each file, and how many there are."""
    good = [one for one in done if one.reason is None]
    bad = [one for one in done if one.reason is not None]
    lines = ["\n".join(map(printable, one.line.split("\n"))) for one in good]
    lines += ["Not read:", *(f"  {printable(one.line)}" for one in bad)] if bad else []
    passages = sum(one.passages for one in good)
    return "\n".join(
        [*lines, f"{counted(len(good), 'file')} read, {counted(passages, 'passage')}; {len(bad)} not read."]
    )
