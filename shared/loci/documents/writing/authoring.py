"""What an author does to a document: makes it, adds to it, replaces a part of it."""

from dataclasses import dataclass
from typing import Literal

from loci.core.errors import NotFound, Refused

Mode = Literal["create", "append", "replace"]


@dataclass(frozen=True, slots=True)
class EditDraft:
    """What is to be written, and how."""

    mode: Mode
    text: str
    heading: str | None

    def applied(self, path: str, before: bytes | None) -> bytes:
        """The document of that path as it is to be; `before` is what it is now."""
        from loci.documents.writing.sections import (  # 0.1 s, which a search does not pay
            appended,
            created,
            replaced,
            rewritten,
        )

        if self.mode == "create":
            after = created(self.text)
            if before is not None and before != after:
                advice = "Choose another path, or read it and use mode append or replace"
                raise Refused(f"There is {path} already", advice, code="ALREADY_THERE")
            return after
        if before is None:
            raise missing(path)
        if self.mode == "append":
            return appended(path, before, self.text, self.heading)
        if self.heading is not None:
            return replaced(path, before, self.text, self.heading)
        return rewritten(before, self.text)


def checked_draft(mode: Mode, text: str, heading: str | None, expected_hash: str | None) -> EditDraft:
    """The draft; `Refused` where its parts do not fit each other."""
    if mode == "create" and heading is not None:
        raise Refused("A new document has no section yet", "Put the heading into the content", code="BAD_ARGUMENTS")
    if not text.strip() and not (mode == "replace" and heading is not None):
        raise Refused("There is nothing to write", "Give some content", code="BAD_ARGUMENTS")
    if mode == "replace" and expected_hash is None:
        raise Refused(
            "To replace text it must be known which",
            "Read it with read_node_content, and give its `hash` as expected_hash",
            code="HASH_NEEDED",
        )
    return EditDraft(mode, text, heading)


def missing(path: str) -> NotFound:
    """There is nothing to change."""
    return NotFound(f"There is no {path}", "Make it with write_document(mode='create')", code="NO_SUCH_DOCUMENT")
