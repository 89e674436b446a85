"""The bare server over HTTP, on a free port: `python -m tests.bench.bare_serve` prints its URL first."""

import socket

import uvicorn

from tests.bench.bare import bare_app


def main() -> None:
    # Without the protocol, asyncio does not switch Nagle's algorithm off: each call would take 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1024)
    # As `loci serve` has it.
    config = uvicorn.Config(bare_app(json=False), log_level="warning", access_log=False, server_header=False)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
