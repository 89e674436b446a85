"""What kind of file it is: its first bytes decide, then its name."""

import zipfile

from loci.files.extract.unreadable import Unreadable

TEXTS = {"csv": "csv", "tsv": "tsv", "tab": "tsv", "json": "json", "html": "html", "htm": "html"}
PACKED = {"xl/workbook": "xlsx", "word/document": "docx", "ppt/presentation": "pptx"}
ODS = b"application/vnd.oasis.opendocument.spreadsheet"
TYPES = "Loci reads xlsx, xls, ods, csv, tsv, pdf, docx, pptx, html, json, md and txt"


def kind_of(path: str, name: str) -> str:
    """The format of the file at this path."""
    with open(path, "rb") as opened:  # noqa: PTH123
        head = opened.read(4096)
    if not head:
        raise Unreadable("The file is empty", "Add it again with something in it", "FILE_EMPTY")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return "xls"
    if head.startswith(b"PK"):
        return _packed(path)
    kind = TEXTS.get(name.rpartition(".")[2].lower())
    if kind is None or (b"\0" in head.replace(b"\0", b"", 0) and not head.startswith((b"\xff\xfe", b"\xfe\xff"))):
        raise Unreadable(f"{name} is of no type that can be read", TYPES, "FILE_TYPE")
    return kind


def _packed(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            for part, kind in PACKED.items():
                if any(one.startswith(part) for one in names):
                    return kind
            if "mimetype" in names and packed.read("mimetype")[:100].startswith(ODS):
                return "ods"
    except zipfile.BadZipFile as error:
        raise Unreadable(f"The file is damaged: {error}", "Save it again in its own program", "FILE_DAMAGED") from error
    raise Unreadable("It is a packed file of no type that can be read", TYPES, "FILE_TYPE")
