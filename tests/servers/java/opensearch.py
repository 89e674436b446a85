"""A real OpenSearch node: one JVM, with k-NN, no security plugin."""

import fcntl
import http.client
import json
import secrets
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.servers.errors import NotStarted
from tests.servers.java.jars import assembled
from tests.servers.java.jvm import LIGHT, java
from tests.servers.java.server import Server, started
from tests.servers.ports import PORTS, free_port

HEAP = "512m"
PLUGIN = "org.opensearch.knn.plugin.KNNPlugin"
Release = Literal["opensearch", "opensearch3"]
GRPC = Path(__file__).with_name("KNNQueryBuilderProtoConverter.java")
OLDEST_JAVA: dict[Release, int] = {"opensearch": 17, "opensearch3": 21}
# The k-NN breaker watches native memory, and has none to watch here; a disk that is nearly full would make indexes
# read-only.
CONFIGURATION = """\
discovery.type: single-node
network.host: 127.0.0.1
http.type: netty4
transport.type: netty4
transport.port: 0
knn.memory.circuit_breaker.enabled: false
cluster.routing.allocation.disk.threshold_enabled: false
"""


@contextmanager
def opensearch(
    port: int | None = None, data: Path | None = None, release: Release = "opensearch"
) -> Generator[Server, None, None]:
    """A healthy node. Without a folder of yours its indexes end with it."""
    if port is not None and port >= PORTS.stop:
        raise NotStarted(f"OpenSearch cannot have port {port} here: its runner takes one below {PORTS.stop}")
    if data is not None:
        _check_unused(data)
    program, jars, port = java(OLDEST_JAVA[release]), assembled(release), port or free_port()
    # Where the port was taken meanwhile the runner moves on to the next one: by its name we know our node.
    cluster = f"loci-{secrets.token_hex(4)}"

    def command(scratch: Path) -> Sequence[str]:
        configuration = scratch / "configuration"
        configuration.mkdir()
        (configuration / "opensearch.yml").write_text(CONFIGURATION, "utf-8")
        open_packages = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "nio")]
        jvm = [*LIGHT, f"-Xms{HEAP}", f"-Xmx{HEAP}", f"-Djava.io.tmpdir={scratch}", "-Dlog4j2.disable.jmx=true"]
        if release == "opensearch3":
            subprocess.run([Path(program).with_name("javac"), "-d", scratch, GRPC], check=True)
        runner = ["-cp", f"{scratch}:{jars}/*", "org.codelibs.opensearch.runner.OpenSearchRunner", "-numOfNode", "1"]
        places = ["-basePath", str(scratch), "-confPath", str(configuration), "-logsPath", str(scratch / "logs")]
        places += ["-dataPath", str((data or scratch / "data").resolve())]
        names = ["-clusterName", cluster, "-baseHttpPort", str(port - 1), "-pluginTypes", PLUGIN]
        return [program, *jvm, *open_packages, *runner, *places, *names]

    with started("OpenSearch", port, command, lambda: _is_healthy(port, cluster)) as server:
        yield server


def _check_unused(data: Path) -> None:
    """The runner ends without a word where another node has the folder."""
    lock = data / "nodes" / "0" / "node.lock"
    if lock.exists():
        with lock.open("r+") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise NotStarted(f"OpenSearch cannot have the folder {data}: another node is using it") from None


def _is_healthy(port: int, cluster: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/_cluster/health")
        answer = connection.getresponse()
        health = json.load(answer)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return answer.status == 200 and health["cluster_name"] == cluster and health["status"] in ("green", "yellow")
