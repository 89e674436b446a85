"""Which files a search looks at, as conditions of the index."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import get_args

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.files.file import FileVersion, Kind, StoredFile
from loci.files.locators import sheet_label
from loci.files.reading import Format
from loci.search.ranking import Where

COLLECTION, PAST = "files", "files_past"
"""Of the current versions, and of those that newer versions replaced."""
KINDS: tuple[str, ...] = get_args(Kind)
FORMATS: tuple[str, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class VersionsThen:
    """The versions of files that were current at a time."""

    current: Mapping[str, FileVersion]
    """By the ids of the files."""
    trimmed: tuple[str, ...] = ()
    """Names of files of which only later versions are kept: one that is not kept any more may have been current."""


VersionsAt = Callable[[Owner, str], VersionsThen]
"""Those that were current at a time, such as 2026-05-01T12:00:00Z."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which files a search looks at. Nothing set: all of them."""

    ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Types of the reference, such as pdf_file, or formats, such as csv."""
    sheet: str | None = None
    since: str | None = None
    until: str | None = None
    """When they were added: YYYY-MM-DD, inclusive."""
    as_of: str | None = None
    """Search the versions that were current at this time, such as 2026-05-01T12:00:00Z."""

    @property
    def where(self) -> Where:
        """The conditions that hold for every version."""
        return Where(
            documents=self.ids,
            any_tags=tuple(f"kind:{one}" if one in KINDS else f"type:{one}" for one in self.kinds),
            any_words=() if self.sheet is None else (sheet_label(self.sheet),),
            since=self.since,
            until=self.until,
        )

    def parts(self, files: Mapping[str, StoredFile], versions: Mapping[str, FileVersion]) -> list[tuple[str, Where]]:
        """The collections to search and their conditions, to find these versions of the files."""
        now: list[str] = []
        past: list[str] = []
        for id, version in versions.items():
            if self.ids and id not in self.ids:
                continue
            file = files.get(id)
            if file is not None and file.current is not None and file.current.number == version.number:
                now.append(id)
            else:
                past.append(f"{id}@{version.number}")
        return [
            (collection, replace(self.where, documents=tuple(documents)))
            for collection, documents in ((COLLECTION, now), (PAST, past))
            if documents
        ]


def checked_scope(scope: Scope) -> Scope:
    """The scope with its names as Loci writes them; raises `Refused` if there can be nothing like that."""
    kinds = tuple(one.strip().lower().lstrip(".") for one in scope.kinds)
    unknown = [one for one in kinds if one not in KINDS and one not in FORMATS]
    if unknown:
        raise Refused(
            f"There is no type {unknown[0][:40]!r}",
            f"Use one of {', '.join(KINDS)}, or a format: {', '.join(FORMATS)}",
            code="UNKNOWN_TYPE",
        )
    since, until = (one and _time(one, time.min)[:10] for one in (scope.since, scope.until))
    as_of = scope.as_of and _time(scope.as_of, time.max)
    sheet = scope.sheet.strip() if scope.sheet and scope.sheet.strip() else None
    ids = tuple(dict.fromkeys(scope.ids))
    return Scope(ids, kinds, sheet, since or None, until or None, as_of or None)


def _time(given: str, of_day: time) -> str:
    """The time in UTC, to the second. A date alone is that time of the day."""
    try:
        if len(given.strip()) <= len("2026-05-01"):
            found = datetime.combine(date.fromisoformat(given.strip()), of_day, UTC)
        else:
            found = datetime.fromisoformat(given.strip())
        zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
        return zoned.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError) as error:  # OverflowError: in UTC it is before the year 1, or after 9999
        raise Refused(
            f"{given[:40]!r} is no time", "Write it as 2026-05-01 or 2026-05-01T12:00:00Z", code="BAD_TIME"
        ) from error
