"""The outcome of `loci add` for each file, for people and for programs."""

from collections.abc import Sequence
from dataclasses import dataclass

from loci.cli.terminal import printable
from loci.core.finding import counted


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome for one file."""

    path: str
    reason: str | None = None
    """Why it was not read."""
    id: str | None = None
    """None: it is not stored."""
    name: str = ""
    status: str = "error"
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


def view(one: Added) -> dict[str, object]:
    """For programs."""
    if one.id is None:
        return {"path": one.path, "id": None, "status": "error", "reason": one.reason}
    return {
        "path": one.path,
        "id": one.id,
        "name": one.name,
        "status": one.status,
        "reason": one.reason,
        "version": one.version,
        "format": one.format,
        "pages": one.pages,
        "sheets": list(one.sheets),
        "tables": one.tables,
        "passages": one.passages,
        "remarks": list(one.remarks),
    }


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
