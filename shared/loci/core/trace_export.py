"""Sends traces and metrics by OpenTelemetry's SDK, to where its variables say. Only `tracing` loads this module.

Its provider is not the process's own: the spans of libraries, which may hold contents, go nowhere.
"""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from random import getrandbits
from typing import Any, Final

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Span, SpanContext, SpanKind, StatusCode, get_current_span

from loci.core.errors import LociError
from loci.core.telemetry import Called
from loci.core.tracing import Attributes, Kind
from loci.core.version import version

FLUSH_MS: Final = 2000
"""Milliseconds that the answer of a function waits until its spans are sent."""
REST_SECONDS: Final = 60.0
"""Seconds for which nobody waits after that was too short."""
BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: the bounds that the conventions for MCP name."""
SCOPE: Final = InstrumentationScope("loci", version())
KINDS: Final[dict[Kind, SpanKind]] = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
_request: ContextVar[Span | None] = ContextVar("request", default=None)
"""The span of the request that is a call of a tool."""


class TraceExport:
    """The spans and the counts of this process."""

    def __init__(self) -> None:
        """Raises `LookupError` if a variable names an exporter that is not installed."""
        resource = _resource()
        self._traces = TracerProvider(resource=resource)
        self._resource = resource
        self._senders = [BatchSpanProcessor(one) for one in _exporters("TRACES")]
        for one in self._senders:
            self._traces.add_span_processor(one)
        readers = [PeriodicExportingMetricReader(one) for one in _exporters("METRICS")]
        self._metrics = MeterProvider(readers, resource=resource)
        self._tracer = self._traces.get_tracer("loci", version())
        self._durations = self._metrics.get_meter("loci", version()).create_histogram(
            "mcp.server.operation.duration",
            "s",
            "The duration of calls, by tool and outcome",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self._rests_until = 0.0

    @contextmanager
    def span(self, name: str, attributes: Attributes | None, kind: Kind) -> Generator[None]:
        """See `tracing.span`."""
        if not get_current_span().get_span_context().is_valid:
            yield
            return
        with (
            self._tracer.start_as_current_span(
                name, kind=KINDS[kind], attributes=attributes, record_exception=False, set_status_on_exception=False
            ) as one,
            _noting_failure(one),
        ):
            yield

    def past(self, name: str, ms: float, attributes: Attributes | None, end_ns: int | None) -> None:
        """See `tracing.past`."""
        above = get_current_span().get_span_context()
        if above.is_valid and above.trace_flags.sampled:
            end = end_ns or time.time_ns()
            id = SpanContext(above.trace_id, getrandbits(64) or 1, False, above.trace_flags, above.trace_state)
            # Not by the tracer, which takes four times as long: nobody changes this span any more.
            one = ReadableSpan(
                name,
                id,
                above,
                self._resource,
                attributes,
                instrumentation_scope=SCOPE,
                start_time=end - int(ms * 1e6),
                end_time=end,
            )
            for sender in self._senders:
                sender.on_end(one)

    @contextmanager
    def request(self, method: str, attributes: Attributes) -> Generator[None]:
        """See `tracing.request`."""
        with self._tracer.start_as_current_span(
            method, kind=SpanKind.SERVER, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as one:
            before = _request.set(one if method == "tools/call" else None)
            try:
                with _noting_failure(one):
                    yield
            finally:
                _request.reset(before)

    def ended(self, called: Called) -> None:
        """See `tracing.ended`."""
        told: dict[str, str] = {"mcp.method.name": "tools/call", "gen_ai.tool.name": called.tool}
        told |= {} if called.outcome == "ok" else {"error.type": called.code or called.outcome}
        self._durations.record(called.ms / 1000, told | {"loci.door": called.door, "loci.outcome": called.outcome})
        is_inside = called.door in ("code", "workflow")
        one = get_current_span() if is_inside else _request.get()
        if one is not None and one.is_recording():
            one.set_attributes({**told, "gen_ai.operation.name": "execute_tool"})
            one.update_name(f"{'execute_tool' if is_inside else 'tools/call'} {called.tool}")
            if called.outcome != "ok":
                one.set_status(StatusCode.ERROR)

    def flush(self) -> None:
        """Send what waits. If that takes too long, nobody waits for the next minute."""
        if time.monotonic() < self._rests_until:
            return
        until = time.monotonic() + FLUSH_MS / 1000
        self._traces.force_flush(FLUSH_MS)
        self._metrics.force_flush(max(1, (until - time.monotonic()) * 1000))
        if time.monotonic() >= until:
            self._rests_until = until + REST_SECONDS


@contextmanager
def _noting_failure(one: Span) -> Generator[None]:
    try:
        yield
    except BaseException as error:
        one.set_attribute("error.type", error.code if isinstance(error, LociError) else type(error).__name__)
        one.set_status(StatusCode.ERROR)
        raise


def _resource() -> Resource:
    told: dict[str, str] = {"service.version": version()}
    if "OTEL_SERVICE_NAME" not in os.environ and "service.name=" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        told["service.name"] = "loci"
    if function := os.environ.get("AWS_LAMBDA_FUNCTION_NAME"):
        told |= {"faas.name": function, "faas.instance": os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME", "")}
    return Resource.create(told)


def _exporters(signal: str) -> list[Any]:
    """The exporters of traces or metrics: those that the variable names, else OTLP if there is an address for it."""
    addresses = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")
    default = "otlp" if any(os.environ.get(one) for one in addresses) else "none"
    named = [one.strip() for one in (os.environ.get(f"OTEL_{signal}_EXPORTER") or default).split(",")]
    return [_exporter(signal, one) for one in named if one != "none"]


def _exporter(signal: str, name: str) -> Any:
    if name == "otlp":
        protocol = os.environ.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL") or os.environ.get(
            "OTEL_EXPORTER_OTLP_PROTOCOL"
        )
        name = "otlp_proto_grpc" if protocol == "grpc" else "otlp_proto_http"
    found = [*entry_points(group=f"opentelemetry_{signal.lower()}_exporter", name=name)]
    if not found:
        raise LookupError(f"OTEL_{signal}_EXPORTER asks for {name}, which is not installed; otlp over HTTP is")
    return found[0].load()()
