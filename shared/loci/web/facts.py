"""A picture as JSON: for programs with ids, for the page with positions and short texts."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from loci.core.json import Json, JsonObject
from loci.documents.graph.gaps import ExplainedGap
from loci.documents.graph.link_resolution import normal_name
from loci.documents.graph.picture import Picture

LONGEST_NAME: Final = 200
MOST_TAGS: Final = 12
LONGEST_TAG: Final = 40
SURROGATE = re.compile(r"[\ud800-\udfff]")


def facts(picture: Picture, explained: Sequence[ExplainedGap]) -> JsonObject:
    """Return the documents, links, open links, gaps and clusters, with the fields that the tools give them.

    `explained` are the picture's gaps, with the reasons for them.
    """
    return {
        "documents": [
            {
                "id": one.id,
                "path": one.path,
                "title": one.title,
                "tags": [*one.tags],
                "date": one.dated and one.dated.day,
                "date_from": one.dated and one.dated.source,
                "cluster": picture.group_of[one.id] or None,
            }
            for one in picture.documents
        ],
        "links": [
            {
                "source": one.source,
                "target": one.target,
                "type": one.relation,
                "line": one.line,
                "evidence": one.evidence,
                "anchor": one.anchor,
                "also": [*one.other_targets],
            }
            for one in picture.links
        ],
        "open_links": [
            {
                "source": one.source,
                "target": None,
                "type": one.mention.relation,
                "title": one.mention.target,
                "line": one.mention.line,
                "evidence": one.mention.evidence,
                "anchor": one.mention.anchor,
            }
            for one in picture.open
        ],
        "gaps": [
            {
                "source_id": one.gap.source.id,
                "target_id": one.gap.target.id,
                "similarity": one.gap.similarity,
                "reason": one.reason,
                "suggested_link_type": one.relation,
                "kind": one.gap.kind,
                "source_title": one.gap.source.title,
                "target_title": one.gap.target.title,
                "compared_by": picture.compared_by,
                "written_by": one.written_by,
            }
            for one in explained
        ],
        "clusters": [{"id": one.id, "label": one.label, "size": one.size} for one in picture.groups if one.id],
        "total": picture.total,
        "compared_by": picture.compared_by,
    }


def drawn(picture: Picture, texts: Mapping[str, Sequence[Json]] | None) -> JsonObject:
    """Return what the page reads. Without texts, the page asks for a text when somebody opens it."""
    position = {one.id: at for at, one in enumerate(picture.documents)}
    group = {one.id: at for at, one in enumerate(picture.groups)}
    documents: list[Json] = []
    for one in picture.documents:
        row: JsonObject = {
            "id": one.id,
            "path": cut(one.path),
            "title": cut(one.title),
            "tags": [tag[:LONGEST_TAG] for tag in one.tags[:MOST_TAGS]],
            "date": one.date,
            "group": group[picture.group_of[one.id]],
        }
        documents.append(row if texts is None else {**row, "text": [*texts.get(one.id, ())]})
    # A name may be written in several ways: the page shows the first one.
    names: dict[str, str] = {}
    missing: dict[str, list[Json]] = {}
    for one in picture.open:
        name = names.setdefault(normal_name(one.mention.target) or one.mention.target, cut(one.mention.target))
        missing.setdefault(name, []).append(position[one.source])
    return {
        "documents": documents,
        "links": [[position[one.source], position[one.target], one.relation] for one in picture.links],
        "missing": [[name, [*dict.fromkeys(by)]] for name, by in missing.items()],
        "gaps": [[position[one.source.id], position[one.target.id], one.similarity, one.kind] for one in picture.gaps],
        "groups": [cut(one.label) for one in picture.groups],
        "total": picture.total,
        "comparedBy": picture.compared_by,
        "served": texts is None,
    }


def cut(name: str) -> str:
    """Return the name, or its beginning if it is too long."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot encode: a file name may hold any bytes."""
    return SURROGATE.sub("\ufffd", text)
