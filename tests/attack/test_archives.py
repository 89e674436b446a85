"""Archives that are damaged or made to do harm: each is refused, and nothing is changed before."""

import json
import stat
import zipfile
from collections.abc import Callable, Generator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.documents.writing.authoring import EditDraft
from loci.tools.capabilities.capability import capability_id
from loci.transfer import archive_reader
from loci.transfer.archive_reader import reading
from loci.transfer.archive_writer import writing
from loci.transfer.items import DAMAGED, Wish
from loci.transfer.moving import Mover
from loci.transfer.unfinished import unfinished
from tests.support.each import each
from tests.support.serving import loci

Entries = dict[str, bytes]
GONE = object()


def opened(data: Path) -> App:
    return build_app(load_settings({"data": data, "models": data.parent / "models"}))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    app = opened(folder / "data")
    for name in ("a", "b", "c"):
        draft = EditDraft("create", f"# {name}\n\n{name * 4000}\n")
        app.documents.changes.write(LOCAL, f"notes/{name}.md", draft, expected_hash=None)
    app.files.add(LOCAL, "birds.txt", b"The heron waits.\n")
    archive = folder / "good.zip"
    parts = app.transfer.parts
    with unfinished(archive) as part, writing(part, parts, lambda: "2026-01-01T00:00:00Z") as writer:
        Mover(app.transfer.of(LOCAL, app.transfer.names(with_results=True)), parts).into_archive(writer)
    app.close()
    return archive


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
    with pytest.raises(Refused) as error, reading(archive, app.transfer.parts) as read:
        Mover(read, app.transfer.parts).into(app.transfer.of(LOCAL), Wish(both=True, programs=True))
    assert app.documents.newest(LOCAL) == []
    assert app.files.listed(LOCAL) == []
    assert app.tools.known(LOCAL) == []
    return error.value


def changed(good: Path, bad: Path, change: Callable[[Entries], object]) -> None:
    """Write an archive like the good one but for a change of its entries; the lists tell the truth about them."""
    with zipfile.ZipFile(good) as archive:
        entries = {one: archive.read(one) for one in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)


def listed_again(entries: Entries) -> None:
    """Make the lists of an archive fit what is in it."""
    manifest: dict[str, Any] = json.loads(entries["manifest.json"])
    names = [one for one in entries if one not in ("manifest.json", "entries.jsonl")]
    lines = [{"path": one, "sha256": sha256(entries[one]).hexdigest(), "bytes": len(entries[one])} for one in names]
    entries["entries.jsonl"] = "".join(json.dumps(one) + "\n" for one in lines).encode()
    listed = entries["entries.jsonl"]
    manifest["entries"] = {"sha256": sha256(listed).hexdigest(), "bytes": len(listed)}
    entries["manifest.json"] = json.dumps(manifest).encode()


def with_item(entries: Entries, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the first item of a part, and make the lists fit."""
    first, _, rest = entries[f"{name}.jsonl"].partition(b"\n")
    item = json.loads(first)
    change(item)
    entries[f"{name}.jsonl"] = json.dumps(item).encode() + b"\n" + rest
    listed_again(entries)


def test_the_good_one_is_taken(good: Path, bad: Path, tmp_path: Path) -> None:
    """Else every refusal below could be for another reason."""
    changed(good, bad, listed_again)
    app = opened(tmp_path / "data")
    for archive in (good, bad):
        with reading(archive, app.transfer.parts) as read:
            mover = Mover(read, app.transfer.parts)
            mover.into(app.transfer.of(LOCAL), Wish())
            assert mover.moved.failed == []
    assert len(app.documents.newest(LOCAL)) == 3


@each("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_archive(good: Path, bad: Path, victim: App, share: float) -> None:
    whole = good.read_bytes()
    bad.write_bytes(whole[: int(len(whole) * share)])
    assert refused(bad, victim).code == DAMAGED


def test_any_flipped_byte_of_a_content(good: Path, bad: Path, victim: App) -> None:
    whole = bytearray(good.read_bytes())
    with zipfile.ZipFile(good) as archive:
        info = archive.getinfo("documents/notes/b.md")
    for offset in (len(info.filename) + 31, len(info.filename) + 40):
        flipped = whole.copy()
        flipped[info.header_offset + offset] ^= 0x55
        bad.write_bytes(flipped)
        assert refused(bad, victim).code == DAMAGED


@each(
    "name",
    [
        "../evil.md",
        "/evil.md",
        "documents/../../evil.md",
        "a//b.md",
        "C:/evil.md",
        "..\\evil.md",
        "./evil.md",
        "a/",
        "a/.",
    ],
)
def test_a_path_that_leads_out(good: Path, bad: Path, victim: App, name: str) -> None:
    def add(entries: Entries) -> None:
        entries[name] = b"x"
        listed_again(entries)

    changed(good, bad, add)
    assert refused(bad, victim).code == DAMAGED
    for folder in (bad.parent, victim.settings.data.parent):
        assert not list(folder.rglob("evil*"))


@each("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFDIR])
def test_a_link_or_a_device(good: Path, bad: Path, victim: App, kind: int) -> None:
    changed(good, bad, listed_again)
    info = zipfile.ZipInfo("documents/notes/link.md")
    info.external_attr = (kind | 0o777) << 16
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr(info, "/etc/passwd")
    assert "no plain file" in str(refused(bad, victim))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_is_there_twice(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, listed_again)
    with zipfile.ZipFile(bad, "a") as archive:
        archive.writestr("documents/notes/a.md", "# Another\n")
    assert "twice" in str(refused(bad, victim))


def test_a_file_that_no_list_names(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, lambda entries: entries.update({"documents/notes/more.md": b"# More\n"}))
    assert "its list lacks" in str(refused(bad, victim))


def test_a_content_with_another_hash(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, lambda entries: entries.update({"documents/notes/a.md": entries["documents/notes/b.md"]}))
    assert "hash" in str(refused(bad, victim))


def test_a_small_archive_that_grows_without_end(good: Path, bad: Path, victim: App, monkeypatch: Any) -> None:
    monkeypatch.setattr(archive_reader, "SPARE", 1 << 20)

    def add(entries: Entries) -> None:
        entries["documents/bomb.md"] = bytes(60 << 20)
        listed_again(entries)

    changed(good, bad, add)
    assert bad.stat().st_size < 200_000
    assert "proportion" in str(refused(bad, victim))


def test_a_size_that_is_a_lie(good: Path, bad: Path, victim: App) -> None:
    """The directory says that a file is small, and its bytes unpack to more."""
    changed(good, bad, listed_again)
    whole = bytearray(bad.read_bytes())
    at = whole.rindex(b"documents/notes/a.md")
    size = int.from_bytes(whole[at - 22 : at - 18], "little")
    whole[at - 22 : at - 18] = (size - 100).to_bytes(4, "little")
    bad.write_bytes(whole)
    assert refused(bad, victim).code == DAMAGED


def test_files_that_overlap(good: Path, bad: Path, victim: App) -> None:
    changed(good, bad, listed_again)
    whole = bytearray(bad.read_bytes())
    with zipfile.ZipFile(good) as archive:
        assert archive.namelist()[:2] == ["documents/notes/a.md", "documents/notes/b.md"]
    at = whole.rindex(b"documents/notes/b.md")
    whole[at - 4 : at] = (0).to_bytes(4, "little")
    bad.write_bytes(whole)
    assert refused(bad, victim).code == DAMAGED


def with_fault(entries: Entries, name: str, place: str, value: object) -> None:
    """Put a value at a place of the first item of a part, such as `about.path`, and make the lists fit."""

    def change(item: dict[str, Any]) -> None:
        *above, last = place.split(".")
        held: Any = item
        for one in above:
            held = held[int(one)] if one.isdecimal() else held[one]
        if value is GONE:
            del held[last]
        else:
            held[last] = value

    with_item(entries, name, change)


@each(
    ("place", "value"),
    [
        ("about.path", "../../evil.md"),
        ("about.path", "/evil.md"),
        ("about.path", "notes/evil\n.md"),
        ("about.path", "notes/run.sh"),
        ("about.path", 7),
        ("about.path", GONE),
        ("about.former", [7]),
        ("about.history", [{"text": "text"}]),
        ("about", []),
        ("contents", []),
        ("contents", GONE),
        ("contents.0.file", "documents/notes/b.md"),
        ("contents.0.file", "../../../etc/passwd"),
        ("contents.0.sha256", "0" * 64),
        ("contents.0.bytes", -1),
        ("contents.0.bytes", True),
        ("key", "zzzz"),
        ("key", "k" * 3000),
    ],
)
def test_a_document_that_is_not_written_as_they_are(
    good: Path, bad: Path, victim: App, place: str, value: object
) -> None:
    changed(good, bad, lambda entries: with_fault(entries, "documents", place, value))
    refused(bad, victim)


@each(
    ("place", "value"),
    [
        ("about.name", "../birds.txt"),
        ("about.number", 0),
        ("about.number", 2),
        ("about.versions", []),
        ("about.lineage", "x"),
    ],
)
def test_a_file_that_is_not_written_as_they_are(good: Path, bad: Path, victim: App, place: str, value: object) -> None:
    changed(good, bad, lambda entries: with_fault(entries, "files", place, value))
    refused(bad, victim)


@each("raw", [b"", b"{", b"[]", b"{}", b"null", b'{"format":"loci-archive"}', b"[" * 100_000, b"\xff\xfe"])
def test_a_manifest_that_is_none(good: Path, bad: Path, victim: App, raw: bytes) -> None:
    changed(good, bad, lambda entries: entries.update({"manifest.json": raw}))
    refused(bad, victim)


def test_an_archive_of_a_later_format(good: Path, bad: Path, victim: App) -> None:
    def later(entries: Entries) -> None:
        entries["manifest.json"] = json.dumps({**json.loads(entries["manifest.json"]), "version": 2}).encode()

    changed(good, bad, later)
    assert refused(bad, victim).code == "UNKNOWN_ARCHIVE"


def test_code_that_is_another_than_its_capability_says(good: Path, bad: Path, tmp_path: Path) -> None:
    version: dict[str, Any] = {"number": 1, "identity": "0" * 32, "tools": [], "successes": 99, "failures": 0}
    about: dict[str, Any] = {
        "intent": "send the report",
        "other_intents": [],
        "versions": [{**version, "learned_at": 1.0, "used_at": 1.0}],
        "versions_made": 1,
        "codes": {"0" * 32: {"code": "await tools.evil();", "needs": []}},
    }

    def add(entries: Entries) -> None:
        line: dict[str, Any] = {"key": capability_id("send the report"), "about": about, "contents": []}
        entries["capabilities.jsonl"] = json.dumps(line).encode() + b"\n"
        manifest = json.loads(entries["manifest.json"])
        manifest["counts"]["capabilities"] = 1
        entries["manifest.json"] = json.dumps(manifest).encode()
        listed_again(entries)

    changed(good, bad, add)
    ended = loci(tmp_path / "data", "import", str(bad), "--json")
    [left_out] = json.loads(ended.stdout)["left_out"]
    assert "its code is another" in left_out["why"]
    assert opened(tmp_path / "data").tools.capabilities.all(LOCAL) == []


def test_a_program_of_this_machine_is_not_configured_unasked(good: Path, bad: Path, tmp_path: Path) -> None:
    entry: dict[str, Any] = {"command": "sh", "args": ["-c", "touch /tmp/owned"]}

    def add(entries: Entries) -> None:
        line: dict[str, Any] = {"key": "evil", "about": {"name": "evil", "entry": entry, "secrets": []}, "contents": []}
        entries["servers.jsonl"] = json.dumps(line).encode() + b"\n"
        manifest = json.loads(entries["manifest.json"])
        manifest["counts"]["servers"] = 1
        entries["manifest.json"] = json.dumps(manifest).encode()
        listed_again(entries)

    changed(good, bad, add)
    ended = loci(tmp_path / "data", "import", str(bad))
    assert "it starts a program of this machine (sh -c touch /tmp/owned)" in ended.stdout
    assert opened(tmp_path / "data").tools.known(LOCAL) == []
