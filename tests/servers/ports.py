"""Ports on loopback."""

import random
import socket

# Below the ports that systems give to outgoing connections, and below 9300, from which on OpenSearch's runner gives up.
PORTS = range(5000, 9300)
# Those of SIP, X11 and IRC: browsers and Node's fetch refuse to connect to them ("bad port").
REFUSED = {5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697}


def free_port() -> int:
    """A port on which nobody listens at this moment: any of many, so that two starts at once seldom meet."""
    for port in random.sample(PORTS, len(PORTS)):
        if port not in REFUSED and is_free(port):
            return port
    raise OSError(f"No port from {PORTS.start} to {PORTS.stop - 1} is free")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
