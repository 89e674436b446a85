"""Real servers for tests, without Docker: `python -m tests.servers.java opensearch`."""

import argparse
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from tests.servers.errors import NotInstalled, NotStarted
from tests.servers.java.dynamodb import dynamodb
from tests.servers.java.jars import renew
from tests.servers.java.opensearch import opensearch
from tests.servers.java.server import Server

Opened = Callable[[int | None, Path | None], AbstractContextManager[Server]]
SERVERS: dict[str, tuple[str, Opened, str]] = {
    "opensearch": ("an OpenSearch 2.19 node with k-NN", opensearch, "OPENSEARCH_URL"),
    "opensearch3": (
        "the same of OpenSearch 3.5 (Java 21)",
        partial(opensearch, release="opensearch3"),
        "OPENSEARCH3_URL",
    ),
    "dynamodb": ("DynamoDB Local", dynamodb, "DYNAMODB_URL"),
}


def main() -> int:
    """Serve in the foreground until Ctrl-C or SIGTERM."""
    arguments = _arguments()
    # Both raise KeyboardInterrupt, so that every block is left in order; a shell's `&` would have Ctrl-C ignored.
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, signal.default_int_handler)
    try:
        if arguments.what == "renew":
            renew()
            return 0
        return _serve(arguments.what, arguments.port, arguments.data)
    except (NotInstalled, NotStarted, OSError) as error:
        print(f"{arguments.what}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def _serve(what: str, port: int | None, data: Path | None) -> int:
    words, opened, variable = SERVERS[what]
    with opened(port, data) as server:
        print(server.url)
        print(f"That is {words}. Tests use it with {variable}={server.url}; Ctrl-C stops it.", flush=True)
        code = server.wait()
    print(f"{what} ended by itself, with code {code}", file=sys.stderr)
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.servers.java",
        description="Start a real server for tests, on 127.0.0.1 only, in the foreground. Its URL is the first line.",
        epilog="It needs a JDK of Java 17 or newer (opensearch3: 21) and, the first time, Maven, which brings the jars "
        "to build/servers.",
    )
    commands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for what, (words, _, variable) in SERVERS.items():
        command = commands.add_parser(what, help=words, description=f"Start {words}. {variable} points tests at it.")
        command.add_argument("--port", type=_port, help="the port to listen on (default: a free one)")
        command.add_argument("--data", type=Path, metavar="DIR", help="keep what is stored there (default: nowhere)")
    commands.add_parser("renew", help="write the lists of the jars' hashes anew, after a change of a pom")
    return parser.parse_args()


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
