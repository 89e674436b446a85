"""Serve until Ctrl-C: `python -m tests.servers.localstack`."""

import signal
import sys

from tests.servers.errors import NotInstalled
from tests.servers.localstack.running import localstack


def main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with localstack() as server:
            print(server.url, flush=True)
            server.process.wait()
    except NotInstalled as lacking:
        sys.exit(f"LocalStack cannot start: {lacking}")
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
