"""Traces and metrics of OpenTelemetry, and the context of a trace, which requests bring and calls of others take along.

Nothing of OpenTelemetry's own is loaded unless one of its variables says where traces or metrics go. A span has names,
times and codes of errors, never contents.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Literal, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator

    from loci.core.telemetry import Called
    from loci.core.trace_export import TraceExport

P = ParamSpec("P")
T = TypeVar("T")
SWITCHES: Final = (
    *("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"),
    *("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"),
)
"""The variables that switch it on. The others only say how."""
LONGEST_STATE: Final = 512
"""Characters of a `tracestate` that is passed on, as W3C asks for at least."""
Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "client"]
_export: "TraceExport | None" = None


def start() -> str | None:
    """Begin to send traces and metrics, if a variable says so. Returns why that is impossible."""
    global _export
    named = next((one for one in SWITCHES if os.environ.get(one)), None)
    if _export is not None or named is None or os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return None
    try:
        from loci.core.trace_export import TraceExport
    except ImportError as error:
        what = f"{named} is set, but {error.name or 'a package'} is not installed, so no traces and metrics are sent"
        return f"{what}. Install Loci with its extra: pip install 'loci-mcp[otel]'"
    try:
        _export = TraceExport()
    except (LookupError, ValueError) as error:
        return f"No traces and metrics are sent: {error}"
    return None


def span(name: str, attributes: Attributes | None = None, kind: Kind = "internal") -> AbstractContextManager[object]:
    """Trace the block as a part of what runs now. Outside of a trace, and if none are sent, it does nothing."""
    return nullcontext() if _export is None else _export.span(name, attributes, kind)


def past(name: str, ms: float, attributes: Attributes | None = None, *, end_ns: int | None = None) -> None:
    """Trace a part that has ended: now, or at that time."""
    if _export is not None:
        _export.past(name, ms, attributes, end_ns)


def request(method: str, attributes: Attributes) -> AbstractContextManager[object]:
    """Trace a request of the protocol. The call that it makes gives the trace its name, by `ended`."""
    return nullcontext() if _export is None else _export.request(method, attributes)


def ended(called: "Called") -> None:
    """Count the call, and tell its span the tool and the outcome."""
    if _export is not None:
        _export.ended(called)


def is_on() -> bool:
    """True if traces or metrics are sent."""
    return _export is not None


def flush() -> None:
    """Send what waits: this process may stand still, or end."""
    if _export is not None:
        _export.flush()


def carried() -> dict[str, str]:
    """The `traceparent` and `tracestate` of what runs now, for others to go on with; empty outside of a trace."""
    if "opentelemetry.trace" not in sys.modules:  # then nothing can have begun one
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier


def bound(work: Callable[P, T]) -> Callable[P, T]:
    """The work as a part of what runs now, on whichever thread it is done."""
    trace = carried()
    if not trace:
        return work

    def continued(*args: P.args, **kwargs: P.kwargs) -> T:
        with continuing(trace):
            return work(*args, **kwargs)

    return continued


def continuing(carrier: Mapping[str, object] | None) -> AbstractContextManager[None]:
    """Make the block a part of the trace that the carrier names. A carrier without a trace changes nothing.

    Baggage is never taken: it is its sender's text, and would go on to other servers.
    """
    parent, state = (carrier or {}).get("traceparent"), (carrier or {}).get("tracestate")
    if not isinstance(parent, str):
        return nullcontext()
    return _attached(parent, state if isinstance(state, str) and len(state) <= LONGEST_STATE else "")


@contextmanager
def _attached(parent: str, state: str) -> "Generator[None]":
    from opentelemetry.context import attach, detach
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    given = {"traceparent": parent} | ({"tracestate": state} if state else {})
    token = attach(TraceContextTextMapPropagator().extract(given))
    try:
        yield
    finally:
        detach(token)
