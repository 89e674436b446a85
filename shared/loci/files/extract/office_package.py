"""Opens the packed parts of an Office file, whatever sizes it claims to have."""

import posixpath
import zipfile
from typing import Any

from lxml import etree

from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

LARGEST_PART = 96 << 20
"""The most bytes of an XML part: its tree takes about ten times as much memory."""
PIECE = 1 << 20
ODF_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", W[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/drawingml/main", A[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/drawingml/chart", C[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/presentationml/main", P[1:-1].encode()),
    (b"http://purl.oclc.org/ooxml/officeDocument/relationships", R[1:-1].encode()),
)
"""The strict kind of Office files names the same things otherwise."""


class OfficePackage:
    """The parts of a packed file. All that is unpacked is counted as it comes."""

    def __init__(self, path: str, limits: ReadingLimits) -> None:
        try:
            self._packed = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise UnreadableFile(f"The file is damaged: {error}", "Save it again", "FILE_DAMAGED") from error
        self._left = limits.unpacked_bytes
        self._names = {name.lower(): name for name in self._packed.namelist()}

    def has(self, name: str) -> bool:
        """True if there is such a part."""
        return name.lower() in self._names

    def named(self, folder: str) -> list[str]:
        """The parts in this folder."""
        return [name for lower, name in self._names.items() if lower.startswith(folder)]

    def read(self, name: str) -> bytes:
        """The content of a part."""
        pieces: list[bytes] = []
        size = 0
        try:
            with self._packed.open(self._names[name.lower()]) as opened:
                while piece := opened.read(PIECE):
                    pieces.append(piece)
                    size += len(piece)
                    self._left -= len(piece)
                    if self._left < 0 or size > LARGEST_PART:
                        raise UnreadableFile(
                            f"The file unpacks to too much: {name} alone has more than {size >> 20} MB",
                            "Split it into smaller files",
                            "FILE_TOO_LARGE",
                        )
        except RuntimeError as error:  # how `zipfile` says that a part has a password
            raise UnreadableFile("The file has a password", "Save it without one", "FILE_ENCRYPTED") from error
        except KeyError:
            raise UnreadableFile(f"The file is damaged: it has no {name}", "Save it again", "FILE_DAMAGED") from None
        return b"".join(pieces)

    def xml(self, name: str) -> Any:
        """The tree of a part."""
        content = self.read(name)
        for strict, usual in STRICT:
            content = content.replace(strict, usual)
        return tree_of(content, name)

    def links(self, part: str) -> dict[str, tuple[str, str]]:
        """The parts that this part links to: the kind and the name of each, by its id."""
        folder, name = posixpath.split(part)
        rels = f"{folder}/_rels/{name}.rels"
        if not self.has(rels):
            return {}
        found: dict[str, tuple[str, str]] = {}
        for link in self.xml(rels):
            if link.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/", folder, link.get("Target") or "")).lstrip("/")
                found[link.get("Id") or ""] = ((link.get("Type") or "").rpartition("/")[2], target)
        return found


def tree_of(content: bytes, name: str) -> Any:
    """The XML as a tree. No entity is ever expanded, and nothing is fetched."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        what = f"The file is damaged: {name}: {error}"[:300]
        raise UnreadableFile(what, "Save it again in its own program", "FILE_DAMAGED") from error
    if root.getroottree().docinfo.doctype:
        raise UnreadableFile(
            f"The file is refused: {name} defines entities, as no Office program does",
            "Save it again in its own program",
            "FILE_DAMAGED",
        )
    return root


def dense(root: Any) -> bytes:
    """The XML of an OpenDocument file without the space between its elements, but for the space between words."""
    for one in root.iter():
        above = one.getparent()
        if not str(one.tag).startswith(ODF_TEXT) and not (one.text or "").strip():
            one.text = None
        if above is not None and not str(above.tag).startswith(ODF_TEXT) and not (one.tail or "").strip():
            one.tail = None
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)
