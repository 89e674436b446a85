"""Export of documents as a bundle of the Open Knowledge Format: files that any of its readers reads without Loci.

A document that came in with a `type` leaves as it came. The others get one. What may have texts of others is marked so.
Nothing else changes.
"""

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Final, cast
from urllib.parse import quote, unquote

from pydantic import TypeAdapter

from loci.core.atomic_write import replace_file
from loci.core.errors import LociError, NotFound, Refused
from loci.core.json import string
from loci.documents.bundles import COMPUTATION, INDEX, LOG, LOGGED, is_reserved
from loci.documents.document import Document
from loci.documents.history import PastWrite, hash_of, read_write
from loci.documents.ingest.local_files import blob_key, checked_path, plain_path, read_file
from loci.documents.link_table import kind_of
from loci.markdown.front_matter import FENCE, mapping, nested_fields, read_front_matter
from loci.markdown.links import SCHEME, found_links
from loci.markdown.markdown import decoded, parse
from loci.transfer.documents import document_in
from loci.transfer.items import Loaded, UnreadableItem

VERSION: Final = "0.2"
NOTE: Final = "Note"
"""The type of a document whose path tells no other."""
MARK: Final = ".loci-okf.json"
"""The file that marks a folder as an export, with the hash of each file that it wrote."""
CODE: Final = (".py", ".sql")
LONGEST_DESCRIPTION: Final = 300
_MARKED: Final = TypeAdapter(dict[str, str | dict[str, str]])
CodeOf = Callable[[Document, str], tuple[str, bytes] | None]
"""Finds the file of code that a field of a document names, with its path; None if there is no such file here."""


@dataclass(slots=True)
class Bundle:
    """The files of a bundle, by their paths."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    left_out: list[UnreadableItem] = field(default_factory=list[UnreadableItem])
    concepts: int = 0
    """The number of documents in it, without indexes and logs."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A document, its path below the folder of the bundle, and its text."""

    path: str
    content: bytes
    document: Document
    load: Loaded


@dataclass(frozen=True, slots=True)
class _Concept:
    path: str
    type: str
    title: str
    description: str


@dataclass(frozen=True, slots=True)
class _Change:
    day: str
    path: str
    title: str
    word: str
    by: str


def bundle_of(items: Iterable[Loaded | UnreadableItem], folder: str | None, code_of: CodeOf | None) -> Bundle:
    """The documents among the items, or those below the folder, as a bundle. `NotFound` if there are none."""
    bundle, concepts, changes = Bundle(), list[_Concept](), list[_Change]()
    below = f"{plain_path(folder)}/" if folder and plain_path(folder) else ""
    renamed = list[_Text]()
    for one in _texts(items, below, bundle):
        if _has_to_move(one.path, one.content):
            renamed.append(one)
        elif is_reserved(one.path):
            bundle.files[one.path] = one.content
        else:
            concepts.append(_add(bundle, one, below, changes, code_of))
    for one in sorted(renamed, key=lambda one: one.path):  # they take paths that are free
        concepts.append(_add(bundle, replace(one, path=_free(one.path, bundle.files)), below, changes, code_of))
    if not bundle.files:
        where = f" below {below}" if below else ""
        raise NotFound(f"There are no documents{where}", "Name a folder that list_directory_structure shows, or none")
    bundle.concepts = len(concepts)
    for place in sorted({str(above) for one in concepts for above in PurePosixPath(one.path).parents}):
        _add_index(bundle, "" if place == "." else f"{place}/", concepts)
    _add_log(bundle, changes)
    return bundle


def _texts(items: Iterable[Loaded | UnreadableItem], below: str, bundle: Bundle) -> Iterator[_Text]:
    for one in items:
        if isinstance(one, UnreadableItem):
            bundle.left_out.append(one)
            continue
        path = checked_path(string(one.item.value["path"]))
        if path.startswith(below):
            try:
                content = one.load(blob_key(one.item.key))
            except LociError as error:
                bundle.left_out.append(UnreadableItem(path, str(error)))
            else:
                yield _Text(path.removeprefix(below), _plain(content), document_in(one.item), one)


def _add(bundle: Bundle, one: _Text, below: str, changes: list[_Change], code_of: CodeOf | None) -> _Concept:
    text = _with_type(one.content.decode(), kind_of(one.document) or NOTE)
    text = _with_trust(text) if one.document.trust == "foreign" else text
    bundle.files[one.path] = text.encode()
    concept = _concept(one.path, text.encode())
    if concept.type == COMPUTATION:
        _add_code(bundle, one, below, text, code_of)
    item = one.load.item
    with suppress(NotFound):  # a tool writes it now
        writes = [read_write(one.load.load(name)) for name in item.blobs if name != blob_key(item.key)]
        changes += _changes(concept, filter(None, writes))
    return concept


def write_bundle(bundle: Bundle, folder: Path) -> None:
    """Write the files into a folder that is new, empty, or has an earlier export.

    Raises `Refused` before anything changes, if a file there is not as the earlier export left it.
    """
    try:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise Refused(f"{folder} is no folder", "Name another", code="FILE_EXISTS")
        folder.mkdir(parents=True, exist_ok=True)
        root, earlier = folder.resolve(), _earlier(folder)
        for path in sorted({*earlier, *bundle.files}):
            _check(root, path, earlier, bundle.files.get(path))
        if not (root / MARK).exists():
            _mark(root, {})
        for path, content in sorted(bundle.files.items()):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            replace_file(root / path, content, mode=None, synced=False)
        for path in sorted({*earlier} - {*bundle.files}):
            _remove(root, path)
        _mark(root, {path: hash_of(content) for path, content in bundle.files.items()})
    except OSError as error:
        what = f"{folder} cannot be written ({error.strerror})"
        raise Refused(what, "Choose another path, or make room", code="CANNOT_WRITE") from error


def _earlier(folder: Path) -> dict[str, str]:
    """The files of an earlier export with their hashes."""
    if not any(folder.iterdir()):
        return {}
    try:
        files = _MARKED.validate_json((folder / MARK).read_bytes())["files"]
        return {path: one for path, one in cast("dict[str, str]", files).items() if not _is_outside(path)}
    except (OSError, ValueError, KeyError):
        advice = "Name a new or an empty folder, or the folder of an earlier export"
        raise Refused(f"{folder} is not empty, and holds no export", advice, code="FOLDER_NOT_EMPTY") from None


def _is_outside(path: str) -> bool:
    return path.startswith("/") or ".." in path.split("/")


def _check(root: Path, path: str, earlier: Mapping[str, str], new: bytes | None) -> None:
    """Refuse a file that somebody else wrote or changed, and one behind a link."""
    if (root / path).is_symlink() or any((root / one).is_symlink() for one in PurePosixPath(path).parents):
        raise Refused(f"{root / path} is a link, or lies behind one", "Remove the link", code="OUTSIDE_ROOT")
    if not (root / path).exists():
        return
    if hash_of(read_file(str(root), path)) not in (earlier.get(path), hash_of(new)):
        advice = "Keep the change elsewhere and remove the file, or name another folder"
        raise Refused(f"{root / path} is not as an export left it", advice, code="FILE_EXISTS")


def _remove(root: Path, path: str) -> None:
    (root / path).unlink(missing_ok=True)
    for above in list(PurePosixPath(path).parents)[:-1]:
        if (root / above).is_dir() and not any((root / above).iterdir()):
            (root / above).rmdir()


def _mark(root: Path, files: Mapping[str, str | None]) -> None:
    content = json.dumps({"okf_version": VERSION, "files": files}, indent=1, sort_keys=True, ensure_ascii=False)
    replace_file(root / MARK, f"{content}\n".encode(), mode=None, synced=False)


def _plain(content: bytes) -> bytes:
    """The text in UTF-8 without a byte order mark, as the format wants it; unchanged if it is so."""
    try:
        is_plain = not content.decode().startswith("\ufeff")
    except UnicodeDecodeError:
        is_plain = False
    return content if is_plain else decoded(content)[0].encode()


def _has_to_move(path: str, content: bytes) -> bool:
    """True if the name lacks `.md`, or is that of an index or a log for another text."""
    name = PurePosixPath(path).name
    return not name.endswith(".md") or (is_reserved(path) and not _is_listing_or_log(name, content.decode()))


def _free(path: str, taken: Mapping[str, bytes]) -> str:
    stem = str(PurePosixPath(path).with_suffix("")) + ("-note" if is_reserved(path) else "")
    place, number = f"{stem}.md", 1
    while place in taken:
        number += 1
        place = f"{stem}-{number}.md"
    return place


def _is_listing_or_log(name: str, text: str) -> bool:
    lines = text.splitlines()
    matter = read_front_matter(lines)
    if matter.first("type"):  # a bundle had it there
        return True
    titles = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    is_log = name != LOG or (bool(titles) and all(LOGGED.match(one) for one in titles))
    return is_log and matter.problem is None and {*matter.fields} <= {"okf_version"}


def _with_type(text: str, kind: str) -> str:
    """The text with a type in its front matter, if that has none."""
    lines = text.split("\n")
    if read_front_matter(lines).first("type") and lines[0].rstrip() == FENCE:
        return text
    end = "\r" if lines[0].endswith("\r") else ""
    added = f"type: {kind.capitalize()}{end}"
    inside = [lines[0], added, *lines[1:]]
    if lines[0].rstrip() == FENCE and read_front_matter(inside).first("type"):
        return "\n".join(inside)
    return "\n".join([f"{FENCE}{end}", added, f"{FENCE}{end}", *lines])  # no front matter, or none of YAML


def _with_trust(text: str) -> str:
    """The text with the mark that texts of others may be in it: only Loci's own records say so until it leaves."""
    lines = text.split("\n")
    end, last = "\r" if lines[0].endswith("\r") else "", read_front_matter(lines).lines - 1
    inside = [*lines[:last], f"trust: foreign{end}", *lines[last:]]  # the last of two fields of one name counts
    if read_front_matter(inside).first("trust") == "foreign":
        return "\n".join(inside)
    kind = read_front_matter(lines).first("type")
    return "\n".join(
        [f"{FENCE}{end}", f"type: {json.dumps(kind)}{end}", f"trust: foreign{end}", f"{FENCE}{end}", *lines]
    )


def _concept(path: str, content: bytes) -> _Concept:
    parsed = parse(path, content)
    matter = parsed.front_matter
    described = " ".join((matter.first("description") or "").split())[:LONGEST_DESCRIPTION]
    return _Concept(path, matter.first("type") or NOTE, " ".join(parsed.title.split()), described)


def _add_code(bundle: Bundle, one: _Text, below: str, text: str, code_of: CodeOf | None) -> None:
    """Add the files of code that a computation names: they are no documents, and it is worth nothing without them."""
    fields = nested_fields(text.splitlines())
    resources = (mapping(fields.get(name)).get("resource") for name in ("executor", "attester"))
    for resource in (fields.get("computation"), *resources):
        if not isinstance(resource, str) or SCHEME.match(resource):
            continue
        if posixpath.splitext(resource)[1] not in CODE:  # instructions, a document of its own, or a file that is none
            continue
        found = code_of(one.document, resource) if code_of else None
        if found and found[0].startswith(below):
            bundle.files[found[0].removeprefix(below)] = found[1]
        else:
            bundle.left_out.append(UnreadableItem(resource, f"{one.path} names it, and it is not here"))


def _add_index(bundle: Bundle, folder: str, concepts: Sequence[_Concept]) -> None:
    """Write the index of a folder, or add to the one that it has what that does not list."""
    own = [one for one in concepts if posixpath.dirname(one.path) == folder.rstrip("/")]
    inside = (one.path.removeprefix(folder).split("/") for one in concepts if one.path.startswith(folder))
    folders = sorted({parts[0] for parts in inside if len(parts) > 1})
    written = bundle.files.get(f"{folder}{INDEX}", b"").decode()
    listed = {*_targets(folder, written)}
    sections: dict[str, list[str]] = {}
    for one in sorted(own, key=lambda one: (one.type, one.title.casefold(), one.path)):
        if one.path not in listed:
            told = f" - {one.description}" if one.description else ""
            sections.setdefault(one.type, []).append(_entry(one.title, posixpath.basename(one.path)) + told)
    for one in folders:
        if not listed & {f"{folder}{one}", f"{folder}{one}/{INDEX}"}:
            sections.setdefault("Subdirectories", []).append(_entry(one, f"{one}/{INDEX}"))
    blocks = [f"# {_in_brackets(title)}\n\n" + "\n".join(entries) for title, entries in sections.items()]
    head = f'---\nokf_version: "{VERSION}"\n---\n' if not folder and not written else written.rstrip("\n")
    if blocks:
        bundle.files[f"{folder}{INDEX}"] = ("\n\n".join([*filter(None, [head.rstrip("\n")]), *blocks]) + "\n").encode()


def _targets(folder: str, text: str) -> Iterator[str]:
    for link in found_links(text, {}):
        target = unquote(link.destination.partition("#")[0])
        yield posixpath.normpath(target.lstrip("/") if target.startswith("/") else f"{folder}{target}")


def _entry(title: str, path: str) -> str:
    return f"* [{_in_brackets(title)}]({quote(path)})"


def _in_brackets(title: str) -> str:
    return title.replace("\\", "").replace("[", "(").replace("]", ")")


def _changes(concept: _Concept, writes: Iterable[PastWrite]) -> Iterator[_Change]:
    days: dict[str, _Change] = {}
    for write in sorted(writes, key=lambda one: one.at):
        day, is_new = write.at[:10], write.before is None
        word = "Creation" if is_new or (day in days and days[day].word == "Creation") else "Update"
        days[day] = _Change(day, concept.path, concept.title, word, write.by)
    yield from days.values()


def _add_log(bundle: Bundle, changes: Iterable[_Change]) -> None:
    """Write the changes that tools made into the log, the newest first, above what it has already."""
    days: dict[str, list[str]] = {}
    for one in sorted(changes, key=lambda one: (one.path, one.by)):
        link = f"[{_in_brackets(one.title)}](/{quote(one.path)})"
        days.setdefault(one.day, []).append(f"* **{one.word}**: {link} by `{one.by.replace('`', '')}`.")
    if not days:
        return
    new = "\n\n".join(f"## {day}\n" + "\n".join(days[day]) for day in sorted(days, reverse=True))
    written = bundle.files.get(LOG, b"# Log\n").decode()
    head, mark, rest = written.partition("\n## ")
    bundle.files[LOG] = f"{head.rstrip()}\n\n{new}\n{mark and f'{mark}{rest}'}".encode()
