"""Addresses that are public. On AWS, where strangers name the servers, Loci connects to no others."""

import ipaddress
from urllib.parse import urlsplit

from loci.gateway.configuration import VARIABLE, ServerEntry, not_configured

NEVER = tuple(
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # relays of 6to4
    )
)
GLOBAL_IPV6 = ipaddress.ip_network("2000::/3")
TUNNELS = tuple(ipaddress.ip_network(network) for network in ("2001::/23", "2002::/16", "3fff::/20"))
"""Networks for special uses, such as Teredo, 6to4 and documentation: such an address may mean a private one."""
ELSEWHERE = "Run it where it has a public https address and add that, or add it to a Loci on your own machine"


def is_public(text: str) -> bool:
    """True if everybody on the internet reaches the same machine by this address."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv4Address):
        return address.is_global and not address.is_multicast and not any(address in network for network in NEVER)
    # Outside this block lie loopback, private, link-local, multicast, IPv4-mapped and NAT64 addresses.
    return address.is_global and address in GLOBAL_IPV6 and not any(address in network for network in TUNNELS)


def is_outside(entry: ServerEntry) -> bool:
    """True if the entry itself says that it leads to https at a name, or at a public address."""
    url = entry.url or ""
    if not url.lower().startswith("https://") or VARIABLE.search(url):
        return False
    host = (urlsplit(url).hostname or "").rstrip(".")
    try:
        return is_public(host)
    except ValueError:
        return "." in host and not host.rpartition(".")[2].isdecimal()


def check_public(name: str, entry: ServerEntry) -> None:
    """Raise `Refused` if the entry itself shows that it leads to no public server. Names are checked at connecting."""
    if entry.url is None:
        raise not_configured(name, "Loci starts no programs on AWS, where one function serves all owners", ELSEWHERE)
    if entry.url.lower().startswith("http://"):
        raise not_configured(name, "on AWS its address must begin with https://", ELSEWHERE)
    try:
        is_inside = not is_public(urlsplit(entry.url).hostname or "")
    except ValueError:  # it is a name, or has a variable
        return
    if is_inside:
        raise not_configured(name, "its address is not public, and AWS does not reach it", ELSEWHERE)
