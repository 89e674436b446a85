"""HTTP requests as API Gateway's events, and a handler's answers as HTTP responses."""

import base64
import binascii
import json
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, unquote, urlsplit

Version = Literal["v1", "v2"]

# What API Gateway does not encode; a form is not among them.
TEXT = ("text/", "application/json", "application/javascript", "application/xml")


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str  # path and query, as in the request line
    headers: tuple[tuple[str, str], ...]
    body: bytes
    peer: str
    port: int  # the gateway's

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> str:
        return urlsplit(self.target).query

    def header(self, name: str) -> str:
        return ",".join(value for key, value in self.headers if key.lower() == name)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def event(request: Request, version: Version) -> dict[str, Any]:
    """The event of a REST API (v1) or of an HTTP API (v2)."""
    return _rest_event(request) if version == "v1" else _http_event(request)


def response(answer: object, version: Version) -> Response:
    """The part of a handler's answer that the client sees."""
    match answer:
        case {"errorType": str()}:
            return _failure(502, version)
        case {"statusCode": int(status)}:
            fields = cast("dict[str, Any]", answer)
            try:
                return Response(status, _headers_out(fields), _body_out(fields))
            except (TypeError, binascii.Error):
                return _failure(502, version)
        case _ if version == "v2":  # an HTTP API sends any other answer as it is
            return Response(200, (("content-type", "application/json"),), json.dumps(answer).encode())
        case _:
            return _failure(502, version)


def timed_out(version: Version) -> Response:
    """The answer that the client sees if the function takes too long."""
    return _failure(504 if version == "v1" else 503, version)


def _rest_event(request: Request) -> dict[str, Any]:
    # A REST API leaves the path as it was sent; an HTTP API decodes it.
    query = _many(parse_qsl(request.query, keep_blank_values=True))
    headers = _many((*request.headers, *_forwarded(request)))
    return {
        "resource": "/{proxy+}",
        "path": request.path,
        "httpMethod": request.method,
        "headers": _last(headers),
        "multiValueHeaders": headers,
        "queryStringParameters": _last(query) or None,
        "multiValueQueryStringParameters": query or None,
        "pathParameters": {"proxy": request.path.lstrip("/")},
        "stageVariables": None,
        "requestContext": _rest_context(request),
        **(_body_in(request) if request.body else {"body": None, "isBase64Encoded": False}),
    }


def _rest_context(request: Request) -> dict[str, Any]:
    identity = dict.fromkeys(("accessKey", "accountId", "caller", "cognitoIdentityId", "user", "userArn"))
    identity |= {"sourceIp": request.peer, "userAgent": request.header("user-agent")}
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "resourceId": "local",
        "resourcePath": "/{proxy+}",
        "path": f"/local{request.path}",
        "httpMethod": request.method,
        "protocol": "HTTP/1.1",
        "stage": "local",
        "domainName": request.header("host"),
        "domainPrefix": "local",
        "requestId": str(uuid.uuid4()),
        "requestTimeEpoch": round(time.time() * 1000),
        "identity": identity,
    }


def _http_event(request: Request) -> dict[str, Any]:
    headers = _many((key.lower(), value) for key, value in (*request.headers, *_forwarded(request)))
    cookies = [cookie.strip() for value in headers.pop("cookie", []) for cookie in value.split(";")]
    query = _many(parse_qsl(request.query, keep_blank_values=True))
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": unquote(request.path),
        "rawQueryString": request.query,
        "headers": {key: ",".join(values) for key, values in headers.items()},
        **({"cookies": cookies} if cookies else {}),
        **({"queryStringParameters": {key: ",".join(values) for key, values in query.items()}} if query else {}),
        "requestContext": _http_context(request),
        **(_body_in(request) if request.body else {"isBase64Encoded": False}),
    }


def _http_context(request: Request) -> dict[str, Any]:
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "domainName": request.header("host"),
        "domainPrefix": "local",
        "http": {
            "method": request.method,
            "path": unquote(request.path),
            "protocol": "HTTP/1.1",
            "sourceIp": request.peer,
            "userAgent": request.header("user-agent"),
        },
        "requestId": str(uuid.uuid4()),
        "routeKey": "$default",
        "stage": "$default",
        "timeEpoch": round(time.time() * 1000),
    }


def _forwarded(request: Request) -> tuple[tuple[str, str], ...]:
    # The scheme is the one that was used: links that a server builds from it must work here.
    port = str(request.port)
    return (("X-Forwarded-For", request.peer), ("X-Forwarded-Port", port), ("X-Forwarded-Proto", "http"))


def _body_in(request: Request) -> dict[str, Any]:
    if request.header("content-type").lower().startswith(TEXT) and not request.header("content-encoding"):
        try:
            return {"body": request.body.decode(), "isBase64Encoded": False}
        except UnicodeDecodeError:
            pass
    return {"body": base64.b64encode(request.body).decode(), "isBase64Encoded": True}


def _body_out(answer: Mapping[str, Any]) -> bytes:
    body: str = answer.get("body") or ""
    return base64.b64decode(body, validate=True) if answer.get("isBase64Encoded") else body.encode()


def _headers_out(answer: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    many: Mapping[str, list[str]] = answer.get("multiValueHeaders") or {}
    repeated = {key.lower() for key in many}
    once: Mapping[str, Any] = answer.get("headers") or {}
    headers = [(key, str(value)) for key, value in once.items() if key.lower() not in repeated]
    headers += [(key, str(value)) for key, values in many.items() for value in values]
    cookies: list[str] = answer.get("cookies") or []
    return (*headers, *(("set-cookie", cookie) for cookie in cookies))


def _failure(status: int, version: Version) -> Response:
    words = {502: "Internal server error", 504: "Endpoint request timed out", 503: "Service Unavailable"}
    message = "Internal Server Error" if (status, version) == (502, "v2") else words[status]
    return Response(status, (("content-type", "application/json"),), json.dumps({"message": message}).encode())


def _many(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: defaultdict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        values[key].append(value)
    return dict(values)


def _last(values: Mapping[str, list[str]]) -> dict[str, str]:
    return {key: each[-1] for key, each in values.items()}
