"""The user of this machine at the other end of a connection, as Linux tells it."""

import errno
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final, Literal

from starlette.types import Scope

Peer = Literal["own", "other", "unseen", "untold"]
"""The user at the other end of a connection.

own: the server's own user, or root. other: another user. unseen: the kernel shows nobody, as it does for a socket that
is closed already and for one outside the container. untold: Loci cannot ask this system.
"""
End = tuple[bytes, int]
"""The address and the port of an end of a connection."""
MAPPED: Final = bytes(10) + b"\xff\xff"
"""The bytes before an IPv4 address that is written as an IPv6 address."""
STATE: Final = "loci.peer"
SOCK_DIAG_BY_FAMILY: Final = 20
"""The kind of a question to the kernel about one socket, and of its answer (linux/sock_diag.h)."""
HEADER, ANSWER = 16, 88
"""Bytes of the header of a netlink message, and of one with an answer (linux/inet_diag.h)."""


def peer_of(scope: Scope) -> Peer:
    """Return what the connection of a request has found out. If no connection looked, nobody was seen."""
    return scope.get("state", {}).get(STATE, "unseen")


def peer_at(connection: socket.socket) -> Peer:
    """Look at the other end of a connection on loopback."""
    if sys.platform != "linux":
        return "untold"
    try:
        user = user_of(_end(connection.getpeername()), _end(connection.getsockname()))
        # If the peer has ended the connection with a reset, somebody else may have its port by now: then this raises.
        connection.getpeername()
    except OSError:
        return "unseen"
    if user is None:
        return "unseen"
    return "own" if user in (0, os.geteuid()) else "other"


def user_of(there: End, here: End) -> int | None:
    """The user who holds the socket that is bound there and connected to here; None if nobody does."""
    try:
        return _user_by_netlink(there, here)
    except OSError as error:
        if error.errno not in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EPERM, errno.EACCES):
            raise
    # Some kernels and containers let nobody ask about one socket. The tables of all sockets take milliseconds.
    mapped = [(MAPPED + address if len(address) == 4 else address, port) for address, port in (there, here)]
    for table, ends in (("tcp", (there, here)), ("tcp6", mapped)):
        found = Path(f"/proc/net/{table}").read_text("ascii").partition(f": {' '.join(map(_in_table, ends))} ")[2]
        if found:
            # Behind the ends: the state, queues, timers and retries; then the user, a timeout, and the inode of the
            # socket, which is 0 if no program holds it any more.
            row = found.split("\n", 1)[0].split()
            return int(row[4]) if int(row[6]) else None
    return None


def _end(name: tuple[str, int]) -> End:
    """The end with the name that a socket gives it. An IPv4 address that is written as one of IPv6 is IPv4."""
    address = ipaddress.ip_address(name[0].partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).packed, name[1]


def _in_table(end: End) -> str:
    """The end as `/proc/net/tcp` and `tcp6` write it."""
    words = struct.unpack(f"={len(end[0]) // 4}I", end[0])
    return "".join(f"{word:08X}" for word in words) + f":{end[1]:04X}"


def _user_by_netlink(there: End, here: End) -> int | None:
    """Ask the kernel about the one socket: that takes microseconds, however many there are."""
    family = socket.AF_INET if len(there[0]) == 4 else socket.AF_INET6
    ports = struct.pack("!HH", there[1], here[1])
    ends = ports + there[0].ljust(16, b"\0") + here[0].ljust(16, b"\0")
    of_any_state, of_any_cookie = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
    asked = struct.pack("=BBBxI36sIQ", family, socket.IPPROTO_TCP, 0, of_any_state, ends, 0, of_any_cookie)
    header = struct.pack("=IHHII", HEADER + len(asked), SOCK_DIAG_BY_FAMILY, 1, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as kernel:  # NETLINK_SOCK_DIAG
        kernel.send(header + asked)
        answer = kernel.recv(4096, socket.MSG_DONTWAIT)  # it was written before `send` returned
    [kind] = struct.unpack_from("=4xH", answer)
    # A socket that listens on the port is told of, too, if there is no connection.
    if kind != SOCK_DIAG_BY_FAMILY or len(answer) < ANSWER or answer[20:24] != ports:
        return None
    user, inode = struct.unpack_from("=II", answer, ANSWER - 8)
    return user if inode else None
