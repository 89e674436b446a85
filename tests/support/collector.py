"""A collector of OpenTelemetry: it takes traces and metrics over HTTP, as the official one does, and keeps them."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.polling import until


@dataclass(frozen=True)
class Span:
    """A span that came."""

    name: str
    trace: str
    id: str
    parent: str
    kind: str
    is_error: bool
    attributes: dict[str, Any]
    began: int
    ended: int


@dataclass
class Collector:
    """Everything that came."""

    url: str
    spans: list[Span] = field(default_factory=list[Span])
    counted: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    """The number of calls by tool, outcome and door."""
    services: set[str] = field(default_factory=set[str])
    contents: list[bytes] = field(default_factory=list[bytes])

    @property
    def variables(self) -> dict[str, str]:
        """The variables of a process that sends everything here at once."""
        pauses = {"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, **pauses}

    def trace(self, id: str, *names: str) -> dict[str, Span]:
        """The spans of the trace by their names, as soon as these have come."""

        def found() -> dict[str, Span] | None:
            of_it = {one.name: one for one in [*self.spans] if one.trace == id}
            return of_it if of_it.keys() >= set(names) else None

        return until(found)

    def took(self, path: str, content: bytes) -> None:
        self.contents.append(content)
        if path == "/v1/traces":
            for group in ExportTraceServiceRequest.FromString(content).resource_spans:
                self.services |= {
                    one.value.string_value for one in group.resource.attributes if one.key == "service.name"
                }
                self.spans += [_span(one) for scope in group.scope_spans for one in scope.spans]
        for group in ExportMetricsServiceRequest.FromString(content).resource_metrics if path == "/v1/metrics" else ():
            for point in (p for s in group.scope_metrics for m in s.metrics for p in m.histogram.data_points):
                told = _attributes(point.attributes)
                self.counted[told["gen_ai.tool.name"], told["loci.outcome"], told["loci.door"]] = point.count


def _attributes(given: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in given}


def _span(one: Any) -> Span:
    kind = {1: "internal", 2: "server", 3: "client"}[one.kind]
    parts = one.trace_id.hex(), one.span_id.hex(), one.parent_span_id.hex()
    told = _attributes(one.attributes)
    return Span(one.name, *parts, kind, one.status.code == 2, told, one.start_time_unix_nano, one.end_time_unix_nano)


@contextmanager
def collector() -> Generator[Collector]:
    """A collector on a free port, until the end of the block."""

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.took(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Taking) as server:
        made = Collector(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
