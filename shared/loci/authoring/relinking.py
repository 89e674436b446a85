"""The links that a document needs anew when one is moved, each written as its author writes links."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from loci.authoring.raw_text import RawText, raw_text
from loci.core.errors import Refused
from loci.documents.document import Document
from loci.documents.ingest.local_files import SUFFIXES
from loci.documents.link_resolution import DocumentNames
from loci.documents.link_table import normal_path
from loci.markdown.front_matter import read_front_matter
from loci.markdown.links import LinkPlace, Style, link_places, with_targets

NOT_IN_A_WIKI_LINK = re.compile(r"[\[\]|#^\\]")
# What ends a path in parentheses, and what a path would be decoded from.
ENCODED = re.compile(r"[ ()<>\\%?#&]")
NewTargets = Mapping[tuple[Style, str], str]
"""The new targets of a document's links, by their style and as they were written."""


@dataclass(frozen=True, slots=True)
class Relinking:
    """A move of one document, as the links of all see it."""

    before: DocumentNames
    after: DocumentNames
    old: Document
    new: Document
    paths_before: Mapping[str, str]
    """The path of each document, by its id after the move."""
    paths: Mapping[str, str]
    """The path of each document after the move."""

    def new_targets(self, source_before: str, source_after: str, content: bytes) -> NewTargets:
        """The new targets for the links of a document with this text, which has the path `source_after` then.

        `source_before` is the path where its links began until now.
        """
        document = raw_text(content)
        places = link_places(source_after, document.lines)
        wrong = [
            (place, meant)
            for place in places
            if (meant := self._meant(source_before, place))
            and not self._is_right(source_before, source_after, place, meant)
        ]
        written: set[tuple[Style, str]] = {(place.style, place.written) for place, _ in wrong}
        found: dict[tuple[Style, str], str] = {}
        for place, meant in wrong:
            key = place.style, place.written
            if key not in found:
                # A new target that another link has to give up would be taken for that one if this is done twice.
                found[key] = self._spelled(source_before, source_after, place, meant, written)
        if found:
            _check_front_matter(source_after, document, _with_targets(document, places, found))
        return found

    def _meant(self, source: str, place: LinkPlace) -> str | None:
        """The id, after the move, of the document that the link means."""
        found = self.before.resolve(source, place.mention)
        return found and (self.new.id if found.document == self.old.id else found.document)

    def _is_right(self, source_before: str, source_after: str, place: LinkPlace, meant: str) -> bool:
        now = self.after.resolve(source_after, place.mention)
        if now is None or now.document != meant:
            return False
        is_moved, target = meant == self.new.id, place.target.replace("\\", "/")
        path_before, path_after = self.paths_before[meant], self.paths[meant]
        if place.style == "path" and _is_relative(source_before, target, path_before):
            return _is_relative(source_after, target, path_after)
        if place.style == "path" or "/" in target:
            if _is_at(source_before, target, path_before):
                return _is_at(source_after, target, path_after)
            return not is_moved or f"/{normal_path(path_after)}".endswith(f"/{normal_path(target)}")
        stems = [normal_path(posixpath.basename(one)) for one in (path_before, path_after)]
        return normal_path(target) != stems[0] or stems[0] == stems[1]

    def _spelled(
        self, source_before: str, source: str, place: LinkPlace, meant: str, taken: set[tuple[Style, str]]
    ) -> str:
        for target, may_be_shared in self._candidates(source_before, source, place, meant):
            written = target
            if place.style == "path":
                written = ENCODED.sub(lambda one: f"%{ord(one[0]):02X}", target) + place.tail
            elif NOT_IN_A_WIKI_LINK.search(target):
                continue
            found = self.after.resolve(source, replace(place.mention, target=target))
            is_clear = found is not None and found.document == meant and (may_be_shared or not found.others)
            if is_clear and ((place.style, written) not in taken):
                return written
        raise Refused(
            f"The link to {place.target} in {source} cannot name {self.paths[meant]}",
            "Choose a path that no other document has, without [ ] | # ^ and backslash",
            code="BAD_PATH",
        )

    def _candidates(self, source_before: str, source: str, place: LinkPlace, meant: str) -> Iterator[tuple[str, bool]]:
        """The targets to try, best first, each with True if other documents may have the same name."""
        target = place.target.replace("\\", "/")
        path = self.paths[meant]
        stem, suffix = posixpath.splitext(path)
        if suffix.lower() == ".md" and posixpath.splitext(target)[1].lower() not in SUFFIXES:
            path = stem
        below = path.partition("/")[2]
        relative = posixpath.relpath(path, posixpath.dirname(source))
        if target.startswith("./") and not relative.startswith("."):
            relative = f"./{relative}"
        rooted = target.startswith("/")
        if rooted:
            yield f"/{below}", True
        if place.style == "path":
            before = self.paths_before[meant]
            is_below = _is_at(source_before, f"/{target}", before) and not target.startswith(".")
            is_relative = _is_relative(source_before, target, before)
            if is_below and not is_relative and not rooted:
                yield below, True
            yield relative, True
        elif target.startswith("."):
            yield relative, True
        elif "/" not in target and meant == self.new.id:
            yield posixpath.basename(path), False
        yield below, True
        yield f"/{below}", True
        yield path, True


def relinked(path: str, content: bytes, new: NewTargets) -> bytes:
    """The document with these targets in its links. To do it twice changes nothing more."""
    document = raw_text(content)
    return _with_targets(document, link_places(path, document.lines), new) if new else content


def _with_targets(document: RawText, places: Iterable[LinkPlace], new: NewTargets) -> bytes:
    wanted = (one for one in places if (one.style, one.written) in new)
    moved = [replace(one, start=document.position(one.start), end=document.position(one.end)) for one in wanted]
    return document.encoding.encode(with_targets(document.text, moved, new))


def _check_front_matter(path: str, before: RawText, after: bytes) -> None:
    problem = read_front_matter(raw_text(after).lines).problem
    if problem and not read_front_matter(before.lines).problem:
        advice = "Put its links in quotes, or choose another path"
        raise Refused(f"The front matter of {path} would be broken by the new name", advice, code="BAD_PATH")


def _is_at(source: str, target: str, path: str) -> bool:
    """True if the target is that path, seen from the folder of the source or from its root."""
    root = source.partition("/")[0]
    from_root = normal_path(posixpath.normpath(f"{root}/{target.lstrip('/')}")) == normal_path(path)
    return from_root or _is_relative(source, target, path)


def _is_relative(source: str, target: str, path: str) -> bool:
    if target.startswith("/"):
        return False
    return normal_path(posixpath.normpath(f"{posixpath.dirname(source)}/{target}")) == normal_path(path)
