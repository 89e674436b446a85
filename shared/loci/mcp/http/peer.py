"""The user of this machine at the other end of a connection, as Linux tells it."""

import errno
import ipaddress
import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from starlette.types import Scope

Peer = Literal["own", "other", "unseen", "untold"]
"""The user at the other end of a connection.

own: the server's own user, or root. other: another user. unseen: the kernel shows nobody, as it does for a socket that
is closed already and for one outside the container. untold: Loci cannot ask this system.
"""
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
        user = user_of(End.of(connection.getpeername()), End.of(connection.getsockname()))
        # If the peer has ended the connection with a reset, somebody else may have its port by now: then this raises.
        connection.getpeername()
    except OSError:
        return "unseen"
    if user is None:
        return "unseen"
    return "own" if user in (0, os.geteuid()) else "other"


@dataclass(frozen=True, slots=True)
class End:
    """An end of a connection. An IPv4 address that is written as one of IPv6 is IPv4."""

    address: bytes
    port: int

    @staticmethod
    def of(name: tuple[str, int]) -> "End":
        """The end with the name that a socket gives it."""
        address = ipaddress.ip_address(name[0].partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return End(address.packed, name[1])

    @property
    def is_ipv4(self) -> bool:
        """True if the address is IPv4."""
        return len(self.address) == 4

    @property
    def mapped(self) -> "End":
        """The same end, with its IPv4 address written as one of IPv6."""
        return End(bytes(10) + b"\xff\xff" + self.address, self.port)

    def in_table(self) -> str:
        """The end as `/proc/net/tcp` and `tcp6` write it."""
        words = struct.unpack(f"={len(self.address) // 4}I", self.address)
        return "".join(f"{word:08X}" for word in words) + f":{self.port:04X}"


def user_of(there: End, here: End) -> int | None:
    """The user who holds the socket that is bound there and connected to here; None if nobody does."""
    try:
        return _user_by_netlink(there, here)
    except OSError as error:
        if error.errno not in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EPERM, errno.EACCES):
            raise
    # Some kernels and containers let nobody ask about one socket. The tables of all sockets take milliseconds.
    if there.is_ipv4 and (user := user_in(Path("/proc/net/tcp").read_text("ascii"), there, here)) is not None:
        return user
    ends = (there.mapped, here.mapped) if there.is_ipv4 else (there, here)
    return user_in(Path("/proc/net/tcp6").read_text("ascii"), *ends)


def user_in(table: str, there: End, here: End) -> int | None:
    """The user in the row of a socket; None if there is no such row, or if no program holds the socket."""
    begin = table.find(f": {there.in_table()} {here.in_table()} ")
    if begin < 0:
        return None
    row = table[begin:].split("\n", 1)[0].split()
    user, inode = int(row[7]), int(row[9])
    return user if inode else None


def _user_by_netlink(there: End, here: End) -> int | None:
    """Ask the kernel about the one socket: that takes microseconds, however many there are."""
    family = socket.AF_INET if there.is_ipv4 else socket.AF_INET6
    ports = struct.pack("!HH", there.port, here.port)
    ends = ports + there.address.ljust(16, b"\0") + here.address.ljust(16, b"\0")
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
