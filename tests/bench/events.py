"""HTTP requests as API Gateway hands them to a Lambda function."""

from dataclasses import dataclass
from typing import Any, Literal

Version = Literal["v1", "v2"]
HOST = "127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class Post:
    """A POST to the endpoint."""

    headers: tuple[tuple[str, str], ...]
    body: str

    def event(self, version: Version) -> dict[str, Any]:
        """It as the event of a REST API (v1) or of an HTTP API (v2)."""
        return self._rest() if version == "v1" else self._http()

    def raw(self) -> bytes:
        """It as the bytes of HTTP/1.1."""
        body = self.body.encode()
        lines = ["POST /mcp HTTP/1.1", *(f"{name}: {text}" for name, text in self.headers)]
        return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body

    def _rest(self) -> dict[str, Any]:
        return {
            "resource": "/{proxy+}",
            "path": "/mcp",
            "httpMethod": "POST",
            "headers": dict(self.headers),
            "multiValueHeaders": {name: [text] for name, text in self.headers},
            "queryStringParameters": None,
            "multiValueQueryStringParameters": None,
            "pathParameters": {"proxy": "mcp"},
            "stageVariables": None,
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "local",
                "resourcePath": "/{proxy+}",
                "path": "/local/mcp",
                "httpMethod": "POST",
                "protocol": "HTTP/1.1",
                "stage": "local",
                "domainName": HOST,
                "requestId": "bench",
                "identity": {"sourceIp": "127.0.0.1", "userAgent": "bench"},
            },
            "body": self.body,
            "isBase64Encoded": False,
        }

    def _http(self) -> dict[str, Any]:
        return {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": "/mcp",
            "rawQueryString": "",
            "headers": {name.lower(): text for name, text in self.headers},
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "local",
                "domainName": HOST,
                "http": {
                    "method": "POST",
                    "path": "/mcp",
                    "protocol": "HTTP/1.1",
                    "sourceIp": "127.0.0.1",
                    "userAgent": "bench",
                },
                "requestId": "bench",
                "routeKey": "$default",
                "stage": "$default",
            },
            "body": self.body,
            "isBase64Encoded": False,
        }
