"""Archives of the first format, which Loci wrote before 0.1, written again in the format of today.

This file goes after 0.1.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Final, cast

from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.documents.ingest.local_files import blob_key
from loci.files.file import RULES
from loci.files.lake import content_key
from loci.transfer.archive import FORMAT, LONGEST_LINE, MANIFEST, ArchiveWriter, checked_zip, damaged, reporting_damage
from loci.transfer.documents import bare_document
from loci.transfer.items import Item, Loaded, parsed

VERSION: Final = 1
PARTS: Final = ("documents", "deleted", "files", "capabilities", "servers", "runs", "results")
FACTS: Final = ("title", "ingested_at", "changed_on", "uploaded", "by_tool", "former", "written_at")
Line = dict[str, Any]
Blobs = dict[str, Callable[[], bytes]]


def is_first_format(file: IO[bytes]) -> bool:
    """True for an archive of the first format. Raises `Refused` for a damaged archive."""
    with reporting_damage():
        manifest = _manifest(checked_zip(file))
        return (manifest.get("format"), manifest.get("version")) == (FORMAT, VERSION)


def convert(file: IO[bytes], made: IO[bytes]) -> None:
    """Write the archive in the format of today. Raises `Refused` if it is damaged."""
    with reporting_damage():
        archive = checked_zip(file)
        manifest = _manifest(archive)
        if unknown := sorted(manifest["counts"].keys() - {*PARTS}):
            raise damaged(f"nobody knows what {unknown[0][:40]!r} are")
        writer = ArchiveWriter(made)
        for part in PARTS:
            count = 0
            for line in _lines(archive, part):
                writer.add(_loaded(archive, part, line))
                count += 1
            if count != manifest["counts"].get(part, 0):
                raise damaged(f"it has {count:,} {part}, and counts others")
        writer.finish(str(manifest["made_at"]))


def _manifest(archive: zipfile.ZipFile) -> Line:
    with archive.open(MANIFEST) as opened:
        return cast("Line", parsed(opened.read(LONGEST_LINE)))


def _lines(archive: zipfile.ZipFile, part: str) -> Iterator[Line]:
    if f"{part}.jsonl" in archive.NameToInfo:
        with archive.open(f"{part}.jsonl") as opened:
            while raw := opened.readline(LONGEST_LINE):
                yield cast("Line", parsed(raw))


def _loaded(archive: zipfile.ZipFile, part: str, line: Line) -> Loaded:
    contents: Blobs = {one["name"]: partial(_content, archive, one) for one in line["contents"]}
    key, value, blobs = _item(part, line["key"], line["about"], contents)
    return Loaded(Item(part, key, value, dict.fromkeys(blobs, "")), lambda name: blobs[name]())


def _content(archive: zipfile.ZipFile, one: Line) -> bytes:
    content = archive.read(one["file"])
    if hashlib.sha256(content).hexdigest() != one["sha256"]:
        raise damaged(f"{one['file'][:80]!r} is not as it was")
    return content


def _item(part: str, key: str, about: Line, contents: Blobs) -> tuple[str, JsonObject, Blobs]:
    """The key, the value and the blobs of an item in the format of today."""
    match part:
        case "documents":
            facts = {name: about[name] for name in FACTS if name in about}
            text: Blobs = {blob_key(key): contents["text"]}
            return key, bare_document(about["path"], **facts), text | _history(about, contents)
        case "deleted":
            value: JsonObject = {"path": about["path"], "sha256": about["uploaded"], "at": about["at"]}
            return content_id(about["path"], length=32), value, _history(about, contents)
        case "files":
            sha256 = dict(about["versions"])[about["number"]]
            written = about.get("summary") or {"text": "", "by": RULES}
            known = {"bytes": len(contents["bytes"]()), "summary": written["text"], "summary_by": written["by"]}
            blobs = {content_key(key.partition("/")[0], sha256): contents["bytes"]}
            return key, {**about, "sha256": sha256, **known}, blobs
        case "servers":
            return key, {"entry": about["entry"], "secrets": about["secrets"]}, {}
        case _:
            return key, about, {f"{part}/{key}": one for one in contents.values()}


def _history(about: Line, contents: Blobs) -> Blobs:
    """The earlier texts of a document, as blobs of today."""
    folder = f"history/{content_id(about['path'], length=32)}"
    writes = enumerate(cast("list[Line]", about.get("history") or []))
    return {f"{folder}/{number:08}": partial(_past_write, one, contents) for number, one in writes}


def _past_write(one: Line, contents: Blobs) -> bytes:
    before = contents[one["text"]]() if one["text"] in contents else None
    head = {"is_new": before is None, "after": one["after"], "at": one["at"], "by": one["by"]}
    head |= {} if before is None else {"before": hashlib.sha256(before).hexdigest()}
    return json.dumps(head).encode() + b"\n" + (before or b"")
