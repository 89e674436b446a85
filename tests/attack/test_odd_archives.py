"""Archives whose names, lists and bytes are odd: each is refused as damaged, or taken without harm."""

import json
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.transfer.archive_reader import reading
from loci.transfer.items import DAMAGED, Wish
from loci.transfer.moving import Moved, Mover
from tests.attack.test_archives import Entries, bad, changed, good, listed_again, opened, victim
from tests.support.each import each

__all__ = ["bad", "good", "victim"]


def fresh(folder: Path) -> Path:
    """The data of somebody who has nothing yet."""
    return Path(mkdtemp(dir=folder)) / "data"


def imported(app: App, archive: Path) -> Moved:
    with reading(archive, app.transfer.parts) as read:
        mover = Mover(read, app.transfer.parts)
        mover.into(app.transfer.of(LOCAL), Wish(both=True, programs=True))
    return mover.moved


def damaged(app: App, archive: Path) -> str:
    """The error of the import, which has changed nothing."""
    with pytest.raises(Refused) as error:
        imported(app, archive)
    assert error.value.code == DAMAGED
    assert (app.documents.newest(LOCAL), app.files.listed(LOCAL)) == ([], [])
    return str(error.value)


def renamed(archive: Path, old: bytes, new: bytes) -> None:
    """Put other bytes in the place of a name, in front of the file and in the directory."""
    assert len(old) == len(new)
    whole = archive.read_bytes()
    assert whole.count(old) >= 2
    archive.write_bytes(whole.replace(old, new))


def test_an_archive_that_is_cut_anywhere(good: Path, bad: Path, victim: App) -> None:
    changed(
        good,
        bad,
        lambda entries: (entries.update({f"x{at}": bytes([at]) * 999 for at in range(60)}), listed_again(entries)),
    )
    whole = bad.read_bytes()
    ends = range(0, len(whole), 1024)
    assert len(ends) > 10
    for end in (*ends, *range(len(whole) - 30, len(whole))):
        bad.write_bytes(whole[:end])
        damaged(victim, bad)


@each(
    "name",
    [
        b"\xff\xfe_invalid_utf8",
        b"name\0hidden.md....",
        b"..\\..\\..\\evil.md..",
        b"/absolute/evil.md..",
        b"../../../../evil.md",
        b"a/../../../evil.md.",
        b"C:\\Windows\\evil.md",
        b"documents//evil.mdd",
    ],
)
@each("is_utf8", [True, False])
def test_a_name_that_no_archive_of_loci_has(good: Path, bad: Path, victim: App, name: bytes, is_utf8: bool) -> None:
    plain = "a" * len(name.ljust(19, b"."))
    changed(good, bad, lambda entries: (entries.update({plain: b"x"}), listed_again(entries)))
    renamed(bad, plain.encode(), name.ljust(19, b"."))
    if is_utf8:
        with_utf8_names(bad)
    damaged(victim, bad)
    assert not [*bad.parent.rglob("evil*")]


def with_utf8_names(archive: Path) -> None:
    """Have the directory say that all names are UTF-8."""
    whole = bytearray(archive.read_bytes())
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        found = whole.find(mark)
        while found >= 0:
            flags = int.from_bytes(whole[found + at : found + at + 2], "little")
            whole[found + at : found + at + 2] = struct.pack("<H", flags | 0x800)
            found = whole.find(mark, found + 4)
    archive.write_bytes(whole)


@each("name", ["CON", "aux.md", "nul", "COM1.md", "trailing.", "trailing ", "a" * 300, "e\u0301.md", "\u202egm.md"])
def test_a_name_that_some_systems_cannot_have_is_no_file_here(good: Path, bad: Path, tmp_path: Path, name: str) -> None:
    """Nothing is unpacked: such a name leads nowhere, and what the lists say comes in."""
    changed(good, bad, lambda entries: (entries.update({f"documents/{name}": b"x"}), listed_again(entries)))
    with closing(opened(fresh(tmp_path))) as app:
        assert imported(app, bad).taken == {"documents": 3, "files": 1}
        assert [one.path for one in app.documents.newest(LOCAL) if one.path[:6] != "notes/"] == []


def two_documents(first: str, second: str) -> Callable[[Entries], object]:
    """Have two documents more at these paths, in the order of their ids."""

    def change(entries: Entries) -> None:
        lines = [json.loads(one) for one in entries["documents.jsonl"].splitlines()]
        for number, path in enumerate((first, second)):
            text = f"# {number}\n".encode()
            entries[f"documents/more{number}.md"] = text
            content = {"name": "text", "file": f"documents/more{number}.md", "sha256": sha256(text).hexdigest()}
            lines.append({"key": f"z{number}", "about": {"path": path}, "contents": [{**content, "bytes": len(text)}]})
        entries["documents.jsonl"] = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
        manifest: dict[str, Any] = json.loads(entries["manifest.json"])
        manifest["counts"]["documents"] += 2
        entries["manifest.json"] = json.dumps(manifest).encode()
        listed_again(entries)

    return change


@each(
    ("first", "second"),
    [("more/A.md", "more/a.md"), ("more/\u00e9.md", "more/e\u0301.md"), ("more/x.md", "more/x.txt")],
)
def test_documents_whose_paths_differ_in_little_are_both_there(
    good: Path, bad: Path, tmp_path: Path, first: str, second: str
) -> None:
    changed(good, bad, two_documents(first, second))
    with closing(opened(fresh(tmp_path))) as app:
        moved = imported(app, bad)
        assert (moved.taken["documents"], moved.failed) == (5, [])
        archive = app.documents.archive
        texts = {one.path: archive.text(LOCAL, one.id) for one in app.documents.newest(LOCAL)}
        assert (texts[first], texts[second]) == (b"# 0\n", b"# 1\n")


def test_two_documents_at_one_path(good: Path, bad: Path, tmp_path: Path) -> None:
    changed(good, bad, two_documents("more/a.md", "more/a.md"))
    with closing(opened(tmp_path / "data")) as app:
        imported(app, bad)
        assert sum(one.path == "more/a.md" for one in app.documents.newest(LOCAL)) == 1


def test_a_document_that_is_listed_twice(good: Path, bad: Path, victim: App) -> None:
    def twice(entries: Entries) -> None:
        lines = entries["documents.jsonl"].splitlines(keepends=True)
        entries["documents.jsonl"] = lines[0] + b"".join(lines)
        manifest: dict[str, Any] = json.loads(entries["manifest.json"])
        manifest["counts"]["documents"] += 1
        entries["manifest.json"] = json.dumps(manifest).encode()
        listed_again(entries)

    changed(good, bad, twice)
    assert "not in their order" in damaged(victim, bad)


@each(
    "counts",
    [
        {},
        {"documents": 3},
        {"documents": 2, "files": 1},
        {"documents": 3, "files": 1, "runs": 1},
        {"documents": 3, "files": 1, "runs": 0},
        {"documents": -3, "files": 1},
        {"documents": True, "files": 1},
        {"documents": "3", "files": 1},
        {"documents": 3, "files": 1, "secrets": 0},
        [],
        None,
    ],
)
def test_a_manifest_that_counts_other_things(good: Path, bad: Path, victim: App, counts: object) -> None:
    def change(entries: Entries) -> None:
        manifest: dict[str, Any] = json.loads(entries["manifest.json"])
        entries["manifest.json"] = json.dumps({**manifest, "counts": counts}).encode()

    changed(good, bad, change)
    damaged(victim, bad)


@each(
    ("missing", "is_listed"),
    [
        ("documents.jsonl", True),
        ("documents.jsonl", False),
        ("documents/notes/a.md", True),
        ("documents/notes/a.md", False),
        ("entries.jsonl", True),
        ("manifest.json", True),
        ("README.txt", True),
    ],
)
def test_a_file_that_is_not_there(good: Path, bad: Path, victim: App, missing: str, is_listed: bool) -> None:
    def change(entries: Entries) -> None:
        del entries[missing]
        if not is_listed:
            listed_again(entries)

    changed(good, bad, change)
    damaged(victim, bad)


@each("size", [0, 1, 4001, 2**31, 2**32 - 1])
@each("at", [20, 24])
def test_a_size_in_the_directory_that_is_a_lie(good: Path, bad: Path, victim: App, at: int, size: int) -> None:
    """Packed (20) or unpacked (24)."""
    changed(good, bad, listed_again)
    whole = bytearray(bad.read_bytes())
    entry = whole.rindex(b"documents/notes/a.md") - 46
    assert whole[entry : entry + 4] == b"PK\x01\x02"
    whole[entry + at : entry + at + 4] = size.to_bytes(4, "little")
    bad.write_bytes(whole)
    damaged(victim, bad)


@each("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_file_that_is_packed_in_another_way(good: Path, bad: Path, victim: App, method: int) -> None:
    changed(good, bad, listed_again)
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr("more", bytes(1 << 20), compress_type=method)
    assert "packed in a way" in damaged(victim, bad)


def test_files_that_share_their_bytes(good: Path, bad: Path, victim: App) -> None:
    """A bomb without nesting: many names for the same packed bytes."""
    changed(good, bad, listed_again)
    with zipfile.ZipFile(bad, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(10 << 20))
        for number in range(20):
            again = zipfile.ZipInfo(f"bomb{number}")
            first = archive.getinfo("bomb")
            again.header_offset, again.file_size, again.compress_size = (
                first.header_offset,
                first.file_size,
                first.compress_size,
            )
            again.CRC, again.compress_type = first.CRC, first.compress_type
            archive.filelist.append(again)
            archive.NameToInfo[again.filename] = again
    assert "overlap" in damaged(victim, bad)
