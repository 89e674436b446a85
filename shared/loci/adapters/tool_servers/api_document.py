"""The operations of an HTTP API, read from its OpenAPI document: each becomes a tool."""

import base64
import binascii
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast
from urllib.parse import quote, urljoin

from loci.adapters.tool_servers.api_schemas import NOT_IN_A_NAME, ApiSchemas
from loci.core.json import Json, JsonObject, pointed

METHODS: Final = ("get", "put", "post", "delete", "patch")
JSON, TEXT = "application/json", "text/plain"
FORM, PARTS = "application/x-www-form-urlencoded", "multipart/form-data"
FILE: Final[JsonObject] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "base64": {"type": "string", "description": "its bytes"}},
    "required": ["name", "base64"],
    "additionalProperties": False,
}
"""The schema of a file in a form."""
IN_A_PATH: Final = re.compile(r"\{([^{}/]{1,100})\}")
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 4000
MOST_OPERATIONS: Final = 2000
MOST_HOPS: Final = 10
DEEPEST_FILE: Final = 2
"""Levels of lists and choices in a field of a form, in which files are looked for."""
OURS: Final = frozenset(
    [
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "forwarded",
        "host",
        "keep-alive",
        "origin",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ]
)
"""Headers that no argument sets."""
NOT_LETTERS: Final = re.compile(r"[^a-z0-9]+")
Place = Literal["path", "query", "header", "form", "file"]
"""The place of a value in a request: its address, its headers, or its body. `file`: it may have bytes."""


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """A value that goes into the address, the headers or the form of a request."""

    argument: str
    """Its name among the tool's arguments."""
    name: str
    place: Place
    style: str
    """How objects are written; `json`: as JSON."""
    explode: bool


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file in a form."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Operation:
    """A method at a path of the API."""

    name: str
    method: str
    path: str
    base: str
    """The address that the path is below; empty if the document names none."""
    title: str
    description: str
    parameters: tuple[ApiParameter, ...]
    body: str
    """The media type of the body; empty without a body."""
    body_argument: str
    fields: tuple[ApiParameter, ...]
    """The fields of a form that its document describes."""
    input_schema: JsonObject
    output_schema: JsonObject | None

    def target(self, arguments: Mapping[str, Any], base: str) -> str:
        """The address of the request. Raises `ValueError` if a value would change more than its own place in it."""
        path = IN_A_PATH.sub(lambda found: self._segment(found[1], arguments), self.path)
        if any(one in (".", "..") for one in path.split("/")):
            raise ValueError(f"A value makes another path: {path[:200]}")
        pairs = [
            pair
            for one in self.parameters
            if one.place == "query" and arguments.get(one.argument) is not None
            for pair in _query(one, arguments[one.argument])
        ]
        query = "&".join(f"{quote(name, safe='[]')}={quote(value, safe=',|')}" for name, value in pairs)
        return f"{base.rstrip('/')}/{path.lstrip('/')}{'?' if query else ''}{query}"

    def headers(self, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The headers that arguments set. Raises `ValueError` if a value is no line."""
        found: dict[str, str] = {}
        for one in self.parameters:
            if one.place == "header" and arguments.get(one.argument) is not None:
                text = _joined(arguments[one.argument])
                if not text.isprintable() or not text.isascii():
                    raise ValueError(f"{one.argument} has characters that a header cannot have")
                found[one.name] = text
        return found

    def form(self, value: object) -> list[tuple[str, str | FormFile]]:
        """The fields of the form with this value. Raises `ValueError` if it is no form."""
        if not isinstance(value, dict):
            raise ValueError(f"{self.body_argument} is no object with the fields of the form")
        known = {one.name: one for one in self.fields}
        found: list[tuple[str, str | FormFile]] = []
        for name, given in cast("dict[str, Any]", value).items():
            one = known.get(name) or ApiParameter(name, name, "form", "json", True)
            if one.place == "file" and not isinstance(given, str):
                several = cast("list[Any]", given) if isinstance(given, list) else [given]
                found += [(name, _file(name, each)) for each in several if each is not None]
            elif given is not None:
                found += _query(one, given)
        return found

    def _segment(self, name: str, arguments: Mapping[str, Any]) -> str:
        argument = next((one.argument for one in self.parameters if one.place == "path" and one.name == name), name)
        text = _joined(arguments.get(argument))
        if not text:
            raise ValueError(f"{argument} is empty, and the address needs it")
        return quote(text, safe=",")


def _joined(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(map(_joined, cast("list[object]", value)))
        case dict():
            return ",".join(part for pair in cast("dict[str, object]", value).items() for part in map(_joined, pair))
        case _:
            return str(value)


def _file(field: str, value: object) -> FormFile:
    match value:
        case {"name": str(name), "base64": str(text)}:
            try:
                content = base64.b64decode(text, validate=True)
            except binascii.Error:
                raise ValueError(f"{field}.base64 is no base64") from None
            return FormFile(name.replace("\\", "/").rpartition("/")[2] or "file", content)
        case _:
            raise ValueError(f"{field} is no file: give its name and its bytes as base64")


def plain_name(name: str) -> str:
    """The name as the most tolerant server reads it: PHP takes `a.b[]` for `a_b`, and others any case."""
    return NOT_LETTERS.sub("_", name.partition("[")[0].lower()).strip("_")


def _query(parameter: ApiParameter, value: object) -> Iterator[tuple[str, str]]:
    match value:
        case dict() | list() if parameter.style == "deepObject":
            parts = cast("dict[str, Any] | list[Any]", value)
            for key, one in parts.items() if isinstance(parts, dict) else enumerate(parts):
                yield from _query(replace(parameter, name=f"{parameter.name}[{key}]"), one)
        case dict() if parameter.style == "json":
            yield parameter.name, json.dumps(value, ensure_ascii=False)
        case dict() if parameter.explode:
            yield from ((key, _joined(one)) for key, one in cast("dict[str, Any]", value).items())
        case list() if parameter.explode:
            for one in cast("list[Any]", value):
                yield from _query(parameter, one) if parameter.style == "json" else ((parameter.name, _joined(one)),)
        case list():
            sign = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, ",")
            yield parameter.name, sign.join(map(_joined, cast("list[Any]", value)))
        case _:
            yield parameter.name, _joined(value)


class ApiDocument:
    """An OpenAPI document of version 2 or 3. Only references within it are followed."""

    def __init__(self, document: object, url: str) -> None:
        """`url`: the address it came from. Raises `ValueError` if it is no such document."""
        fields = _object(document)
        self._document = fields
        self._schemas = ApiSchemas(fields)
        version = str(fields.get("openapi") or fields.get("swagger") or "")
        if not version.startswith(("2", "3")) or not isinstance(fields.get("paths"), dict):
            raise ValueError("it is no OpenAPI document of version 2 or 3")
        self._is_old = version.startswith("2")
        self._url = url

    def operations(self, methods: frozenset[str], keys: Collection[str] = ()) -> list[Operation]:
        """The operations with one of these methods, or with any if none is given, each under a name of its own.

        `keys`: plain names of parameters in the address that no argument sets.
        """
        found: dict[str, Operation] = {}
        for path, item in _object(self._document["paths"]).items():
            entry = self._resolved(item)
            for method in METHODS:
                if not isinstance(entry.get(method), dict) or (methods and method not in methods):
                    continue
                if len(found) >= MOST_OPERATIONS:
                    break
                operation = self._operation(path, method, entry, _object(entry[method]), found, keys)
                if operation is not None:
                    found[operation.name] = operation
        return [*found.values()]

    def _operation(
        self,
        path: str,
        method: str,
        entry: dict[str, Any],
        said: dict[str, Any],
        taken: Mapping[str, Operation],
        keys: Collection[str],
    ) -> Operation | None:
        given = {
            (one.get("name"), one.get("in")): one
            for one in map(self._resolved, [*_list(entry.get("parameters")), *_list(said.get("parameters"))])
        }
        parameters: list[ApiParameter] = []
        properties: JsonObject = {}
        required: list[str] = []
        for one in given.values():
            name, place = str(one.get("name") or ""), one.get("in")
            if place not in ("path", "query", "header") or not name or (place == "header" and name.lower() in OURS):
                continue
            if place == "query" and plain_name(name) in keys:
                continue
            argument = name if name not in properties else f"{name}_{place}"
            parameters.append(self._styled(one, argument, name, place))
            properties[argument] = self._parameter_schema(one)
            if one.get("required") is True or place == "path":
                required.append(argument)
        for name in IN_A_PATH.findall(path):
            if not any(one.place == "path" and one.name == name for one in parameters):
                parameters.append(ApiParameter(name, name, "path", "simple", False))
                properties[name] = {"type": "string"}
                required.append(name)
        sent = self._body(said, given)
        if sent is None:
            return None
        media, body, is_needed, fields = sent
        argument = "body" if "body" not in properties else "request_body"
        if media:
            properties[argument] = body
            required += [argument] if is_needed else []
        title = str(said.get("summary") or "")
        told = "\n\n".join(dict.fromkeys(one for one in (title, str(said.get("description") or "")) if one))
        return Operation(
            name=self._name(path, method, said, taken),
            method=method.upper(),
            path=path,
            base=self._base(entry, said),
            title=title[:200],
            description=(told or f"{method.upper()} {path}")[:LONGEST_DESCRIPTION],
            parameters=tuple(parameters),
            body=media,
            body_argument=argument,
            fields=fields,
            input_schema=self._input_schema(properties, required, argument if media else ""),
            output_schema=self._output_schema(said),
        )

    def _input_schema(self, properties: JsonObject, required: list[str], body: str) -> JsonObject:
        needed: JsonObject = {"required": [*dict.fromkeys(required)]} if required else {}
        schema: JsonObject = {"type": "object", "properties": properties, **needed, "additionalProperties": False}
        whole = self._schemas.whole(schema)
        if whole is not None:
            return whole
        short: JsonObject = {name: _plain(one) for name, one in properties.items()}
        if body:
            short[body] = {"description": "Its schema is too large to show: see the documentation of the API"}
        return {**schema, "properties": short}

    def _name(self, path: str, method: str, said: dict[str, Any], taken: Mapping[str, Operation]) -> str:
        name = NOT_IN_A_NAME.sub("_", str(said.get("operationId") or f"{method}{path}")).strip("_")[:LONGEST_NAME]
        return name if name not in taken else f"{name[: LONGEST_NAME - 5]}_{len(taken)}"

    def _parameter_schema(self, one: dict[str, Any]) -> JsonObject:
        schema = one.get("schema")
        if schema is None and isinstance(one.get("content"), dict):
            schema = _first(one["content"]).get("schema")
        if schema is None:
            left_out = ("name", "in", "required", "description", "style", "explode", "content", "collectionFormat")
            schema = {name: value for name, value in one.items() if name not in (*left_out, "allowEmptyValue")}
        clean = self._schemas.clean(schema)
        if one.get("description") and "$ref" not in clean:
            clean["description"] = str(one["description"])[:1000]
        return clean

    def _styled(
        self, said: dict[str, Any], argument: str, name: str, place: Place, usual: str = "form"
    ) -> ApiParameter:
        style, separator = str(said.get("style") or usual), said.get("collectionFormat")
        explode = separator == "multi" if self._is_old else said.get("explode", style in ("form", "json"))
        return ApiParameter(argument, name, place, style, explode is True)

    def _body(self, said: dict[str, Any], given: Mapping[Any, dict[str, Any]]) -> "_Body | None":
        """The body. None: its media type cannot be sent."""
        if self._is_old:
            return self._old_body(said, given)
        body = self._resolved(said.get("requestBody"))
        content = _object(body.get("content"))
        if not content:
            return "", {}, False, ()
        is_needed = body.get("required") is True
        kinds = {str(kind).partition(";")[0].strip().lower(): _object(one) for kind, one in content.items()}
        for kind, one in kinds.items():
            if kind == JSON or kind.endswith("+json") or kind in ("*/*", "application/*"):
                schema = self._schemas.clean(one.get("schema") or {})
                return kind if kind.endswith("json") else JSON, schema, is_needed, ()
        for kind in (FORM, PARTS):
            if kind in kinds:
                return kind, *self._form(kinds[kind], is_needed)
        return (TEXT, self._schemas.clean(kinds[TEXT].get("schema") or {}), is_needed, ()) if TEXT in kinds else None

    def _old_body(self, said: dict[str, Any], given: Mapping[Any, dict[str, Any]]) -> "_Body":
        """The body in a document of version 2, where it is a parameter, or several."""
        whole = next((one for (_, place), one in given.items() if place == "body"), None)
        if whole is not None:
            return JSON, self._schemas.clean(whole.get("schema") or {}), whole.get("required") is True, ()
        form = {str(name): one for (name, place), one in given.items() if place == "formData"}
        if not form:
            return "", {}, False, ()
        properties: JsonObject = {name: self._with_files(self._parameter_schema(one)) for name, one in form.items()}
        needed: list[Json] = [name for name, one in form.items() if one.get("required") is True]
        places: dict[str, Place] = {name: "file" if one.get("type") == "file" else "form" for name, one in form.items()}
        fields = tuple(self._styled(one, name, name, places[name]) for name, one in form.items())
        kinds = _list(said.get("consumes")) or _list(self._document.get("consumes"))
        media = PARTS if "file" in places.values() or (PARTS in kinds and FORM not in kinds) else FORM
        return media, {"type": "object", "properties": properties, "required": needed}, bool(needed), fields

    def _form(self, content: dict[str, Any], is_needed: bool) -> tuple[JsonObject, bool, tuple[ApiParameter, ...]]:
        """The schema of a form, whether it is needed, and its fields."""
        schema = self._schemas.named(self._schemas.clean(content.get("schema") or {}))
        encoding, properties, fields = _object(content.get("encoding")), dict[str, Json](), list[ApiParameter]()
        for name, one in _object(schema.get("properties")).items():
            properties[name] = self._with_files(one)
            place: Place = "file" if properties[name] != one else "form"
            fields.append(self._styled(_object(encoding.get(name)), name, name, place, "json"))
        return {**schema, "properties": properties} if properties else schema, is_needed, tuple(fields)

    def _with_files(self, schema: JsonObject, depth: int = 0) -> JsonObject:
        """The schema with a file wherever it has bytes: alone, in a list, or as one of several."""
        known = self._schemas.named(schema)
        is_whole = "contentMediaType" in known and "contentEncoding" not in known
        if known.get("format") == "binary" or known.get("type") == "file" or is_whole:
            return {**FILE, "description": known.get("description", "a file")}
        changed = {**known}
        for name in ("items", "anyOf", "oneOf") if depth < DEEPEST_FILE else ():
            match known.get(name):
                case dict() as one:
                    changed[name] = self._with_files(one, depth + 1)
                case list() as several:
                    changed[name] = [self._with_files(cast("JsonObject", one), depth + 1) for one in several]
                case _:
                    pass
        return schema if changed == known else changed

    def _output_schema(self, said: dict[str, Any]) -> JsonObject | None:
        """The schema of the answer, if it is an object: others have no structure in the protocol."""
        responses = _object(said.get("responses"))
        code = next((one for one in ("200", "201", "202", "2XX", "default") if one in responses), None)
        answer = self._resolved(responses.get(code or ""))
        schema = answer.get("schema")
        for kind, one in _object(answer.get("content")).items():
            if "json" in str(kind).lower():
                schema = _object(one).get("schema")
                break
        if code == "default":
            return None
        clean = self._schemas.named(self._schemas.clean(schema))
        return self._schemas.whole(clean) if clean.get("type") == "object" else None

    def _base(self, entry: dict[str, Any], said: dict[str, Any]) -> str:
        if self._is_old:
            scheme = next((str(one) for one in _list(self._document.get("schemes")) if one == "https"), None)
            scheme = scheme or str(next(iter(_list(self._document.get("schemes"))), "") or "")
            host, path = str(self._document.get("host") or ""), str(self._document.get("basePath") or "/")
            here = f"{scheme}:" if scheme else ""
            return urljoin(self._url, f"{here}//{host}{path}" if host else path)
        places = (said.get("servers"), entry.get("servers"), self._document.get("servers"))
        first = _object(next((found[0] for one in places if (found := _list(one))), None))
        variables = {
            name: str(_object(one).get("default", "")) for name, one in _object(first.get("variables")).items()
        }
        return urljoin(
            self._url, IN_A_PATH.sub(lambda found: variables.get(found[1], ""), str(first.get("url") or "/"))
        )

    def _resolved(self, value: object) -> dict[str, Any]:
        for _ in range(MOST_HOPS):
            fields = _object(value)
            if "$ref" not in fields:
                return fields
            value = pointed(self._document, str(fields["$ref"]))
        return {}


_Body = tuple[str, JsonObject, bool, tuple[ApiParameter, ...]]
"""The media type of a body, which is empty without one, its schema, whether it is needed, and the fields of a form."""


def _plain(schema: Json) -> JsonObject:
    """The schema without what it is made of."""
    return {one: schema[one] for one in ("type", "description") if one in schema} if isinstance(schema, dict) else {}


def _object(value: object) -> dict[str, Any]:
    """The object with keys that are texts; an empty one for anything else. YAML has numbers as keys: `200`."""
    if not isinstance(value, dict):
        return {}
    fields = cast("dict[Any, Any]", value)
    return fields if all(isinstance(one, str) for one in fields) else {str(name): one for name, one in fields.items()}


def _first(value: object) -> dict[str, Any]:
    return _object(next(iter(_object(value).values()), None))


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
