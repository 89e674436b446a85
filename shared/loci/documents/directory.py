"""The folders of the documents, and the documents in them."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from loci.core.errors import NotFound
from loci.documents.unknown_names import most_alike

SUGGESTED = 3


def directory(
    paths: Iterable[str], below: str | None = None, depth: int | None = None, *, with_documents: bool = False
) -> list[str]:
    """The folders with documents, such as `docs/briefs/`, and the documents if asked for, in the order of their paths.

    `below`: only in this folder, and at most `depth` levels down from it. `NotFound` if there is no such folder.
    """
    documents = list(paths)
    every = {f"{folder}/" for path in documents for folder in PurePosixPath(path).parents if folder.name}
    prefix = "/".join(part for part in (below or "").split("/") if part not in ("", "."))
    prefix += "/" if prefix else ""
    if prefix and prefix not in every:
        raise _no_folder(prefix, every)
    entries = [*every, *(documents if with_documents else [])]
    inside = (one for one in entries if one.startswith(prefix) and one != prefix)
    return sorted(one for one in inside if depth is None or _level(one, prefix) <= depth)


def _level(path: str, prefix: str) -> int:
    """The number of its parts below the prefix."""
    return path[len(prefix) :].rstrip("/").count("/") + 1


def _no_folder(name: str, known: Iterable[str]) -> NotFound:
    alike = most_alike(name, {folder: folder for folder in known}, SUGGESTED)
    advice = f"Did you mean {', '.join(alike)}?" if alike else "Leave out the prefix to see all folders"
    return NotFound(f"There is no folder {name[:200]!r} with documents", advice, code="FOLDER_NOT_FOUND")
