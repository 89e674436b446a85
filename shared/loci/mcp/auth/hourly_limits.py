"""Limits on what strangers may make Loci do in an hour: by the network of their address, and all together."""

import hashlib
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Final

from loci.core.errors import Conflict, Unavailable
from loci.core.identity import SYSTEM
from loci.core.stores import ABSENT, RecordStore

KIND: Final = "oauth_registrations"
HOUR: Final = 3600.0
MOST_OF_ADDRESS, MOST_IN_ALL = 20, 200
TRIES: Final = 5
SITE: Final = 48
"""Bits of the largest network of IPv6 that one home or firm gets (RFC 6177)."""


class TooManyPrograms(Unavailable):
    """More programs than one address, or all, may bring in an hour."""


class HourlyLimits:
    """Counts, in records that all instances share."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock

    def count(self, what: str, address: str) -> None:
        """Count one more of these. Raises `TooManyPrograms` if there were enough."""
        hour = int(self._clock() // HOUR)
        whose = hashlib.sha256(_network(address).encode("utf-8", "replace")).hexdigest()[:16]
        self._count(f"{what}.{hour}.{whose}", MOST_OF_ADDRESS)
        self._count(f"{what}.{hour}.all", MOST_IN_ALL)

    def _count(self, key: str, most: int) -> None:
        for _ in range(TRIES):
            record = self._records.get(SYSTEM, KIND, key)
            so_far = record.value.get("count") if record else 0
            count = so_far if isinstance(so_far, int) else 0
            if count >= most:
                break
            version = record.version if record else ABSENT
            until = self._clock() + 2 * HOUR
            try:
                self._records.put(
                    SYSTEM, KIND, key, {"count": count + 1}, expect_version=version, expires_at=until, durable=False
                )
            except Conflict:
                continue
            return
        raise TooManyPrograms("Too many programs have come in this hour", "Try again in an hour")


def _network(address: str) -> str:
    """The address as it is counted: of IPv6, a home or a firm has a whole network."""
    try:
        known = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((known, SITE), strict=False)) if known.version == 6 else str(known)
