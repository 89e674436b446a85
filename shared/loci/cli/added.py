"""The outcome of `loci add` for each file, for people and for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loci.cli.terminal import error_view, printable
from loci.core.errors import LociError
from loci.core.finding import counted


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


def not_stored(path: str, error: LociError) -> Added:
    """The outcome for a file that is not stored."""
    return Added(path, str(error), error)


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
