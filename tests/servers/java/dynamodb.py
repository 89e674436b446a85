"""DynamoDB Local: AWS's own server for tests."""

import http.client
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.servers.java.jars import assembled
from tests.servers.java.jvm import LIGHT, java
from tests.servers.java.server import Server, started
from tests.servers.ports import free_port

HEAP = "256m"
MAIN = Path(__file__).with_name("LoopbackDynamoDb.java")  # which `java` compiles as it starts it


@contextmanager
def dynamodb(port: int | None = None, data: Path | None = None) -> Generator[Server, None, None]:
    """A server that answers. Without a folder of yours its tables are in memory."""
    program, jars, port = java(), assembled("dynamodb"), port or free_port()
    if data is not None:
        data.mkdir(parents=True, exist_ok=True)

    def command(scratch: Path) -> Sequence[str]:
        jvm = [*LIGHT, f"-Xmx{HEAP}", f"-Djava.io.tmpdir={scratch}", f"-Djava.library.path={jars}"]
        runner = ["-cp", f"{jars}/*", str(MAIN)]
        tables = ["-dbPath", str(data.resolve())] if data else ["-inMemory"]
        # One set of tables, whatever keys and region a client has.
        return [program, *jvm, *runner, "-port", str(port), "-sharedDb", "-disableTelemetry", *tables]

    with started("DynamoDB Local", port, command, lambda: _answers(port)) as server:
        yield server


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")  # to be refused is an answer, too
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True
