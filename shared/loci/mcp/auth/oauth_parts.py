"""The parts of the built-in authorization server, for those who ask it: the gate, its pages and its routes."""

import time

from loci.mcp.auth.client_documents import ClientDocuments
from loci.mcp.auth.consents import Consents
from loci.mcp.auth.grants import Grants
from loci.mcp.auth.oauth_clients import OAuthClients
from loci.mcp.auth.oauth_codes import Codes
from loci.mcp.module import Host


def grants_of(host: Host) -> Grants:
    """The grants of a deployment."""
    without_key, issuer = host.settings.auth == "open", host.settings.signs_in_at
    return Grants(host.records, host.keyring, host.api_keys, time.time, without_key=without_key, issuer=issuer)


def clients_of(host: Host) -> OAuthClients:
    """Its clients."""
    return OAuthClients(host.records, ClientDocuments(host.records, host.read_public, time.time), time.time)


def codes_of(host: Host) -> Codes:
    """Its codes."""
    return Codes(host.records, grants_of(host), time.time)


def consents_of(host: Host) -> Consents:
    """The questions to its people."""
    issuer = host.settings.base_url
    return Consents(clients_of(host), grants_of(host), codes_of(host), host.keyring, issuer, time.time)
