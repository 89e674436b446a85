"""An HTTP API with an OpenAPI document, on a port of its own."""

import email
import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, parse_qs, parse_qsl, unquote, urlsplit

KEY = "sesame-0f3b91"
NAME = {"name": "petName", "in": "path", "required": True, "schema": {"type": "string"}}
BYTES = {"type": "string", "format": "binary"}
PHOTO = {
    "type": "object",
    "properties": {
        "photo": {"$ref": "#/components/schemas/Bytes"},
        "more": {"type": "array", "items": BYTES},
        "thumb": {"anyOf": [BYTES, {"type": "string", "format": "uri"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "shared": {"type": "boolean"},
    },
}
NOTE = {"type": "object", "additionalProperties": True, "properties": {"owner": {"type": "object"}}}
PET = {"$ref": "#/components/schemas/Pet"}
ANSWER = {"200": {"description": "A pet", "content": {"application/json": {"schema": PET}}}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{petName}": {
            "parameters": [NAME],
            "get": {"operationId": "getPet", "summary": "Find a pet by its name", "responses": ANSWER},
            "delete": {"operationId": "removePet", "responses": {"204": {"description": "Gone"}}},
        },
        "/pets": {
            "get": {
                "summary": "List the pets",
                "parameters": [
                    {"name": "kind", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                ],
                "responses": {"200": {"description": "Pets"}},
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {"required": True, "content": {"application/json": {"schema": PET}}},
                "responses": ANSWER,
            },
        },
        "/moved": {"get": {"operationId": "moved", "responses": {"302": {"description": "Elsewhere"}}}},
        "/photo": {
            "post": {
                "operationId": "addPhoto",
                "requestBody": {"content": {"multipart/form-data": {"schema": PHOTO}}},
                "responses": {},
            }
        },
        "/note": {
            "post": {
                "operationId": "addNote",
                "parameters": [{"name": "q", "in": "query", "schema": {"type": "object"}}],
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": NOTE,
                            "encoding": {"owner": {"style": "deepObject", "explode": True}},
                        }
                    }
                },
                "responses": {},
            }
        },
        "/raw": {"put": {"requestBody": {"content": {"application/octet-stream": {}}}, "responses": {}}},
    },
    "components": {
        "schemas": {
            "Bytes": BYTES,
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "nullable": True},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "parent": {"$ref": "#/components/schemas/Pet"},
                },
            },
        }
    },
}


@dataclass(slots=True)
class PetApi:
    """A running API, and the requests that it got."""

    url: str = ""
    document: dict[str, Any] = field(default_factory=lambda: DOCUMENT)
    asked: list[tuple[str, str, Mapping[str, str], str]] = field(default_factory=list[Any])
    """The method, the target, the headers and the body of each request but those for the document."""


def _answer(method: str, place: SplitResult, headers: Mapping[str, str], body: str) -> tuple[int, object, str]:
    """The status, the value and the place to go to instead."""
    if headers.get("X-Key") not in (None, KEY):
        return 401, {"error": f"not {headers['X-Key']}"}, ""
    if (keys := parse_qs(place.query).get("api_key", [KEY])) != [KEY]:
        return 401, {"error": f"not {keys} of {place.query}"}, ""
    if place.path == "/v1/moved":
        return 302, {}, "http://169.254.169.254/latest"
    if method == "DELETE":
        return 204, None, ""
    kind = headers.get("Content-Type", "")
    if kind.startswith("multipart/"):
        parts: Any = email.message_from_string(f"Content-Type: {kind}\n\n{body}").get_payload()
        return 200, {"parts": [[one.items(), one.get_payload()] for one in parts]}, ""
    if method == "POST":
        return 200, {"fields": parse_qsl(body)} if "urlencoded" in kind else json.loads(body), ""
    if place.path == "/v1/pets":
        return 200, parse_qs(place.query).get("kind", ["all"]), ""
    return 200, {"name": unquote(place.path.removeprefix("/v1/pets/"))}, ""


@contextmanager
def pet_api(**more: Any) -> Generator[PetApi]:
    """Serve the API, with these fields in its document."""
    api = PetApi(document={**DOCUMENT, **more})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            place = urlsplit(self.path)
            if place.path == "/v1/openapi.json":
                self._say(200, api.document)
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            api.asked.append((self.command, self.path, dict(self.headers), body))
            self._say(*_answer(self.command, place, dict(self.headers), body))

        do_POST = do_DELETE = do_GET  # noqa: N815 (the names are those of `http.server`)

        def _say(self, status: int, value: object, location: str = "") -> None:
            content = b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: pytest would show it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.url = f"http://127.0.0.1:{server.server_port}/v1/openapi.json"
    api.document = {"servers": [{"url": "/v1"}], **api.document}
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
