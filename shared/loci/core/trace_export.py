"""Sends traces and metrics by OpenTelemetry's SDK, to where its variables say. Only `tracing` loads this module.

Its provider is not the process's own: the spans of libraries, which may hold contents, go nowhere.
"""

import atexit
import os
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.metadata import entry_points
from random import getrandbits
from typing import Any, Final

from opentelemetry.context import attach, detach, get_current
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    get_current_span,
    set_span_in_context,
)

from loci.core.background import BackgroundQueue
from loci.core.errors import LociError
from loci.core.telemetry import Called
from loci.core.tracing import Attributes, Kind
from loci.core.version import version

FLUSH_SECONDS: Final = 2.0
"""Seconds that the answer of a function, and the end of a process, wait until everything is sent."""
REST_SECONDS: Final = 60.0
"""Seconds for which nobody waits after that was too short."""
BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds: the bounds that the conventions for MCP name."""
SCOPE: Final = InstrumentationScope("loci", version())
KINDS: Final[dict[Kind, SpanKind]] = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}
UNSET, FAILED = Status(), Status(StatusCode.ERROR)


@dataclass(slots=True)
class _Open:
    """A span that has not ended."""

    name: str
    kind: SpanKind
    attributes: dict[str, str | int | float | bool]
    context: SpanContext
    above: SpanContext | None
    began: int
    failed: bool = False


_open_span: ContextVar[_Open | None] = ContextVar("open_span", default=None)


class TraceExport:
    """The spans and the counts of this process."""

    def __init__(self) -> None:
        """Raises `LookupError` if a variable names an exporter that is not installed."""
        resource = _resource()
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._resource = resource
        self._senders = [BatchSpanProcessor(one) for one in _exporters("TRACES")]
        for one in self._senders:
            self._traces.add_span_processor(one)
        readers = [PeriodicExportingMetricReader(one) for one in _exporters("METRICS")]
        self._metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        self._durations = self._metrics.get_meter("loci", version()).create_histogram(
            "mcp.server.operation.duration",
            "s",
            "The duration of calls, by tool and outcome",
            explicit_bucket_boundaries_advisory=BUCKETS,
        )
        self._rests_until = 0.0
        self._sending = BackgroundQueue()
        atexit.register(self.flush)

    def span(self, name: str, attributes: Attributes | None, kind: Kind) -> AbstractContextManager[object]:
        """See `tracing.span`."""
        above = get_current_span().get_span_context()
        return self._open(name, KINDS[kind], attributes, _below(above), above) if above.is_valid else nullcontext()

    def request(self, method: str, attributes: Attributes) -> AbstractContextManager[object]:
        """See `tracing.request`. The sampler decides for it, and so for all that is below it."""
        above, sampler = get_current_span().get_span_context(), self._traces.sampler
        trace = above.trace_id if above.is_valid else self._traces.id_generator.generate_trace_id()
        wanted = sampler.should_sample(get_current(), trace, method, SpanKind.SERVER, attributes).decision.is_sampled()
        flags = TraceFlags(TraceFlags.SAMPLED if wanted else TraceFlags.DEFAULT)
        context = SpanContext(trace, _id(), False, flags, above.trace_state)
        return self._open(method, SpanKind.SERVER, attributes, context, above if above.is_valid else None)

    def past(self, name: str, ms: float, attributes: Attributes | None, end_ns: int | None) -> None:
        """See `tracing.past`."""
        above = get_current_span().get_span_context()
        if above.is_valid and above.trace_flags.sampled:
            end = end_ns or time.time_ns()
            began = end - int(ms * 1e6)
            self._send(_Open(name, SpanKind.INTERNAL, {**(attributes or {})}, _below(above), above, began), end)

    @contextmanager
    def _open(
        self,
        name: str,
        kind: SpanKind,
        attributes: Attributes | None,
        context: SpanContext,
        above: SpanContext | None,
    ) -> Generator[None]:
        """A span until the end of the block. The SDK's own tracer takes three times as long for it."""
        told = {**(attributes or {})}
        one = _Open(name, kind, told, context, above, time.time_ns())
        token, before = attach(set_span_in_context(NonRecordingSpan(context))), _open_span.set(one)
        try:
            yield
        except BaseException as error:
            told["error.type"] = error.code if isinstance(error, LociError) else type(error).__name__
            one.failed = True
            raise
        finally:
            _open_span.reset(before)
            detach(token)
            if context.trace_flags.sampled:
                self._send(one, time.time_ns())

    def _send(self, one: "_Open", end: int) -> None:
        span = ReadableSpan(
            one.name,
            one.context,
            one.above,
            self._resource,
            one.attributes,
            kind=one.kind,
            status=FAILED if one.failed else UNSET,
            instrumentation_scope=SCOPE,
            start_time=one.began,
            end_time=end,
        )
        for sender in self._senders:
            sender.on_end(span)

    def ended(self, called: Called) -> None:
        """See `tracing.ended`."""
        told: dict[str, str] = {"mcp.method.name": "tools/call", "gen_ai.tool.name": called.tool}
        told |= {} if called.outcome == "ok" else {"error.type": called.code or called.outcome}
        self._durations.record(called.ms / 1000, told | {"loci.door": called.door, "loci.outcome": called.outcome})
        one, name = _open_span.get(), "execute_tool" if called.door in ("code", "workflow") else "tools/call"
        if one is not None and one.name == name:  # offers of servers are calls, too, and have other requests
            one.attributes.update(told, **{"gen_ai.operation.name": "execute_tool"})
            one.name = f"{name} {called.tool}"
            one.failed = called.outcome != "ok"

    def flush(self) -> None:
        """Send what waits. If that takes too long, as without a collector, nobody waits for the next minute."""
        if time.monotonic() < self._rests_until:
            return
        with suppress(RuntimeError):  # no thread can begin any more
            self._sending.do(self._send_all, "all")
        if not self._sending.finish(FLUSH_SECONDS):
            self._rests_until = time.monotonic() + REST_SECONDS

    def _send_all(self) -> None:
        # Neither heeds a timeout: each tries again for as long as its exporter likes.
        self._traces.force_flush()
        self._metrics.force_flush()


def _id() -> int:
    return getrandbits(64) or 1


def _below(above: SpanContext) -> SpanContext:
    return SpanContext(above.trace_id, _id(), False, above.trace_flags, above.trace_state)


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
