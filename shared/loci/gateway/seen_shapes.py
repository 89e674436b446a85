"""The shapes of results that came from tools without an output schema: names and types of fields, and no values."""

import json
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import islice
from typing import Final, cast

from loci.core.background import BackgroundQueue
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject
from loci.core.stores import Record, RecordStore, read_or_none, update
from loci.gateway.shapes import Shape, type_of

SHAPE: Final = "seen_shape"
"""The kind of record: the shape of a tool's results."""
DAY: Final = 24 * 3600.0
KEPT, RENEWED = 90 * DAY, 30 * DAY
"""Seconds for which a shape is kept after it was written, and after which one that is still seen is written again."""
LEVELS, FIELDS, ITEMS = 4, 30, 20
"""Levels of a value, fields of an object and items of a list that are read."""
LARGEST: Final = 4000
"""Characters of a shape."""
MOST_KNOWN: Final = 1000
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_$.-]{0,30}[0-9]{0,2}")
"""The name of a field. An object with other names is a map from what may be a value."""


class SeenShapes:
    """Keeps one shape for each tool of an owner: that of all its results so far, joined. Written in the background."""

    def __init__(self, records: RecordStore, later: BackgroundQueue, clock: Callable[[], float] = time.time) -> None:
        self._records = records
        self._later = later
        self._clock = clock
        self._known = dict[tuple[Owner, str], JsonObject]()

    def note(self, owner: Owner, tool: str, value: Callable[[], Json]) -> None:
        """Note the value that the tool gave."""
        self._later.do(partial(self._note, owner, tool, value), (SHAPE, owner, tool))

    def of(self, owner: Owner, tools: Sequence[str]) -> dict[str, Shape]:
        """The shapes of results of these tools, as far as any have come."""
        keys = {content_id(one): one for one in tools}
        found = self._records.get_all(owner, SHAPE, [*keys]) if keys else {}
        shapes = {keys[key]: read_or_none(record, _shape) for key, record in found.items()}
        return {tool: Shape(one, one, is_seen=True) for tool, one in shapes.items() if one is not None}

    def _note(self, owner: Owner, tool: str, value: Callable[[], Json]) -> None:
        new, now = shape_of(value()), self._clock()
        if (known := self._known.get((owner, tool))) is not None and joined(known, new) == known:
            return

        def noted(record: Record | None) -> JsonObject | None:
            old = read_or_none(record, _shape)
            whole = new if old is None else joined(old, new)
            is_fresh = record is not None and now - cast("float", record.value.get("at", 0.0)) < RENEWED
            self._remember(owner, tool, whole)
            return None if whole == old and is_fresh else {"tool": tool, "at": now, "shape": whole}

        update(self._records, owner, SHAPE, content_id(tool), noted, expires_at=now + KEPT, durable=False)

    def _remember(self, owner: Owner, tool: str, shape: JsonObject) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[owner, tool] = shape


def shape_of(value: Json) -> JsonObject:
    """The shape of the value, as a schema. It has as many levels as there is room for."""
    shapes = (_shape_of(value, levels) for levels in range(LEVELS, -1, -1))
    return next(one for one in shapes if len(json.dumps(one)) <= LARGEST)


def joined(one: JsonObject, other: JsonObject) -> JsonObject:
    """The shape of values that have one of these shapes."""
    whole = _joined(one, other)
    return whole if len(json.dumps(whole)) <= LARGEST else other


def _shape_of(value: Json, levels: int) -> JsonObject:
    match value:
        case None:
            return {}
        case dict() if levels and len(value) <= FIELDS and all(map(NAME.fullmatch, value)):
            return {"type": "object", "properties": {name: _shape_of(one, levels - 1) for name, one in value.items()}}
        case list() if levels and value:
            items = (_shape_of(one, levels - 1) for one in islice(value, ITEMS))
            return {"type": "array", "items": reduce(_joined, items)}
        case _:
            return {"type": type_of(value)}


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    if not one or not other or one == other:
        return one or other
    types = sorted({*_texts(one["type"]), *_texts(other["type"])})
    whole: JsonObject = {"type": types[0] if len(types) == 1 else [*types]}
    if "object" in types and (fields := _fields(one, other)) is not None:
        whole["properties"] = fields
    items = [cast("JsonObject", some["items"]) for some in (one, other) if "items" in some]
    if items:
        whole["items"] = reduce(_joined, items)
    return whole


def _fields(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """The fields of both; None if one of them is an object whose fields are not known, or if they are too many."""
    fields = dict[str, JsonObject]()
    for some in (one, other):
        if _is_object(some):
            if "properties" not in some:
                return None
            for name, shape in cast("dict[str, JsonObject]", some["properties"]).items():
                fields[name] = _joined(fields.get(name, {}), shape)
    return cast("JsonObject", fields) if len(fields) <= FIELDS else None


def _is_object(shape: JsonObject) -> bool:
    return "object" in _texts(shape["type"])


def _texts(types: Json) -> Iterable[str]:
    return [types] if isinstance(types, str) else [str(one) for one in cast("list[Json]", types)]


def _shape(record: Record) -> JsonObject:
    return cast("JsonObject", record.value["shape"])
