"""The arguments that name a part of the library: the same in all tools that search or look over notes."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import BeforeValidator, Field, WithJsonSchema

from loci.core.errors import Refused
from loci.documents.filtering import LibraryPart
from loci.markdown.date_ranges import parse_date_range
from loci.markdown.tags import normal_tag

AS_OF = "as of "
EQUALS = re.compile("[=:]")
Folder = Annotated[str | None, Field(max_length=512)]
Tags = Annotated[list[str], Field(max_length=100)]
Dates = Annotated[str | None, Field(max_length=100)]


def _pair(text: str) -> list[str]:
    return [part.strip() for part in EQUALS.split(text, 1)]


def _named_values(given: Any) -> Any:
    """The values by their names, also from texts or pairs: OpenAI's strict mode knows no object of any names."""
    given = [given] if isinstance(given, str) else given
    if not isinstance(given, list):
        return given
    pairs: list[Any] = [_pair(one) if isinstance(one, str) else one for one in cast("list[Any]", given)]
    try:
        return dict(pairs)
    except (TypeError, ValueError):
        raise ValueError("Write each as status=done") from None


Properties = Annotated[
    dict[str, str],
    BeforeValidator(_named_values),
    WithJsonSchema({"type": "array", "items": {"type": "string"}}),
]


def asked_part(folder: str | None, tags: list[str], dates: str | None, properties: dict[str, str]) -> LibraryPart:
    """The part with documents that have all of these tags, and no tag with a minus before it, and all the rest."""
    wanted = normal_tags([one for one in tags if not one.startswith("-")])
    unwanted = normal_tags([one[1:] for one in tags if one.startswith("-")])
    if tags and not (wanted or unwanted):
        raise no_tag()
    asked = (dates or "").strip()
    is_as_of = asked.lower().startswith(AS_OF)
    range = asked[len(AS_OF) :] if is_as_of else asked
    since, until = parse_date_range(range, datetime.now(UTC).date()) if range else (None, None)
    since, as_of = (None, until) if is_as_of else (since, None)
    return LibraryPart(folder, properties, wanted, no_tags=unwanted, since=since, until=until, as_of=as_of)


def normal_tags(tags: list[str]) -> tuple[str, ...]:
    """The tags as documents are stored with them."""
    return tuple(dict.fromkeys(tag for tag in map(normal_tag, tags) if tag))


def no_tag() -> Refused:
    """The error for texts that cannot be tags."""
    return Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")
