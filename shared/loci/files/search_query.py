"""A question to the files: what is asked, and in which files it is searched.

It is asked in the reference's five fields, any of them, or in one plain sentence.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Final, get_args

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.files.file import FileVersion, Kind, StoredFile
from loci.files.locators import sheet_label
from loci.files.reading import Format
from loci.search.ranking import Where
from loci.search.words import Question

MOST_TERMS = 50
LONGEST = 2000
ENTITY = re.compile(r"[\"“]([^\"”]{2,80})[\"”]|\b(?:[A-Z][\w&.-]*(?:\s+(?:of|de|and)\s+)?(?:\s+[A-Z][\w&.-]*)*)")
CHINESE_NOISE = re.compile(
    r"为什么|为何|什么|怎么样|怎么|怎样|如何|哪里|哪儿|哪个|哪些|哪|多少|几个|是否|吗|呢|吧|的|了|是|在|有|和|与|或|及|请问|请"
)
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def parsed(
    *,
    cleaned: str = "",
    entities: Sequence[str] = (),
    keywords: Sequence[str] = (),
    boosts: Sequence[str] = (),
    rewritten: str = "",
) -> Question:
    """The question of the fields that are given. Missing fields are derived."""
    cleaned, rewritten = cleaned[:LONGEST].strip(), rewritten[:LONGEST].strip()
    entities, keywords, boosts = (_terms(one) for one in (entities, keywords, boosts))
    plain = cleaned or rewritten or " ".join([*keywords, *entities, *boosts])[:LONGEST]
    words = " ".join(without_noise(one) for one in (plain, *keywords))
    return Question.weighted(rewritten or plain, words, [*(entities or named_in(plain)), *boosts])


def named_in(text: str) -> list[str]:
    """The names in a sentence, as far as they can be recognised: in quotation marks, or capitalised inside it."""
    found: list[str] = []
    for match in ENTITY.finditer(text):
        name = match[1] or (
            match[0] if match.start() and not text[: match.start()].rstrip().endswith((".", "?", "!")) else ""
        )
        if len(name) > 1:
            found.append(name.strip())
    return list(dict.fromkeys(found))[:MOST_TERMS]


def without_noise(text: str) -> str:
    """The text without Chinese words that only ask or join, unless they are a part of a word: 和 in 和平."""
    return HAN.sub(lambda run: _without_noise(run[0]), text)


def _without_noise(run: str) -> str:
    noise = [match.span() for match in CHINESE_NOISE.finditer(run)]
    begins, ends = [0, *(end for _, end in noise)], [*(begin for begin, _ in noise), len(run)]
    # A single character is the rest of a word: it stays with those beside it.
    return " ".join(
        run[max(0, begin - 1) : end + 1] if end == begin + 1 else run[begin:end]
        for begin, end in zip(begins, ends, strict=True)
    )


def _terms(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(one[:LONGEST].strip() for one in given[:MOST_TERMS] if one.strip()))


COLLECTION, PAST = "files", "files_past"
"""The collections of the current versions, and of versions that newer ones replaced."""
KINDS: tuple[str, ...] = get_args(Kind)
FORMATS: tuple[str, ...] = get_args(Format)


@dataclass(frozen=True, slots=True)
class VersionsThen:
    """The versions of files that were current at a time."""

    current: Mapping[str, FileVersion]
    """The versions by the ids of their files."""
    trimmed: tuple[str, ...] = ()
    """Names of files with only later versions: one that is no longer kept may have been current then."""


VersionsAt = Callable[[Owner, str], VersionsThen]
"""Finds the versions that were current at a time, such as 2026-05-01T12:00:00Z."""


@dataclass(frozen=True, slots=True)
class FileScope:
    """The files that a search looks at: all of them if nothing is set."""

    ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Types of the reference, such as pdf_file, or formats, such as csv."""
    sheet: str | None = None
    since: str | None = None
    until: str | None = None
    """The last day on which they were added: YYYY-MM-DD, inclusive."""
    as_of: str | None = None
    """Search the versions that were current at this time, such as 2026-05-01T12:00:00Z."""
    folder: str | None = None
    """Only files that lie in this folder, or below it: `reports/2023` is one of `a/reports/2023/b`."""

    def has_kind(self, file: StoredFile) -> bool:
        """True if the file is of one of the types, as far as that is known of a file that was not read."""
        ending = file.name.rpartition(".")[2].lower()
        return not self.kinds or bool({file.kind, file.shown.format or ending} & {*self.kinds})

    def has(self, file: StoredFile) -> bool:
        """True if the file lies in the folder, is of one of the types, and came at the time."""
        day = file.newest.added_at[:10]
        in_time = (self.since or day) <= day <= (self.until or day)
        return in_time and self.has_kind(file) and (not self.folder or is_in_folder(file, self.folder))

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


EVERY_FILE: Final = FileScope()


def checked_scope(scope: FileScope) -> FileScope:
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
    folder = "/".join(one for one in (scope.folder or "").replace("\\", "/").split("/") if one not in ("", ".")) or None
    return FileScope(ids, kinds, sheet, since or None, until or None, as_of or None, folder)


def is_in_folder(file: StoredFile, folder: str) -> bool:
    """True if the folder is one of those that the file lies in, or some of them in a row."""
    return f"/{folder}/".casefold() in f"/{file.full_path}".casefold()


def folders_of(files: Iterable[StoredFile]) -> list[str]:
    """The folders of the files, each once."""
    return sorted({path for one in files if (path := one.full_path.rpartition("/")[0])})


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
            f"{given[:40]!r} is not a time", "Write it as 2026-05-01 or 2026-05-01T12:00:00Z", code="BAD_TIME"
        ) from error
