"""The order of documents by time: by the date that a document says, else by that of its file, if it means something."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from loci.documents.document import Document

COPIED_TOGETHER = 20
"""Undated files with the time of one day that were copied or checked out that day: nobody edits so many."""
COPIED_SHARE = 0.25
"""The share of all undated files that they must exceed, too: a large library has busy days."""


@dataclass(frozen=True, slots=True)
class Recency:
    """The days by which an owner's documents are put into order."""

    copied_on: frozenset[str]
    """The days on which files were copied together. The time of such a file means nothing."""

    def day(self, document: Document) -> str:
        """The document's date, to sort by. Empty if it is not known, and so before every other day."""
        tells = document.date or document.written_by_tool or document.changed_on not in self.copied_on
        return document.day if tells else ""


def recency_of(documents: Collection[Document]) -> Recency:
    """The order by time of these documents, which are all of an owner."""
    undated = [one.changed_on for one in documents if one.date is None and not one.written_by_tool and one.changed_on]
    days, share = Counter(undated), COPIED_SHARE * len(undated)
    return Recency(frozenset(day for day, files in days.items() if files >= COPIED_TOGETHER and files > share))
