"""What a fresh process must not load before it needs it."""

from collections.abc import Sequence
from dataclasses import replace

from tests.bench.calls import TOOLS, message, tool_call
from tests.bench.cold import Start, start
from tests.bench.events import Post
from tests.bench.figures import Figure, verdict
from tests.bench.issuer import issuer
from tests.bench.servers import Servers

READERS = frozenset({"pandas", "openpyxl", "python_calamine", "pypdfium2", "lxml", "duckdb"})
HEAVY = READERS | {"boto3", "botocore.session", "opensearchpy", "onnxruntime", "numpy"}
AWS = {
    "LOCI_MODE": "aws",
    "LOCI_AUTH": "required",
    "LOCI_TABLE": "bench",
    "LOCI_BUCKET": "bench",
    "LOCI_SECRETS": "a secret of the benchmark that signs nothing real",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_LAMBDA_FUNCTION_NAME": "bench",
}


def imports(servers: Servers) -> list[Figure]:
    """Embedded, after a call of each tool; on AWS, before the first access to a store."""
    loci = servers.loci
    called = [
        *(loci.call("2026-07-28", tool).post() for tool in TOOLS),
        tool_call("2026-07-28", "get_memorylake_metadata", {}),
    ]
    embedded = start(loci, [one.event("v2") for one in called])
    closed = start(replace(loci, env=AWS), [one.event("v2") for one in _asked(None)])
    with issuer() as authority:
        env = {**AWS, **authority.settings()}
        opened = start(replace(loci, env=env), [one.event("v2") for one in _asked(authority.token)])
    return [
        _figure("modules, embedded: three tools called", embedded, 200),
        _figure("modules, AWS: four requests without a key", closed, 401),
        _figure("modules, AWS: with a token lists, discover, initialize", opened, 200),
    ]


def _asked(credential: str | None) -> Sequence[Post]:
    """Requests that need no store."""
    client = {"name": "bench", "version": "1"}
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    return [
        message("server/discover", "2026-07-28", {}, credential),
        message("tools/list", "2026-07-28", {}, credential),
        message("initialize", "legacy sse", opening, credential),
        message("tools/list", "legacy sse", {}, credential),
    ]


def _figure(name: str, begun: Start, status: int) -> Figure:
    heavy = sorted(HEAVY & begun.modules)
    statuses = sorted({int(answer["statusCode"]) for answer in begun.answers})
    return Figure(
        name,
        budget=f"none of {len(HEAVY)}, status {status}",
        measured=f"{', '.join(heavy) or 'none'}, status {', '.join(map(str, statuses))}",
        verdict=verdict(kept=not heavy and statuses == [status]),
        loci=f"{len(begun.modules)} loaded",
        numbers={"heavy": heavy, "loaded": len(begun.modules), "statuses": statuses},
    )
