"""Archives that are damaged or made to do harm: each is refused, and nothing is changed before."""

import json
import stat
import struct
import zipfile
from collections.abc import Callable, Generator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from loci.app import App
from loci.authoring.edit_draft import EditDraft
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.gateway.capabilities.capability import capability_id
from loci.gateway.capabilities.code_text import identity_of
from loci.transfer import archive as archives
from loci.transfer.items import DAMAGED
from tests.support.archives import archive_of, document, imported, item, opened, server
from tests.support.each import each
from tests.support.serving import loci

Entries = dict[str, bytes]
GONE = object()
TEXT = "blobs/documents/notes-a"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    with closing(opened(folder / "data")) as app:
        for name in ("a", "b", "c"):
            draft = EditDraft("create", f"# {name}\n\n{name * 4000}\n")
            app.authoring.write(LOCAL, f"notes/{name}.md", draft, expect=None)
        app.files.add(LOCAL, "birds.txt", b"The heron waits.\n")
        with (folder / "good.zip").open("wb") as file:
            app.transfer.export(app.transfer.items(LOCAL, [*app.transfer.kinds]), file, lambda _, __: None)
    return folder / "good.zip"


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    return tmp_path / "bad.zip"


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Somebody who imports all of these, and must have nothing in the end."""
    with closing(opened(tmp_path_factory.mktemp("victim") / "data")) as app:
        yield app


def refused(archive: Path, app: App) -> Refused:
    """The error of an import, which has changed nothing."""
    with pytest.raises(Refused) as error:
        imported(app, archive, programs=True)
    assert (app.documents.newest(LOCAL), app.files.listed(LOCAL), app.tools.known(LOCAL)) == ([], [], [])
    assert "Nothing was changed" in str(error.value) or error.value.code != DAMAGED
    return error.value


def changed(good: Path, bad: Path, change: Callable[[Entries], object]) -> None:
    """Write an archive like the good one but for a change of its entries."""
    with zipfile.ZipFile(good) as archive:
        entries = {one: archive.read(one) for one in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def told_again(entries: Entries) -> None:
    """Have the manifest tell the truth about the records."""
    manifest: dict[str, Any] = json.loads(entries["manifest.json"])
    names = [one for one in entries if one.startswith("records/")]
    manifest["records"] = {
        name[8:-6]: {"count": entries[name].count(b"\n"), "sha256": sha256(entries[name]).hexdigest()} for name in names
    }
    entries["manifest.json"] = json.dumps(manifest).encode()


def with_fault(entries: Entries, name: str, place: str, value: object) -> None:
    """Put a value at a place of the first item of a kind, such as `value.path`, and have the manifest fit."""
    first, _, rest = entries[f"records/{name}.jsonl"].partition(b"\n")
    line: Any = json.loads(first)
    *above, last = place.split("|")
    held = line
    for one in above:
        held = held[one]
    if value is GONE:
        del held[last]
    else:
        held[last] = value
    entries[f"records/{name}.jsonl"] = json.dumps(line).encode() + b"\n" + rest
    told_again(entries)


def test_the_good_one_is_taken(good: Path, bad: Path, tmp_path: Path) -> None:
    """Else every refusal below could be for another reason."""
    changed(good, bad, told_again)
    with closing(opened(tmp_path / "data")) as app:
        for archive in (good, bad):
            report = imported(app, archive)
            assert (report.failed, report.conflicts) == ([], [])
        assert len(app.documents.newest(LOCAL)) == 3


def test_an_archive_that_is_cut_anywhere(good: Path, bad: Path, victim: App) -> None:
    whole = good.read_bytes()
    for end in (*range(0, len(whole), 512), *range(len(whole) - 30, len(whole))):
        bad.write_bytes(whole[:end])
        assert refused(bad, victim).code == DAMAGED


def test_any_flipped_byte_of_a_blob(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, lambda entries: entries.update({TEXT: entries[TEXT][:-1] + b"x"}))
    assert "notes-a" in str(refused(bad, victim))


@each("name", ["../evil.md", "/evil.md", "a/../../evil.md", "..\\evil.md", "C:/evil.md", "a//evil.md", "./evil.md"])
def test_a_path_that_leads_out(good: Path, bad: Path, victim: App, name: str) -> None:
    changed(good, bad, lambda entries: entries.update({name: b"x"}))
    assert refused(bad, victim).code == DAMAGED
    assert not [*bad.parent.parent.rglob("evil*")]


@each("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR])
def test_a_link_or_a_device(good: Path, bad: Path, victim: App, kind: int) -> None:
    changed(good, bad, lambda _: None)
    with zipfile.ZipFile(bad, "a") as archive:
        info = zipfile.ZipInfo("blobs/link")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert "not a plain file" in str(refused(bad, victim))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, lambda _: None)
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(TEXT, b"other")
    assert "two files of one name" in str(refused(bad, victim))


def test_a_small_archive_that_grows_without_end(good: Path, bad: Path, victim: App, monkeypatch: Any) -> None:
    monkeypatch.setattr(archives, "SPARE", 1 << 20)
    changed(good, bad, lambda entries: entries.update({"blobs/bomb": bytes(60 << 20)}))
    assert bad.stat().st_size < 200_000
    assert "proportion" in str(refused(bad, victim))


@each(("at", "size"), [(20, 3), (24, 3), (24, -100)])
def test_a_size_in_the_directory_that_is_a_lie(good: Path, bad: Path, victim: App, at: int, size: int) -> None:
    """Packed (20) or unpacked (24)."""
    changed(good, bad, lambda _: None)
    whole = bytearray(bad.read_bytes())
    place = whole.rindex(TEXT.encode()) - 46 + at
    [real] = struct.unpack_from("<I", whole, place)
    struct.pack_into("<I", whole, place, size if size > 0 else real + size)
    bad.write_bytes(whole)
    assert refused(bad, victim).code == DAMAGED


def test_files_that_overlap(good: Path, bad: Path, victim: App) -> None:
    """A bomb without nesting: many names for the same packed bytes."""
    changed(good, bad, lambda _: None)
    whole = bytearray(bad.read_bytes())
    at = whole.rindex(b"blobs/documents/notes-b")
    whole[at - 4 : at] = (0).to_bytes(4, "little")
    bad.write_bytes(whole)
    assert refused(bad, victim).code == DAMAGED


def test_a_file_that_is_packed_in_another_way(good: Path, bad: Path, victim: App) -> None:
    with zipfile.ZipFile(good) as archive, zipfile.ZipFile(bad, "w", zipfile.ZIP_BZIP2) as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name))
    assert "packed in a way" in str(refused(bad, victim))


@each(
    ("place", "value"),
    [
        ("value|path", "../../evil.md"),
        ("value|path", "/evil.md"),
        ("value|path", "notes/evil\n.md"),
        ("value|path", "notes/run.sh"),
        ("value|path", 7),
        ("value|path", GONE),
        ("value|root", "a-folder-of-this-machine"),
        ("value|former", [7]),
        ("value|changed_on", {"a": 1}),
        ("value|bytes", 10**400),
        ("value|bytes", float("nan")),
        ("value|title", "\ud800"),
        ("value", []),
        ("blobs", {}),
        ("blobs", GONE),
        ("blobs|documents/notes-b", "0" * 64),
        ("blobs|../../../etc/passwd", "0" * 64),
        ("blobs|documents/notes-a", "0" * 64),
        ("blobs|documents/notes-a", 7),
        ("key", "zzzz"),
        ("key", "k" * 3000),
    ],
)
def test_a_document_that_is_not_written_as_they_are(
    good: Path, bad: Path, victim: App, place: str, value: object
) -> None:
    changed(good, bad, lambda entries: with_fault(entries, "documents", place, value))
    assert refused(bad, victim).code == DAMAGED


@each(
    ("place", "value"),
    [
        ("value|name", "../birds.txt"),
        ("value|number", 0),
        ("value|number", 2),
        ("value|sha256", "0" * 64),
        ("value|versions", []),
        ("value|lineage", "x"),
    ],
)
def test_a_file_that_is_not_written_as_they_are(good: Path, bad: Path, victim: App, place: str, value: object) -> None:
    changed(good, bad, lambda entries: with_fault(entries, "files", place, value))
    assert refused(bad, victim).code == DAMAGED


@each("raw", [b"", b"{", b"[]", b"{}", b"null", b'{"format":"loci-archive"}', b"[" * 100_000, b"\xff\xfe"])
def test_a_manifest_that_is_none(good: Path, bad: Path, victim: App, raw: bytes) -> None:
    changed(good, bad, lambda entries: entries.update({"manifest.json": raw}))
    refused(bad, victim)


def test_an_archive_of_a_later_format_or_with_unknown_kinds_is_named(good: Path, bad: Path, victim: App) -> None:
    def later(entries: Entries) -> None:
        entries["manifest.json"] = json.dumps({**json.loads(entries["manifest.json"]), "version": 3}).encode()

    def secret(entries: Entries) -> None:
        entries["records/tool_secret.jsonl"] = b'{"key":"A","value":{"closed":"x"},"blobs":{}}\n'
        told_again(entries)

    changed(good, bad, later)
    assert refused(bad, victim).code == "UNKNOWN_ARCHIVE"
    changed(good, bad, secret)
    assert "'tool_secret', which this Loci does not take" in str(refused(bad, victim))


def test_records_that_the_manifest_does_not_count(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, lambda entries: entries.update({"records/documents.jsonl": b""}))
    assert "its documents do not match" in str(refused(bad, victim))
    changed(good, bad, lambda entries: entries.pop("records/files.jsonl"))
    assert "does not match its records" in str(refused(bad, victim))


@each(("first", "second"), [("a/b.md", "a/B.md"), ("a/e\u0301.md", "a/\u00e9.md"), ("a/b.md", "a-b.md")])
def test_documents_whose_paths_differ_in_little_are_both_there(
    bad: Path, tmp_path: Path, first: str, second: str
) -> None:
    bad.write_bytes(archive_of(document("a-b", first, b"# One\n"), document("a-b-2", second, b"# Two\n")))
    with closing(opened(Path(mkdtemp(dir=tmp_path)) / "data")) as app:
        assert imported(app, bad).taken == {"documents": 2}
        assert {one.path for one in app.documents.newest(LOCAL)} == {first, second}


def test_two_documents_at_one_path(bad: Path, tmp_path: Path) -> None:
    bad.write_bytes(archive_of(document("a-b", "a/b.md", b"# One\n"), document("a-b-2", "a/b.md", b"# Two\n")))
    with closing(opened(tmp_path / "data")) as app:
        report = imported(app, bad)
        assert (report.taken, len(report.conflicts)) == ({"documents": 1}, 1)


def test_code_is_known_by_itself_and_not_as_an_archive_says(bad: Path, tmp_path: Path) -> None:
    version: dict[str, Any] = {"number": 1, "identity": "0" * 32, "tools": [], "successes": 99, "failures": 0}
    value: dict[str, Any] = {
        "intent": "send the report",
        "other_intents": [],
        "versions": [{**version, "learned_at": 1.0, "used_at": 1.0}],
        "versions_made": 1,
        "codes": {"0" * 32: {"code": "await tools.evil();", "needs": []}},
    }
    bad.write_bytes(archive_of(item("capabilities", capability_id("send the report"), value, {})))
    with closing(opened(tmp_path / "data")) as app:
        assert not imported(app, bad).left_out
        [one] = app.tools.capabilities.all(LOCAL)
        assert [version.identity for version in one.versions] == [identity_of("await tools.evil();")]


def test_a_program_of_this_machine_is_not_configured_unasked(bad: Path, tmp_path: Path) -> None:
    bad.write_bytes(archive_of(server("evil", {"command": "sh", "args": ["-c", "touch /tmp/owned"]})))
    ended = loci(tmp_path / "data", "import", str(bad))
    assert "it starts a program of this machine (sh -c touch /tmp/owned)" in ended.stdout
    with closing(opened(tmp_path / "data")) as app:
        assert app.tools.known(LOCAL) == []
