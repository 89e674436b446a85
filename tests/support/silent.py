"""A server that takes every connection and never answers."""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def silent_server() -> Generator[str]:
    """Its address."""
    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hold() -> None:
            with suppress(OSError):
                while True:
                    held.append(server.accept()[0])

        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for one in held:
                one.close()
