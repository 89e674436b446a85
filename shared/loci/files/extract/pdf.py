"""Reads PDFs, page by page."""

from typing import Any

from loci.files.extract.unreadable import Limits, Unreadable


def read(path: str, limits: Limits) -> dict[str, Any]:
    """The text of each page."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise Unreadable("The PDF has a password", "Save it without one", "FILE_ENCRYPTED") from error
        raise
    sections: list[dict[str, Any]] = []
    for number in range(min(len(document), limits.pages)):
        text = document[number].get_textpage().get_text_range().replace("\r\n", "\n").strip()
        if text:
            sections.append({"kind": "text", "text": text, "page": number + 1})
    if not sections:
        raise Unreadable(
            "The PDF has no text: it is made of pictures", "Make it searchable, for example with tesseract", "NO_TEXT"
        )
    return {"pages": len(document), "sections": sections}
