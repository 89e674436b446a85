"""moto's DynamoDB, S3, S3 Vectors and STS behind addresses of this machine: for programs that do not use boto3."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
from botocore.httpsession import URLLib3Session
from moto.core.models import responses_mock

from tests.support.moto_aws import REGION, moto_aws

SERVICES = ("DYNAMODB", "S3", "S3VECTORS")


@contextmanager
def loopback_aws() -> Generator[str, None, None]:
    """The address. boto3 uses it in here, too, so links lead there."""
    one_at_a_time = threading.Lock()

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # a body follows its headers at once, not 40 ms later

        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_table = "X-Amz-Target" in self.headers
            host = f"{'dynamodb' if is_table else 's3'}.{REGION}.amazonaws.com"
            if "/s3vectors/" in self.headers.get("Authorization", ""):
                host = f"s3vectors.{REGION}.api.aws"
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")
            }
            headers.pop("Expect", None)
            with one_at_a_time:
                answer = requests.request(
                    self.command, f"https://{host}{self.path}", headers=headers, data=body, timeout=10, stream=True
                )
                answer.raw.enforce_content_length = False  # moto's HEAD promises bytes
                # moto's 304 has a text, which no such answer may have.
                has_body = self.command != "HEAD" and answer.status_code != HTTPStatus.NOT_MODIFIED
                content = answer.content if has_body else b""
                responses_mock.calls.reset()  # else every body that was ever sent stays in memory
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in ("content-length", "connection", "content-encoding", "transfer-encoding"):
                    self.send_header(name, value)
            of_head = answer.headers.get("Content-Length", "0")
            self.send_header("Content-Length", of_head if self.command == "HEAD" else str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _forward  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    sessions: list[URLLib3Session] = []
    begin = URLLib3Session.__init__

    def noted(session: URLLib3Session, *args: Any, **kwargs: Any) -> None:
        begin(session, *args, **kwargs)
        sessions.append(session)

    try:
        with moto_aws(), pytest.MonkeyPatch.context() as environment:
            environment.setattr(URLLib3Session, "__init__", noted)
            for service in SERVICES:
                environment.setenv(f"AWS_ENDPOINT_URL_{service}", url)
            yield url
    finally:
        for one in sessions:
            one.close()  # else their connections, and the threads that serve them, last as long as they
        server.shutdown()
        thread.join()
        server.server_close()
