"""Ports on loopback."""

import socket


def free_port() -> int:
    """A port of 127.0.0.1 on which nobody listens at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
