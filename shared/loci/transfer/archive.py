"""An archive: a .zip with the records of an owner as lines of JSON, their blobs as files, and a manifest.

The whole archive is checked before any of it is used, because it may be damaged or malicious.
"""

import hashlib
import json
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Final, cast

from loci.core.errors import Refused
from loci.core.version import version
from loci.transfer.items import DAMAGED, Item, Kind, Loaded, check, parsed

FORMAT: Final = "loci-archive"
VERSION: Final = 2
MANIFEST, README = "manifest.json", "README.txt"
ABOUT: Final = """\
This is an archive of Loci: all that one owner had.

records/          what is known, one JSON object a line: documents.jsonl, files.jsonl, ...
blobs/            the bytes that they name, such as blobs/documents/ID: the text of a document
manifest.json     how many there are, and their hashes; a line has the hash of each of its blobs

To take it in: loci import FILE
"""
LEVEL: Final = 3
"""The compression level. Higher levels take longer and save little."""
FIXED_TIME: Final = (1980, 1, 1, 0, 0, 0)
PIECE: Final = 1 << 20
MOST_FILES: Final = 2_000_000
LARGEST_MANIFEST: Final = 1 << 20
LONGEST_LINE: Final = 16 << 20
SPREAD, SPARE = 200, 256 << 20
"""All files together may have `SPREAD` times the bytes of the archive, and `SPARE` more. Real archives have less."""


class ArchiveWriter:
    """Streams items into an archive. Only the list of its files stays in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._scratch = ExitStack()
        self._lines: dict[str, IO[bytes]] = {}
        self._counts: dict[str, int] = {}

    def add(self, one: Loaded, *, with_blobs: bool = True) -> int:
        """Add an item with its blobs, and return their bytes. Without them, the line keeps the hashes that it has."""
        contents = {name: one.load(name) for name in one.item.blobs} if with_blobs else {}
        blobs = {**one.item.blobs, **{name: hashlib.sha256(held).hexdigest() for name, held in contents.items()}}
        for name, held in contents.items():
            if f"blobs/{name}" not in self._zip.NameToInfo:
                self._zip.writestr(_file(f"blobs/{name}"), held, compresslevel=LEVEL)
        kind = one.item.kind
        if kind not in self._lines:
            spool = tempfile.SpooledTemporaryFile[bytes](PIECE)
            self._lines[kind] = self._scratch.enter_context(spool)
        line = json.dumps(replace(one.item, blobs=blobs).line, ensure_ascii=False, separators=(",", ":"))
        self._lines[kind].write(line.encode() + b"\n")
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return sum(map(len, contents.values()))

    def finish(self, made_at: str) -> None:
        """Add the records and the manifest."""
        self._zip.writestr(_file(README), ABOUT, compresslevel=LEVEL)
        records: dict[str, Any] = {}
        for kind, lines in sorted(self._lines.items()):
            records[kind] = {"count": self._counts[kind], "sha256": self._copy(_records(kind), lines)}
        manifest = {"format": FORMAT, "version": VERSION, "made_at": made_at, "loci": version(), "records": records}
        self._zip.writestr(_file(MANIFEST), json.dumps(manifest, indent=2) + "\n")
        with self._scratch:
            self._zip.close()

    def close(self) -> None:
        """Release the file, finished or not."""
        with self._scratch, suppress(OSError):
            self._zip.close()

    def _copy(self, name: str, lines: IO[bytes]) -> str:
        digest, size = hashlib.sha256(), lines.tell()
        lines.seek(0)
        with self._zip.open(_file(name), "w", force_zip64=size > 1 << 31) as to:
            while piece := lines.read(PIECE):
                digest.update(piece)
                to.write(piece)
        return digest.hexdigest()


class Archive:
    """An archive that was checked from end to end."""

    def __init__(
        self, file: IO[bytes], kinds: Mapping[str, Kind], *, has_blobs: bool = True, spread: int = SPREAD
    ) -> None:
        """`has_blobs` is false for an archive that is only previewed: it has no blobs."""
        self._zip = checked_zip(file, spread)
        self._kinds = kinds
        self._hashes: dict[str, str] = {}
        with reporting_damage():
            for name, entry in self._manifest().items():
                self._check_records(name, entry["count"], entry["sha256"], has_blobs=has_blobs)
        self._hashes.clear()

    def items(self) -> Iterator[Loaded]:
        """All items, kind by kind."""
        for name in self._kinds:
            if _records(name) in self._zip.NameToInfo:
                for item in self._listed(name):
                    yield Loaded(item, partial(self._blob, item))

    def size(self, item: Item) -> int:
        """The bytes of an item's blobs."""
        return sum(self._zip.getinfo(f"blobs/{name}").file_size for name in item.blobs)

    def _blob(self, item: Item, name: str) -> bytes:
        content = self._zip.read(f"blobs/{name}")
        if hashlib.sha256(content).hexdigest() != item.blobs[name]:
            raise damaged("it changed while it was read")
        return content

    def _manifest(self) -> dict[str, Any]:
        with self._opened(MANIFEST) as opened:
            read = parsed(opened.read(LARGEST_MANIFEST))
        manifest = cast("dict[str, Any]", read)
        if manifest.get("format") != FORMAT:
            raise damaged(f"its {MANIFEST} is not one of Loci's")
        if manifest.get("version") != VERSION:
            what = f"The archive has the version {str(manifest.get('version'))[:20]} of its format, not {VERSION}"
            raise Refused(what, "Import it with the Loci that made it, or a newer one", code="UNKNOWN_ARCHIVE")
        records = cast("dict[str, Any]", manifest["records"])
        there = {one[8:-6] for one in self._zip.NameToInfo if one.startswith("records/")}
        if unknown := sorted(there - self._kinds.keys()):
            what = f"The archive holds {unknown[0][:40]!r}, which this Loci does not take. Nothing was changed"
            raise Refused(what, "Update Loci, or export again with this version of it", code="UNKNOWN_ARCHIVE")
        if there != records.keys():
            raise damaged(f"its {MANIFEST} does not match its records")
        return records

    def _check_records(self, name: str, count: object, hash: object, *, has_blobs: bool) -> None:
        seen = 0
        for item in self._listed(name):
            check(self._kinds[name], item)
            for blob, sha256 in item.blobs.items() if has_blobs else ():
                if self._hash(f"blobs/{blob}") != sha256:
                    raise damaged(f"{blob[:80]!r} does not match its hash")
                if self._zip.getinfo(f"blobs/{blob}").file_size > self._kinds[name].largest:
                    raise damaged(f"{blob[:80]!r} is larger than anything that Loci takes")
            seen += 1
        if seen != count or self._hash(_records(name)) != hash:
            raise damaged(f"its {name} do not match the {MANIFEST}")

    def _listed(self, name: str) -> Iterator[Item]:
        with self._opened(_records(name)) as opened:
            while raw := opened.readline(LONGEST_LINE + 1):
                if len(raw) > LONGEST_LINE:
                    raise damaged(f"a line of the {name} is too long")
                yield Item.from_line(name, parsed(raw))

    def _hash(self, path: str) -> str:
        if path not in self._hashes:
            digest = hashlib.sha256()
            with self._opened(path) as opened:
                while piece := opened.read(PIECE):
                    digest.update(piece)
            self._hashes[path] = digest.hexdigest()
        return self._hashes[path]

    def _opened(self, path: str) -> IO[bytes]:
        if path not in self._zip.NameToInfo:
            raise damaged(f"{path[:80]!r} is not in it")
        return self._zip.open(path)


@contextmanager
def reading(path: Path, kinds: Mapping[str, Kind]) -> Generator[Archive]:
    """Check an archive from end to end, and read it. Raises `Refused` if anything about it is wrong."""
    try:
        opened = path.open("rb")
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror})", "Correct the path or its permissions") from None
    with opened, tempfile.TemporaryFile() as made:
        from loci.transfer.first_format import convert, is_first_format  # it goes after 0.1

        if not is_first_format(opened):
            yield Archive(opened, kinds)
            return
        convert(opened, made)
        yield Archive(made, kinds)


def is_archive(path: Path) -> bool:
    """True for a file that may be an archive, damaged or not; false for the files of another program."""
    return path.is_file() and (path.suffix.lower() not in (".json", ".jsonl", ".md") or zipfile.is_zipfile(path))


def checked_zip(file: IO[bytes], spread: int = SPREAD) -> zipfile.ZipFile:
    """Open the .zip. Raises `Refused` unless it has only plain files with inner paths, and unpacks to a sane size."""
    with reporting_damage():
        opened = zipfile.ZipFile(file)
        infos = opened.infolist()
        if len(infos) > MOST_FILES:
            raise damaged(f"it has more than {MOST_FILES:,} files")
        if len({one.filename for one in infos}) < len(infos):
            raise damaged("it has two files of one name")
        if sum(one.file_size for one in infos) > spread * file.seek(0, 2) + SPARE:
            raise damaged("it would grow out of all proportion")
        ends = 0
        for one in sorted(infos, key=lambda one: one.header_offset):
            _check_file(one)
            if one.header_offset < ends:
                raise damaged("its files overlap")
            ends = one.header_offset + one.compress_size
        return opened


def damaged(why: str) -> Refused:
    """The error for a damaged archive, which is not imported at all."""
    what = f"The archive is damaged: {why}. Nothing was changed"
    return Refused(what, "Export it again, or take another copy", code=DAMAGED)


@contextmanager
def reporting_damage() -> Generator[None]:
    """Turn every error of reading a damaged archive into a `Refused` that says so."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        is_nested = isinstance(error, RecursionError)
        raise damaged("its JSON is nested too deep" if is_nested else "it cannot be unpacked as a .zip") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged("its records are not valid") from None


def _check_file(one: zipfile.ZipInfo) -> None:
    name, kind = one.filename, stat.S_IFMT(one.external_attr >> 16)
    parts = name.split("/")
    is_outside = not name or name.startswith("/") or {"", ".", ".."} & {*parts} or "\\" in name or "\0" in name
    if is_outside or ":" in parts[0] or one.orig_filename != name:
        raise damaged(f"{name[:80]!r} is not a path in it")
    if kind not in (0, stat.S_IFREG) or one.is_dir():
        raise damaged(f"{name[:80]!r} is not a plain file")
    if one.flag_bits & 1 or one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise damaged(f"{name[:80]!r} is packed in a way that Loci does not use")


def _records(kind: str) -> str:
    return f"records/{kind}.jsonl"


def _file(name: str) -> zipfile.ZipInfo:
    """The entry for a file in the .zip. It has a fixed time, so that two exports of the same bytes are equal."""
    info = zipfile.ZipInfo(name, FIXED_TIME)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info
